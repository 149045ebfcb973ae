"""A search as a tree in a terminal: what hypotheses have in common stands once, and each ends with its fate."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text
from rich.tree import Tree

from dragoman.visualisation.markup import visible

ENDS = {"finished": ("✔", "bold"), "pruned": ("✗", "dim"), "open": ("…", "dim")}


class BeamNode(NamedTuple):
    """A hypothesis of a search: the number of the one that it continues (None: the empty one), the name of its last
    symbol and the text which that adds, log P of the symbol and of the whole, its length in symbols, and its fate:
    continued, pruned, finished or open. One that is finished says the end symbol, and has a score.
    """

    parent: int | None
    symbol: str
    text: str
    log_prob: float
    total: float
    length: int
    fate: str
    score: float | None = None


def summary(nodes: Sequence[BeamNode]) -> str:
    """How many hypotheses were kept, and what became of them, in one line."""
    fates = Counter(node.fate for node in nodes)
    widest = max(Counter(node.length for node in nodes if node.fate != "finished").values(), default=0)
    told = [f"{len(nodes):,} hypotheses", f"up to {widest:,} at a time"]
    return ", ".join([*told, *(f"{fates[fate]:,} {fate}" for fate in ENDS if fates[fate])])


def terminal(nodes: Sequence[BeamNode]) -> Tree:
    """Draw the hypotheses for `rich.print`: where one is continued in several ways, it branches. A branch that ends
    has its log P (✗ pruned, … open when the search was done) or score (✔ finished).
    """
    children: dict[int | None, list[int]] = {}
    for number, node in enumerate(nodes):
        children.setdefault(node.parent, []).append(number)
    drawn = Tree(Text(summary(nodes)), guide_style="dim")
    waiting = [(drawn, number) for number in reversed(children.get(None, []))]
    while waiting:
        tree, number = waiting.pop()
        chain = [number]
        while len(children.get(chain[-1], ())) == 1:
            chain += children[chain[-1]]
        branch = tree.add(_label([nodes[each] for each in chain]))
        waiting += [(branch, each) for each in reversed(children.get(chain[-1], []))]
    return drawn


def _label(chain: Sequence[BeamNode]) -> Text:
    """The text that a hypothesis goes on with, and how it ends."""
    *_, last = chain
    text = "".join(node.text for node in chain if node.fate != "finished").strip(" ")
    sign, style = ENDS.get(last.fate, ("", ""))
    label = Text(visible(text) if text else "", style, no_wrap=True, overflow="ellipsis")
    if sign:
        figure = last.total if last.score is None else last.score
        label.append(f"{' ' if text else ''}{sign} {figure:.2f}")
    return label

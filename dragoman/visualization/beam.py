"""A search as a tree: what hypotheses have in common stands once, and each ends with its fate."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.text import Text
from rich.tree import Tree

from dragoman.visualization.markup import visible

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
    parts = [f"{len(nodes):,} hypotheses", f"up to {widest:,} at a time"]
    return ", ".join([*parts, *(f"{fates[fate]:,} {fate}" for fate in ENDS if fates[fate])])


class Branch(NamedTuple):
    """A part of the tree without a fork: how many forks stand before it, the text with which hypotheses go on, its fate
    if it ends, and then its score, or log P if it did not finish.
    """

    depth: int
    text: str
    fate: str = ""
    figure: float | None = None


def branches(nodes: Sequence[BeamNode]) -> Iterator[Branch]:
    """Yield the branches of a tree, each before those that go on from it."""
    children: dict[int | None, list[int]] = {}
    for number, node in enumerate(nodes):
        children.setdefault(node.parent, []).append(number)
    waiting = [(0, number) for number in reversed(children.get(None, []))]
    while waiting:
        depth, number = waiting.pop()
        chain = [number]
        while len(children.get(chain[-1], ())) == 1:
            chain += children[chain[-1]]
        yield _branch(depth, [nodes[node_number] for node_number in chain])
        waiting += [(depth + 1, node_number) for node_number in reversed(children.get(chain[-1], []))]


def _branch(depth: int, chain: Sequence[BeamNode]) -> Branch:
    *_, last = chain
    text = "".join(node.text for node in chain if node.fate != "finished").strip(" ")
    text = visible(text) if text else ""
    if last.fate not in ENDS:
        return Branch(depth, text)
    return Branch(depth, text, last.fate, last.total if last.score is None else last.score)


def terminal(nodes: Sequence[BeamNode]) -> Tree:
    """Draw the hypotheses for `rich.print`: where one is continued in several ways, it branches. A branch that ends
    has its log P (✗ pruned, … open when the search was done) or score (✔ finished).
    """
    drawn = Tree(Text(summary(nodes)), guide_style="dim")
    above = [drawn]  # the branch of each depth that was added last
    for branch in branches(nodes):
        above[branch.depth + 1 :] = [above[branch.depth].add(_label(branch))]
    return drawn


def _label(branch: Branch) -> Text:
    """The text that a hypothesis goes on with, and how it ends."""
    sign, style = ENDS.get(branch.fate, ("", ""))
    label = Text(branch.text, style, no_wrap=True, overflow="ellipsis")
    if sign:
        label.append(f"{' ' if branch.text else ''}{sign} {branch.figure:.2f}")
    return label

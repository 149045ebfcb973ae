"""What explains a translation, as tables in a terminal; and its search as a tree, in which what hypotheses share stands
once, and each ends with its fate.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from dragoman.visualization.markup import isolated, visible

Values: TypeAlias = NDArray[np.float64]

LEAST = 0.005  # smaller values are 0.00
BESIDE = 0.5  # a second word is named where it does at least this part of what the first does
APART = "≠"
ENDS = {"finished": ("✔", "bold"), "pruned": ("✗", "dim"), "open": ("…", "dim")}


class AttributionMap(NamedTuple):
    """A map (target words, columns) with the names of its columns; `signed` values have a sign."""

    values: Values
    columns: Sequence[str]
    signed: bool = False

    def most(self, row: int) -> str:
        """The columns that did most for a target word."""
        values = self.values[row]
        return ", ".join(_describe(self.columns[place], values[place], self.signed) for place in _most(values))


def words(
    target: Sequence[str],
    log_probs: Values,
    maps: Mapping[str, AttributionMap],
    sources: AttributionMap | None = None,
    confidence: Values | None = None,
) -> Table:
    """A row for each target word: its confidence, or else its probability, and by each method the columns of its map
    (target words, columns) that did most. Words for which the methods name different ones are marked. `sources` are the
    shares of sources.
    """
    heading, sure = ("p", np.exp(log_probs)) if confidence is None else ("confidence", confidence)
    table = _table("word", heading, *(["sources"] if sources else []), *maps, "")
    table.columns[1].justify = "right"
    for row, word in enumerate(target):
        cells = [shown.most(row) for shown in ([sources] if sources else []) + [*maps.values()]]
        first = {places[0] for shown in maps.values() if (places := _most(shown.values[row]))}
        table.add_row(
            *map(Text, (isolated(visible(word)), f"{sure[row]:.2f}", *cells, APART if len(first) > 1 else ""))
        )
    return table


def contrast(rows: Sequence[Sequence[str]]) -> Table:
    """The rows of `differences` as a table."""
    head, *body = rows
    table = _table(*head)
    table.columns[1].justify = "right"
    for row in body:
        table.add_row(*map(Text, row))
    return table


def differences(changes: Iterable[tuple[str, float, Mapping[str, Values]]], names: Sequence[str]) -> list[list[str]]:
    """A row of texts for each place where two translations differ, after a row of headings: what stands there, what
    log P has more, and by each method the columns (names,) that did most for it.
    """
    differing = list(changes)
    rows = [["instead", "log P", *dict.fromkeys(method for *_, maps in differing for method in maps)]]
    for label, difference, maps in differing:
        cells = (
            ", ".join(_describe(names[place], values[place], True) for place in _most(values))
            for values in maps.values()
        )
        rows.append([label, f"{difference:+.2f}", *cells])
    return rows


def nearest(matches: Iterable[tuple[str, float, str]]) -> Table:
    """A row for each similar training pair, given as translation, similarity and source."""
    table = _table("similar", "source", "translation")
    for translation, score, source in matches:
        table.add_row(*map(Text, (f"{score:.2f}", visible(source), visible(translation))))
    return table


def _table(*heads: str) -> Table:
    return Table(*heads, box=None, pad_edge=False, header_style="dim")


def _most(values: Values) -> list[int]:
    """The place of the largest value, if it is LEAST or more, and that of the second if it is not much smaller."""
    finite = np.nan_to_num(values, neginf=0.0)
    order = np.argsort(-finite, kind="stable")[:2].tolist()
    return [place for place in order if finite[place] >= max(LEAST, BESIDE * finite[order[0]])]


def _describe(name: str, value: float, signed: bool) -> str:
    return f"{isolated(visible(name))} {value:{'+' if signed else ''}.2f}"


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


def summarize_search(nodes: Sequence[BeamNode]) -> str:
    """How many hypotheses were kept, and what became of them, in one line."""
    fates = Counter(node.fate for node in nodes)
    widest = max(Counter(node.length for node in nodes if node.fate != "finished").values(), default=0)
    parts = [f"{len(nodes):,} hypotheses", f"up to {widest:,} at a time"]
    return ", ".join([*parts, *(f"{fates[fate]:,} {fate}" for fate in ENDS if fates[fate])])


class TreeLine(NamedTuple):
    """A part of the tree without a fork: how many forks stand before it, the text with which hypotheses go on, its fate
    if it ends, and then its score, or log P if it did not finish.
    """

    depth: int
    text: str
    fate: str = ""
    figure: float | None = None


def branches(nodes: Sequence[BeamNode]) -> Iterator[TreeLine]:
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


def _branch(depth: int, chain: Sequence[BeamNode]) -> TreeLine:
    *_, last = chain
    text = "".join(node.text for node in chain if node.fate != "finished").strip(" ")
    text = visible(text) if text else ""
    if last.fate not in ENDS:
        return TreeLine(depth, text)
    return TreeLine(depth, text, last.fate, last.total if last.score is None else last.score)


def draw_search(nodes: Sequence[BeamNode]) -> Tree:
    """Draw the hypotheses for `rich.print`: where one is continued in several ways, it branches. A branch that ends
    has its log P (✗ pruned, … open when the search was done) or score (✔ finished).
    """
    drawn = Tree(Text(summarize_search(nodes)), guide_style="dim")
    above = [drawn]  # the branch of each depth that was added last
    for branch in branches(nodes):
        above[branch.depth + 1 :] = [above[branch.depth].add(_label(branch))]
    return drawn


def _label(branch: TreeLine) -> Text:
    """The text that a hypothesis goes on with, and how it ends."""
    sign, style = ENDS.get(branch.fate, ("", ""))
    label = Text(branch.text, style, no_wrap=True, overflow="ellipsis")
    if sign:
        label.append(f"{' ' if branch.text else ''}{sign} {branch.figure:.2f}")
    return label

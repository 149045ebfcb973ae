"""A translation lexicon: IBM model 1 over the ids of a corpus."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dragoman.corpus.examples import parallel, sides
from dragoman.corpus.filters import Filters
from dragoman.data.language import Language
from dragoman.data.preprocessor import BLOCK
from dragoman.data.store import Column, Rows
from dragoman.data.vocabulary import PAD, SPECIALS
from dragoman.errors import UserError
from dragoman.text.protection import Protection

ITERATIONS = 5
LINKS = 1 << 19  # pairs of positions in memory at a time
CELLS = 1 << 24  # maximal number of symbol pairs whose probabilities are kept; the rarest are dropped
KEPT = 100  # translations kept for each source symbol

Ids = npt.NDArray[np.integer[Any]]
Numbers = npt.NDArray[np.float64]


class Lexicon(NamedTuple):
    """`frequent` (V_target - 4,): all target symbols except the specials, most frequent first. `translations`
    (V_source, KEPT): translations of each source symbol, most probable first, padded with PAD; `probabilities`: theirs.
    """

    frequent: npt.NDArray[np.int32]
    translations: npt.NDArray[np.int32]
    probabilities: npt.NDArray[np.float32]


class PairValues(NamedTuple):
    """A value for each pair of symbols: `keys` = source * V_target + target, in ascending order."""

    keys: npt.NDArray[np.int64]
    values: Numbers


def columns(
    source: Path,
    target: Path,
    languages: tuple[Language, Language],
    filters: Filters,
    protection: Protection | None = None,
) -> tuple[Column, Column]:
    """Return the ids of the pairs in two text files that pass the filters, with marks for protected spans. UserError if
    there are none.
    """
    parts: list[tuple[Rows, Rows]] = []
    read = parallel(source, target)
    masked = (protection.masked_pair(pair[:1], pair[1]).texts for pair in read) if protection else read
    for block in sides(masked, BLOCK):
        (first, written), (second, also) = (_rows(*side) for side in zip(languages, block, strict=True))
        kept = filters.keep(np.where(written, first.lengths - 1, 0), np.where(also, second.lengths - 1, 0))
        parts.append((first.chosen(kept), second.chosen(kept)))
    if not filters.report.kept:
        raise UserError(f"{source}, {target}: no pairs to train on: {filters.report}")
    return _column([rows for rows, _ in parts]), _column([rows for _, rows in parts])


def _rows(language: Language, lines: list[str]) -> tuple[Rows, npt.NDArray[np.bool_]]:
    """Return the ids of these lines, and a mask of the lines that are not blank."""
    texts = list(map(language.text.normalize, lines))
    return language.rows(texts), np.array([bool(text.strip()) for text in texts])


def _column(parts: Sequence[Rows]) -> Column:
    lengths = np.concatenate([part.lengths for part in parts])
    return Column(np.concatenate([part.values for part in parts]), np.concatenate([[0], np.cumsum(lengths)]))


def estimate_lexicon(source: Column, target: Column, symbols: tuple[int, int]) -> Lexicon:
    """Return the lexicon of a corpus whose sentences end with EOS on both sides; `symbols` are the vocabulary sizes.

    Memory is bounded by LINKS and CELLS; time grows with the number of pairs of positions.
    """
    table = train_ibm1(source, target, symbols[1])
    sources, targets = np.divmod(table.keys, symbols[1])
    order = np.lexsort((-table.values, sources))
    sources = sources[order]
    ranks = np.arange(len(sources)) - np.searchsorted(sources, sources)
    order, ranks, sources = (column[ranks < KEPT] for column in (order, ranks, sources))
    translations = np.full((symbols[0], KEPT), PAD, np.int32)
    probabilities = np.zeros((symbols[0], KEPT), np.float32)
    translations[sources, ranks], probabilities[sources, ranks] = targets[order], table.values[order]
    counts = np.bincount(target.values, minlength=symbols[1])[len(SPECIALS) :]
    frequent = np.argsort(-counts, kind="stable") + len(SPECIALS)
    return Lexicon(frequent.astype(np.int32), translations, probabilities)


def train_ibm1(source: Column, target: Column, target_symbols: int) -> PairValues:
    """Estimate `t(y | x)` by EM from uniform probabilities (IBM model 1, Brown et al. 1993).

        P(x_i | y_j) = t(y_j | x_i) / sum_k t(y_j | x_k);   t(y | x) = count(x, y) / sum_y' count(x, y')

    The source's EOS serves as the empty word; the target's is left out.
    """
    table: PairValues | None = None
    for _ in range(ITERATIONS):
        counts = _counts(source, target, target_symbols, table)
        sources = counts.keys // target_symbols
        table = counts._replace(values=counts.values / np.bincount(sources, counts.values)[sources])
    assert table is not None
    return table


def _counts(source: Column, target: Column, target_symbols: int, table: PairValues | None) -> PairValues:
    """Return expected counts of links between each pair of symbols, under a table or uniform probabilities."""
    total = table._replace(values=np.zeros_like(table.values)) if table else None
    waiting: list[PairValues] = []
    for keys, lengths in _links(source, target, target_symbols):
        distinct, places = np.unique(keys, return_inverse=True)
        values = np.ones(len(distinct))
        if table:
            rows = np.searchsorted(table.keys, distinct).clip(max=len(table.keys) - 1)
            values = np.where(table.keys[rows] == distinct, table.values[rows], 0.0)
        weights = values[places]  # (links,)
        sums = np.add.reduceat(weights, np.cumsum(lengths) - lengths)  # by target position
        weights /= np.repeat(np.maximum(sums, np.finfo(float).tiny), lengths)
        counts = _sums(places, weights, len(distinct))
        if total:
            np.add.at(total.values, rows, counts)  # a pair that is not in the table has count 0
        else:
            waiting.append(PairValues(distinct, counts))
            if sum(len(counted.keys) for counted in waiting[1:]) > max(LINKS, len(waiting[0].keys)):
                waiting = [_merge(waiting)]
    return total or _merge(waiting)


def _sums(places: Ids, values: Numbers, count: int) -> Numbers:
    """Return the sum of the values at each of `count` places."""
    return np.bincount(places, values, count).astype(np.float64, copy=False)


def _merge(tables: list[PairValues]) -> PairValues:
    """Return the sum of tables, without the smallest values if there are more than CELLS."""
    keys, places = np.unique(np.concatenate([table.keys for table in tables]), return_inverse=True)
    values = _sums(places, np.concatenate([table.values for table in tables]), len(keys))
    if len(keys) > CELLS:
        chosen = np.sort(np.argpartition(values, -CELLS)[-CELLS:])
        keys, values = keys[chosen], values[chosen]
    return PairValues(keys, values)


def _links(source: Column, target: Column, target_symbols: int) -> Iterator[tuple[npt.NDArray[np.int64], Ids]]:
    """Yield all pairs of source and target positions within sentence pairs, some sentences at a time.

    Yields their keys, grouped by target position, and the number of keys of each target position.
    """
    widths, heights = source.lengths, target.lengths - 1  # of the matrix of a pair
    links = np.cumsum(widths * heights)
    begin = 0
    while begin < len(links):
        so_far = links[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(links, so_far + LINKS, "right")))
        ends = target.offsets[begin + 1 : end + 1] - target.offsets[begin]
        target_ids = np.delete(target.values[target.offsets[begin] : target.offsets[end]].astype(np.int64), ends - 1)
        lengths = np.repeat(widths[begin:end], heights[begin:end])  # (target positions,)
        firsts = np.repeat(source.offsets[begin:end], heights[begin:end]) - (np.cumsum(lengths) - lengths)
        places = np.repeat(firsts, lengths) + np.arange(lengths.sum())
        if len(target_ids):
            yield source.values[places] * np.int64(target_symbols) + np.repeat(target_ids, lengths), lengths
        begin = end

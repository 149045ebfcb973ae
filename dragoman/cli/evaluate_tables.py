"""Scores with intervals, comparisons of systems, and scores of groups, as text or JSON."""

import json
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dragoman.cli.evaluate_options import EDITS, FREQUENCY, LENGTH, EvaluateOptions
from dragoman.cli.evaluate_scores import ScoredFile, check, entry, read
from dragoman.cli.streams import aligned, tell
from dragoman.configuration.messages import figure
from dragoman.errors import UserError
from dragoman.evaluation import groups
from dragoman.evaluation.metrics.metric import Metric, Score
from dragoman.evaluation.significance import FEWEST, ComparedScore, compare_or_score, score_of, score_systems
from dragoman.files.reading import shown

if TYPE_CHECKING:
    from dragoman.cli.evaluate_run import RunTranslations
    from dragoman.evaluation.significance import Counts

OWN = ("system", "sentences")  # columns of every table

Cell: TypeAlias = ComparedScore | Score


class ComparisonRow(NamedTuple):
    """What scores are of, by the headings of a table, and the scores by the names of metrics."""

    of: dict[str, str | int]
    cells: list[Cell]


class ComparedCorpus(NamedTuple):
    """The translations of a test set by each system, and its references."""

    systems: Sequence[ScoredFile]
    references: list[list[str]]
    options: EvaluateOptions
    further: str = ""  # what signatures have besides

    def rows(
        self, of: dict[str, str | int], metrics: Sequence[Metric], counts: "Sequence[Sequence[Counts]]"
    ) -> list[ComparisonRow]:
        """A row for each system, by the counts of each metric for each system."""
        named = len(self.systems) > 1
        compared = [self._compared(metric, of_systems) for metric, of_systems in zip(metrics, counts, strict=True)]
        columns = [[signed(cell, self.further) for cell in cells] for cells in compared]
        return [
            ComparisonRow({**of, "system": shown(system.path)} if named else of, list(cells))
            for system, *cells in zip(self.systems, *columns, strict=True)
        ]

    def counts(self, metric: Metric) -> "list[Counts]":
        """The counts of each system."""
        return [metric.counts(system.lines, self.references) for system in self.systems]

    def _compared(self, metric: Metric, counts: "Sequence[Counts]") -> Sequence[Cell]:
        options, references = self.options, len(self.references)
        if len(counts) == 1 and not options.confidence:
            return score_systems(metric, counts, references)
        return compare_or_score(
            metric, counts, references, test=options.test, samples=options.samples, seed=options.seed
        )


def compared(
    systems: Sequence[ScoredFile],
    references: Sequence[ScoredFile],
    metrics: Sequence[Metric],
    options: EvaluateOptions,
    run: "RunTranslations | None",
) -> str:
    """Return scores with intervals; for several systems in a table, with the p of each difference from the first."""
    corpus = ComparedCorpus(systems, [lines for _, lines in references], options, run.signature if run else "")
    tell_if_few(len(systems[0].lines))
    rows = corpus.rows({}, metrics, [corpus.counts(metric) for metric in metrics])
    if len(rows) > 1:
        return written(list(map(as_object, rows))) if options.json else table(rows, options.test)
    cells = rows[0].cells
    further = run.further if run else []
    if options.json:
        listed = [_entry(cell) for cell in [*cells, *further]]
        return written(listed if len(listed) > 1 else listed[0])
    return "\n".join(map(str, [*cells, *further]))


def tell_if_few(sentences: int) -> None:
    """Warn if there are too few sentences for intervals and significance tests."""
    if sentences < FEWEST:
        tell(f"{sentences} sentences are too few for intervals and significance tests; expected at least {FEWEST}")


def margin(metric: Metric, counts: "Counts") -> float | None:
    """Return half of the 95 % interval of a score, if there are sentences enough."""
    tell_if_few(len(counts))
    (score,) = compare_or_score(metric, [counts], 1)
    return score.margin if isinstance(score, ComparedScore) else None


def grouped(
    systems: Sequence[ScoredFile],
    references: Sequence[ScoredFile],
    metrics: Sequence[Metric],
    options: EvaluateOptions,
    run: "RunTranslations | None",
) -> str:
    """Return a table for each `--by`, or for each column of tags; as JSON a list of the rows of all."""
    corpus = ComparedCorpus(systems, [lines for _, lines in references], options, run.signature if run else "")
    of_sentences = not {EDITS, FREQUENCY}.issuperset(options.by or ())
    counts = [corpus.counts(metric) for metric in metrics if of_sentences]
    tables: list[list[ComparisonRow]] = []
    for kind in options.by or ():
        if kind == FREQUENCY and options.corpus:
            tables.append(list(_by_frequency(corpus, options.corpus)))
        elif kind == EDITS:
            tables.append(list(_by_edits(corpus, references)))
        elif kind == LENGTH:
            tables.append(_of_groups(corpus, metrics, counts, *_by_length(options, references, run)))
        else:
            groupings = _by_tags(Path(kind), len(references[0].lines), {*OWN, *(metric.name for metric in metrics)})
            tables += [_of_groups(corpus, metrics, counts, *named) for named in groupings]
        if not all(tables):
            raise UserError(f"--by {kind}: there is nothing to score")
    if options.json:
        return written([as_object(row) for rows in tables for row in rows])
    return "\n\n".join(table(rows, options.test) for rows in tables)


def _of_groups(
    corpus: ComparedCorpus,
    metrics: Sequence[Metric],
    counts: "Sequence[Sequence[Counts]]",
    name: str,
    sentence_groups: Sequence[groups.SentenceGroup],
) -> list[ComparisonRow]:
    """Return the rows of groups of sentences, under the heading of how they were grouped."""
    rows: list[ComparisonRow] = []
    for group in sentence_groups:
        chosen = [[of_system[group.sentences] for of_system in of_systems] for of_systems in counts]
        rows += corpus.rows({name: group.name, "sentences": len(group.sentences)}, metrics, chosen)
    return rows


def _by_length(
    options: EvaluateOptions, references: Sequence[ScoredFile], run: "RunTranslations | None"
) -> tuple[str, list[groups.SentenceGroup]]:
    if run:
        longest = (
            max((text for text in texts if isinstance(text, str)), key=len, default="") for texts in run.sources.lines
        )
        return "source length", groups.by_length(longest)
    if not options.source:
        return "reference length", groups.by_length(references[0].lines)
    source = read(Path(options.source[0]))
    check(len(references[0].lines), references[0].path, [source])
    return "source length", groups.by_length(source.lines)


def _by_tags(path: Path, sentences: int, reserved: Container[str]) -> Iterator[tuple[str, list[groups.SentenceGroup]]]:
    """Yield groups by each column of a table with a header. `reserved` are the names of other columns of the output."""
    header, *rows = [line.split("\t") for line in read(path).lines] or [[]]
    for name in header:
        if name in reserved:
            raise UserError(f"{shown(path)}:1: '{name}' is already the name of another score column; rename it")
    if len(rows) != sentences:
        raise UserError(f"{shown(path)} has {len(rows):,} rows below its header, but there are {sentences:,} sentences")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise UserError(f"{shown(path)}:{number}: {len(row)} columns, but the header has {len(header)}")
    for name, tags in zip(header, zip(*rows, strict=True), strict=True):
        yield name, groups.by_tag(tags)


def _by_frequency(corpus: ComparedCorpus, path: Path) -> Iterator[ComparisonRow]:
    """Yield rows for words by how often they are in a text."""
    frequency = groups.frequencies(read(path).lines)
    for bucket in range(len(groups.FREQUENCIES) + 1):
        metric = groups.WordBucketF1(frequency, bucket)
        counts = corpus.counts(metric)
        words = sum(map(metric.number, corpus.references))
        if words or any(array.any() for array in counts):
            yield from corpus.rows({"frequency": metric.group, "words": words}, [metric], [counts])


def _by_edits(corpus: ComparedCorpus, references: Sequence[ScoredFile]) -> Iterator[ComparisonRow]:
    """Yield rows for edits by their type: those that are left to make, or those that were made of `--edited`."""
    options = corpus.options
    edited = read(options.edited) if options.edited else None
    if edited:
        check(len(edited.lines), edited.path, references)
    for name in groups.EDITS:
        metric: Metric
        of: dict[str, str | int] = {"edit": name}
        if edited:
            metric = groups.EditScore(name, edited.lines, lowercase=options.lowercase)
            of["edits"] = sum(map(metric.number, corpus.references))
        else:
            metric = groups.EditTypeRate(name, lowercase=options.lowercase)
        yield from corpus.rows(of, [metric], [corpus.counts(metric)])


def table(rows: Sequence[ComparisonRow], test: str) -> str:
    """Aligned columns, and below them what the scores depend on and what the marks mean."""
    cells = next((row.cells for row in rows if isinstance(row.cells[0], ComparedScore)), rows[0].cells)
    scores = [score_of(cell) for cell in cells]
    lines = [[*rows[0].of, *(score.name for score in scores)]]
    lines += [
        [*(f"{value:,}" if isinstance(value, int) else value for value in row.of.values()), *map(_text, row.cells)]
        for row in rows
    ]
    signed: dict[str, list[str]] = {}
    for score in scores:
        signed.setdefault(score.signature, []).append(score.name)
    notes = [f"{', '.join(names)}: {signature}" for signature, names in signed.items()]
    if isinstance(cells[0], ComparedScore):
        notes.append("±: half of the 95 % interval, by bootstrap")
    if any(isinstance(cell, ComparedScore) and cell.p is not None for row in rows for cell in row.cells):
        named = {"bootstrap": "paired bootstrap", "randomization": "approximate randomization"}[test]
        notes.append(f"p: of the difference from {[*rows[0].of.values()][-1]}, by {named}; * p < 0.05, ** p < 0.01")
    return "\n".join([aligned(lines), "", *notes])


def _text(cell: Cell) -> str:
    if isinstance(cell, Score):
        return figure(cell.value)
    p = "" if cell.p is None else f"  p {cell.p:.3f} {cell.mark}"
    return f"{figure(cell.score.value)} ± {figure(cell.margin)}{p}".rstrip()


def signed(cell: Cell, more: str) -> Cell:
    """With more in the signature."""
    if isinstance(cell, Score):
        return cell._replace(signature=cell.signature + more)
    return cell._replace(score=cell.score._replace(signature=cell.score.signature + more))


def _entry(cell: Cell) -> dict[str, Any]:
    """As sacreBLEU has a score with `--confidence`."""
    if isinstance(cell, Score):
        return entry(cell)
    mean, margin = figure(cell.mean), figure(cell.margin)
    confidence = {
        "confidence_mean": float(mean),
        "confidence_var": float(margin),
        "confidence": f"μ = {mean} ± {margin}",
    }
    return {**entry(cell.score), **confidence}


def as_object(row: ComparisonRow) -> dict[str, Any]:
    """A row as sacreBLEU has a system in a paired test: each metric under its name, with signatures."""
    return {**row.of, **{score_of(cell).name: _value(cell) for cell in row.cells}}


def _value(cell: Cell) -> dict[str, Any]:
    score = score_of(cell)
    value = {"score": round(score.value, 2), "signature": score.signature}
    if isinstance(cell, Score):
        return value
    interval = {
        "mean": round(cell.mean, 2),
        "ci": round(cell.margin, 2),
        "low": round(cell.low, 2),
        "high": round(cell.high, 2),
    }
    return {**value, "p_value": cell.p, **interval}


def written(value: Any) -> str:
    """JSON as all of these commands print it; a byte of a file's name that is not UTF-8 is escaped."""
    return json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()

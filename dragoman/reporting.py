"""Contents of the report: runs side by side, with intervals, significant differences, and quality by group."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from dragoman.configuration import components, config_file
from dragoman.configuration.config import UNTRANSLATED
from dragoman.configuration.data import DataConfig
from dragoman.corpus.examples import alignment_files, corpus_files, feature_files, read_texts
from dragoman.data.learning import texts_in
from dragoman.errors import UserError
from dragoman.evaluation import groups
from dragoman.evaluation.metrics.line_metrics import AlignmentErrorRate
from dragoman.evaluation.metrics.metric import Metric, Score
from dragoman.evaluation.metrics.table import METRICS
from dragoman.evaluation.significance import ComparedScore, compare_or_score, score_of
from dragoman.files.writing import write_atomically
from dragoman.inspection import Sentences
from dragoman.run.run import Run, facts, metric_rows
from dragoman.visualization import report
from dragoman.visualization.report import Report, RunView
from dragoman.visualization.report_tables import GroupRow, Groups, ScoreCell, Scores
from dragoman.visualization.sentences import ReportSentence, SentenceMetric

MOST_SENTENCES = 2000  # of a run in a report, so that even a phone can display it
MOST_COUNTED = 1_000_000  # lines of the training data in which words are counted
OTHERS = "Runs with other references are not comparable."

Frequency: TypeAlias = Mapping[str, int]
Counts: TypeAlias = Float[np.ndarray, "_ _"]  # of a metric for each sentence; runs may have others


class TranslatedRun(NamedTuple):
    """A run, its translations of some sentences, scores beside those of its metrics, and how its attention agrees with
    gold links of each sentence, if there are any, as `alignment.agreements` counts it.
    """

    run: Run
    sentences: Sentences
    more: Sequence[Score] = ()
    links: Counts | None = None


class Tested(NamedTuple):
    """Runs, by their numbers, that translated sentences with the same references: the first is the others' baseline."""

    runs: list[int]
    sentences: list[Sentences]

    @property
    def first(self) -> Sentences:
        return self.sentences[0]

    def counts(self, metric: Metric) -> list[Counts]:
        """The counts of each run."""
        return [metric.counts(sentences.texts, [self.first.references]) for sentences in self.sentences]

    def cells(self, metric: Metric, counts: Sequence[Counts], numbers: Sequence[int]) -> list[tuple[int, ScoreCell]]:
        """Judge the runs by sentences of these numbers."""
        first, *later = compare_or_score(metric, [run_counts[numbers] for run_counts in counts], 1)
        return list(zip(self.runs, [_cell(first), *(_cell(judgment, first) for judgment in later)], strict=True))


def write_page(path: Path, translated: Sequence[TranslatedRun], frequency: Frequency | None = None) -> None:
    """Write the report of these runs as one HTML page."""
    with write_atomically(path) as file:
        file.write(report.page(contents(translated, frequency)))


def contents(translated: Sequence[TranslatedRun], frequency: Frequency | None = None) -> Report:
    """Return what a report shows. `frequency` has the words of a corpus; if not given, those of the first run's
    training data are counted.
    """
    metrics, tests = (
        measures([run_output.run for run_output in translated]),
        tested([run_output.sentences for run_output in translated]),
    )
    measured = [(name, metric, [test.counts(metric) for test in tests]) for name, metric in metrics.items()]
    scores: list[Scores] = []
    by_length: list[Groups] = []
    for name, metric, counts in measured:
        scores += _scores(name, metric, tests, counts)
        for test, of_runs in zip(tests, counts, strict=True):
            by_length.append(_by_length(name, metric, test, of_runs, translated[test.runs[0]].run.config.data))
    scores, further = _with_others(
        scores, [(run, score) for run, run_output in enumerate(translated) for score in run_output.more]
    )
    if frequency is None:
        frequency = training_words(translated[0].run) if tests else {}
    by_edits = [_by_edits(test) for test in tests]
    by_frequency = [_by_frequency(test, frequency) for test in tests]
    return Report(
        [_view(run_output, list(metrics.values())) for run_output in translated],
        [*scores, *_error_rate(translated, tests)],
        further,
        [grouping for grouping in [*by_length, *by_edits, *by_frequency] if grouping.groups],
        [SentenceMetric(name, metric.higher_is_better) for name, metric in metrics.items()],
    )


def measures(runs: Sequence[Run]) -> dict[str, Metric]:
    """Return the metrics of all runs, each once, under names that tell them apart."""
    metrics: dict[str, Metric] = {}
    for spec in (spec for run in runs for spec in run.config.metrics):
        metric = components.build(METRICS, spec)
        signature = metric.signature(1)
        if (metric.name, signature) not in (
            (other_metric.name, other_metric.signature(1)) for other_metric in metrics.values()
        ):
            metrics[metric.name if metric.name not in metrics else f"{metric.name} ({signature})"] = metric
    return metrics


def tested(sentences: Sequence[Sentences]) -> list[Tested]:
    """Return runs together that have the same references, for sentences of the same language pairs."""
    tests: list[Tested] = []
    for run, with_references in enumerate(run_sentences.with_references for run_sentences in sentences):
        if not with_references.texts:
            continue
        same = (test for test in tests if _test_set(test.first) == _test_set(with_references))
        test = next(same, None)
        if test is None:
            tests.append(Tested([run], [with_references]))
        else:
            test.runs.append(run)
            test.sentences.append(with_references)
    return tests


def _test_set(sentences: Sentences) -> list[tuple[str | None, str]]:
    return [(example.reference, example.pair) for example in sentences.examples]


def _cell(score: ComparedScore | Score, base: ComparedScore | Score | None = None) -> ScoreCell:
    """What is shown of a score, with its difference from that of the baseline."""
    value = score_of(score).value
    difference = None if base is None else value - score_of(base).value
    if isinstance(score, Score):
        return ScoreCell(value, difference=difference)
    return ScoreCell(value, score.low, score.high, score.p, score.mark, difference)


def _scores(name: str, metric: Metric, tests: Sequence[Tested], counts: Sequence[Sequence[Counts]]) -> list[Scores]:
    """Return the scores by a metric of all runs, for each language pair."""
    pairs = dict.fromkeys(example.pair for test in tests for example in test.first.examples)
    by_pair: list[Scores] = []
    for pair in pairs:
        runs: list[tuple[int, ScoreCell]] = []
        notes: list[str] = []
        for test, of_runs in zip(tests, counts, strict=True):
            numbers = [number for number, example in enumerate(test.first.examples) if example.pair == pair]
            if numbers:
                runs += test.cells(metric, of_runs, numbers)
                notes.append(_signature(metric, test.first.of(pair).references))
        notes += [OTHERS] if len(notes) > 1 else []
        title = f"{name} {pair}" if pair else name
        by_pair.append(Scores(title, sorted(runs), (), notes, metric.higher_is_better))
    return by_pair


def _signature(metric: Metric, references: Sequence[str]) -> str:
    return Score(metric.name, 0.0, metric.signature(1)).against(references).signature


def _with_others(scores: Sequence[Scores], further: Sequence[tuple[int, Score]]) -> tuple[list[Scores], list[Scores]]:
    """Return the scores with those of no model, `BLEU, copying en` beside BLEU, and what scores there are besides."""
    beside = {card_scores.title: dict[tuple[str, float], None]() for card_scores in scores}
    alone: dict[str, list[tuple[int, Score]]] = {}
    for run, score in further:
        metric, _, baseline = score.name.partition(", ")
        card = _card(metric, score.signature, scores) if baseline else None
        if card is not None:
            beside[card][baseline, score.value] = None
        else:
            alone.setdefault(score.name, []).append((run, score))
    return [card_scores._replace(baselines=list(beside[card_scores.title])) for card_scores in scores], list(
        map(_alone, alone.items())
    )


def _card(metric: str, signature: str, scores: Sequence[Scores]) -> str | None:
    """The title of the scores that one of no model stands beside: those of its metric and, where there are several,
    with its signature.
    """
    of_metric = [card for card in scores if card.title == metric or card.title.startswith(f"{metric} (")]
    same = [card for card in of_metric if signature in card.notes]
    chosen = same or (of_metric if len(of_metric) == 1 else [])
    return chosen[0].title if chosen else None


def _alone(named: tuple[str, Sequence[tuple[int, Score]]]) -> Scores:
    name, scores = named
    notes = list(dict.fromkeys(score.signature for _, score in scores))
    notes += ["Runs with other signatures are not comparable."] if len(notes) > 1 else []
    cells = [(run, _cell(score)) for run, score in scores]
    return Scores(name, cells, (), notes, UNTRANSLATED.get(name.lower()))


def _error_rate(translated: Sequence[TranslatedRun], tests: Sequence[Tested]) -> list[Scores]:
    """Return the alignment error rate of runs with gold links, in forced decoding; none if there are no links."""
    metric = AlignmentErrorRate()
    runs: list[tuple[int, ScoreCell]] = []
    notes: list[str] = []
    for test in tests:
        counts = [links for run in test.runs if (links := translated[run].links) is not None]
        if len(counts) == len(test.runs):
            runs += test.cells(metric, counts, range(len(counts[0])))
            notes.append(f"percent|forced decoding|{_signature(metric, test.first.references)}")
    notes += [OTHERS] if len(notes) > 1 else []
    return [Scores(metric.name, sorted(runs), (), notes, metric.higher_is_better)] if runs else []


def _by_length(name: str, metric: Metric, test: Tested, counts: Sequence[Counts], data: DataConfig) -> Groups:
    """Group the sentences by the length of their source, of several the longest. There are no groups if the first run
    reads no texts. The texts of an example begin with those of `data.source`.
    """
    read = [0] if data.pairs else [number for number, source in enumerate(data.source) if source not in data.features]
    lines = [max((example.texts[number][1] for number in read), key=len) for example in test.first.examples if read]
    by_length = [
        GroupRow(bucket.name, len(bucket.sentences), test.cells(metric, counts, bucket.sentences))
        for bucket in groups.by_length(lines)
    ]
    return Groups(f"{name} by length of the source", "Words", "Sentences", by_length, metric.higher_is_better)


def _by_frequency(test: Tested, frequency: Frequency) -> Groups:
    """Group the words of the references, and those of translations alone."""
    by_frequency: list[GroupRow] = []
    for bucket in range(len(groups.FREQUENCIES) + 1) if frequency else ():
        metric = groups.WordBucketF1(frequency, bucket)
        counts = test.counts(metric)
        if any(run_counts.any() for run_counts in counts):
            cells = test.cells(metric, counts, range(len(counts[0])))
            by_frequency.append(GroupRow(metric.group, metric.number(test.first.references), cells))
    return Groups("F1 of words by their frequency in training", "Times", "Words", by_frequency)


def _by_edits(test: Tested) -> Groups:
    """Group the edits that turn translations into references."""
    words = sum(len(line.split()) for line in test.first.references)
    by_edits: list[GroupRow] = []
    for name in groups.EDITS:
        metric = groups.EditTypeRate(name)
        counts = test.counts(metric)
        by_edits.append(GroupRow(name, words, test.cells(metric, counts, range(len(counts[0])))))
    return Groups("Edits by their type", "Edit", "Words", by_edits, groups.EditTypeRate.higher_is_better)


def training_words(run: Run) -> Frequency:
    """Count the words of the target in the training data; none if the data are gone, or have several pairs."""
    names = _columns(run)
    try:
        texts = islice(read_texts(run.config.data.train, names), MOST_COUNTED) if names else ()
        return groups.frequencies(row[-1] for row in texts)
    except UserError:  # a run may have been moved away from its training data
        return {}


def list_data_files(run: Run) -> list[Path]:
    """Return the files of the training and development data that exist: texts, features and alignments."""
    data = run.config.data
    files: list[Path] = []
    for pair in data.language_pairs:
        for corpus in filter(None, (*pair.train, pair.dev)):
            # One file at a time: a run may have been moved away from some of its data.
            for name in texts_in(data, pair):
                with suppress(UserError):
                    files += corpus_files(corpus, name)
            for name in data.features:
                with suppress(UserError):
                    files += feature_files(corpus, name)
            if data.alignments:
                with suppress(UserError):
                    files += alignment_files(corpus, pair.sources[0], pair.target)
    return files


def _columns(run: Run) -> tuple[str, ...]:
    """The texts of the training data, the target last; none if they have several pairs."""
    data = run.config.data
    return () if data.pairs else (*(name for name in data.source if name not in data.features), data.target)


def _view(translated: TranslatedRun, metrics: Sequence[Metric]) -> RunView:
    run, sentences = translated.run, translated.sentences
    rows = [{key: row[key] for key in row if not key.startswith("final/")} for row in metric_rows(run)]
    return RunView(
        name=str(run.folder.path),
        config_yaml=config_file.dump(run.config),
        facts=facts(run),
        metrics=rows,
        examples=[_valued(example, metrics) for example in _shown(sentences)],
        sentences=len(sentences.examples),
    )


def _shown(sentences: Sentences) -> list[ReportSentence]:
    """Return as many sentences as a report shows, the first ones of each language pair."""
    pairs = dict.fromkeys(example.pair for example in sentences.examples)
    return [example for pair in pairs for example in sentences.of(pair).examples[: MOST_SENTENCES // len(pairs)]]


def _valued(example: ReportSentence, metrics: Sequence[Metric]) -> ReportSentence:
    if example.reference is None:
        return example
    values = [metric.sentence(example.target_text, [example.reference]).value for metric in metrics]
    return replace(example, values=values)

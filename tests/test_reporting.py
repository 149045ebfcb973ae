"""What a report shows: runs with the same references compared, others alone, quality by length and by frequency."""

import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dragoman import reporting
from dragoman.configuration.components import Spec
from dragoman.configuration.data import PairConfig
from dragoman.evaluation.metrics.line_metrics import AlignmentErrorRate
from dragoman.evaluation.metrics.metric import Score
from dragoman.evaluation.metrics.sacre import Bleu, Chrf
from dragoman.evaluation.significance import compare
from dragoman.inspection import Sentences, development
from dragoman.reporting import TranslatedRun
from dragoman.run.run import Run
from dragoman.visualization.report_tables import GroupRow
from dragoman.visualization.sentences import ReportSentence
from tests import toy


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run.load(toy.trained(tmp_path_factory.getbasetemp()))


def sentences(
    texts: Sequence[str], references: Sequence[str | None], sources: Sequence[str] = (), pair: str = ""
) -> Sentences:
    """Translations, one source word after another if no sources are given."""
    examples = [
        ReportSentence(
            source.split(),
            text.split(),
            reference,
            np.ones((len(text.split()), len(source.split()))),
            -1.0,
            pair=pair,
            texts=[("en", source)],
            target_text=text,
        )
        for text, reference, source in zip(texts, references, sources or references, strict=True)
        if isinstance(source, str)
    ]
    return Sentences(list(texts), examples)


REFERENCES = [f"un deux trois quatre {word}" for word in ["cinq", "six", "sept", "huit", "neuf"] * 8]
GOOD = [line if number % 10 else "un un" for number, line in enumerate(REFERENCES)]
BAD = [line if number % 2 else "deux trois" for number, line in enumerate(REFERENCES)]


@pytest.mark.slow
def test_runs_with_the_same_references_are_compared_with_the_first(run: Run) -> None:
    report = reporting.contents([TranslatedRun(run, sentences(lines, REFERENCES)) for lines in (GOOD, BAD, GOOD)], {})
    assert [(score.title, score.higher_is_better) for score in report.scores] == [("BLEU-2", True), ("chrF2", True)]
    for metric, card in zip((Bleu(order=2), Chrf()), report.scores, strict=True):
        expected = compare(metric, [metric.counts(lines, [REFERENCES]) for lines in (GOOD, BAD, GOOD)], 1)
        assert [number for number, _ in card.runs] == [0, 1, 2]
        for (_, cell), judged in zip(card.runs, expected, strict=True):
            assert (cell.value, cell.low, cell.high, cell.p, cell.mark) == (
                judged.score.value,
                judged.low,
                judged.high,
                judged.p,
                judged.mark,
            )
        base, worse, same = (cell for _, cell in card.runs)
        assert base.difference is None
        assert worse.mark == "**"
        assert worse.difference == worse.value - base.value < 0
        assert (same.difference, same.mark) == (0, "")
        assert len(card.notes) == 1
        assert f"|sentences:{len(REFERENCES)}|references:" in card.notes[0]


@pytest.mark.slow
def test_runs_with_other_references_are_judged_alone(run: Run) -> None:
    changed_lines = [line.replace("un", "une") for line in REFERENCES]
    translated = [sentences(GOOD, REFERENCES), sentences(BAD, changed_lines), sentences(BAD, REFERENCES)]
    card = reporting.contents([TranslatedRun(run, sentences_) for sentences_ in translated], {}).scores[0]
    first, alone, compared = (cell for _, cell in card.runs)
    assert (first.difference, alone.difference) == (None, None)
    assert alone.p is None
    assert not math.isnan(alone.low)
    assert compared.p is not None
    assert len(card.notes) == 3  # two signatures and a warning


def test_too_few_sentences_have_values_alone(run: Run) -> None:
    few = [TranslatedRun(run, sentences(lines[:19], REFERENCES[:19])) for lines in (GOOD, BAD)]
    (_, first), (_, second) = reporting.contents(few, {}).scores[0].runs
    assert math.isnan(first.low)
    assert second.p is None
    assert second.difference == second.value - first.value


@pytest.mark.slow
def test_every_metric_of_any_run_scores_all_runs_and_all_sentences(run: Run) -> None:
    more = [Spec("chrf"), Spec("ter"), Spec("bleu", {"order": 2, "lowercase": True})]
    other = replace(run, config=run.config.model_copy(update={"metrics": more}))
    translated = sentences([*GOOD, "neuf"], [*REFERENCES, None], [*REFERENCES, "nine"])
    report = reporting.contents([TranslatedRun(run, translated), TranslatedRun(other, translated)], {})
    names = [measure.name for measure in report.measures]
    assert names[:3] == ["BLEU-2", "chrF2", "TER"]
    assert names[3].startswith("BLEU-2 (nrefs:1|case:lc")
    assert [measure.higher_is_better for measure in report.measures] == [True, True, False, True]
    assert [score.title for score in report.scores] == names
    assert all(len(score.runs) == 2 for score in report.scores)
    first, *_, last = report.runs[0].examples
    assert [round(value) for value in first.values] == [
        round(metric.sentence(GOOD[0], [REFERENCES[0]]).value) for metric in reporting.measures([run, other]).values()
    ]
    assert last.values == ()


@pytest.mark.slow
def test_language_pairs_have_scores_of_their_own(run: Run) -> None:
    french, german = sentences(GOOD, REFERENCES, pair="en-fr"), sentences(BAD, REFERENCES, pair="en-de")
    both = Sentences([*french.texts, *german.texts], [*french.examples, *german.examples])
    report = reporting.contents([TranslatedRun(run, both)], {})
    assert [score.title for score in report.scores] == ["BLEU-2 en-fr", "BLEU-2 en-de", "chrF2 en-fr", "chrF2 en-de"]
    metric = Bleu(order=2)
    assert [score.runs[0][1].value for score in report.scores[:2]] == [
        metric.corpus(lines, [REFERENCES]).value for lines in (GOOD, BAD)
    ]


def group_rows(groups: Sequence[GroupRow]) -> list[tuple[str, int, list[int]]]:
    return [(group.name, group.size, [round(cell.value) for _, cell in group.runs]) for group in groups]


@pytest.mark.spec("H12")
def test_quality_is_told_for_each_length_of_the_source(run: Run) -> None:
    """Of several sources, the longest; groups of the first run with the same references hold for the others."""
    lengths = [3, 4, 5, 6, 10, 30]
    references = [" ".join(["mot"] * length) for length in lengths]
    translations = [
        reference if right else "faux" for reference, right in zip(references, [1, 1, 1, 0, 0, 1], strict=True)
    ]
    one, other = sentences(translations, references), sentences(references, references, ["a"] * 6)
    report = reporting.contents([TranslatedRun(run, one), TranslatedRun(run, other)], {})
    assert [group.title for group in report.groups] == [
        *(f"{name} by length of the source" for name in ("BLEU-2", "chrF2")),
        "Edits by their type",
    ]
    assert group_rows(report.groups[0].groups) == [
        ("3-5", 3, [100, 100]),
        ("6-10", 2, [0, 100]),
        ("26-30", 1, [100, 100]),
    ]


@pytest.mark.spec("H12")
def test_the_length_of_a_source_is_that_of_a_text_which_is_given(run: Run) -> None:
    """As in `evaluate --by length`: not of a path of features, nor of what a memory recalls."""
    translated = sentences(["un deux"], ["un deux"])
    texts = [("img", "/a/b-c/d.npy"), ("en", "one two three"), ("memory 0.50", "un deux trois quatre cinq six sept")]
    seen = translated._replace(examples=[replace(example, texts=texts) for example in translated.examples])
    rows = dict[tuple[str, ...], list[str]]()
    for sources in (("img", "en"), ("img",)):
        data = run.config.data.model_copy(
            update={"source": sources, "features": ("img",), "translation_memory": Spec("nearest")}
        )
        other = replace(run, config=run.config.model_copy(update={"data": data}))
        groups = reporting.contents([TranslatedRun(other, seen)], {}).groups
        rows[sources] = [row.name for group in groups if "by length" in group.title for row in group.groups]
    assert rows == {("img", "en"): ["3-5", "3-5"], ("img",): []}


@pytest.mark.slow
@pytest.mark.spec("H12")
def test_groups_of_other_references_have_tables_of_their_own(run: Run) -> None:
    """Each with as many sentences and words as that test set has."""
    few, many = sentences(["un deux"] * 3, ["un deux"] * 3), sentences(["six sept"] * 50, ["six sept"] * 50)
    groups = reporting.contents(
        [TranslatedRun(run, results) for results in (few, many, few)], {"un": 2, "six": 2}
    ).groups
    titles = ["BLEU-2", "BLEU-2", "chrF2", "chrF2", "Edits", "Edits", "F1", "F1"]
    assert [group.title.partition(" ")[0] for group in groups] == titles
    rows = [[(row.name, row.size, [run for run, _ in row.runs]) for row in group.groups] for group in groups]
    assert rows[:4] == [[("1-2", 3, [0, 2])], [("1-2", 50, [1])]] * 2
    assert rows[6:] == [[("0", 3, [0, 2]), ("2-3", 3, [0, 2])], [("0", 50, [1]), ("2-3", 50, [1])]]


def test_quality_of_words_is_told_by_their_frequency(run: Run) -> None:
    translated = sentences(["un deux", "trois"], ["un deux", "six trois"])
    frequency = {"un": 5000, "deux": 2, "trois": 2}
    groups = reporting.contents([TranslatedRun(run, translated)], frequency).groups[-1]
    assert (groups.title, groups.by) == ("F1 of words by their frequency in training", "Times")
    assert group_rows(groups.groups) == [("0", 1, [0]), ("2-3", 2, [100]), ("over 999", 1, [100])]


@pytest.mark.slow
@pytest.mark.spec("H12")
def test_edits_that_are_left_to_make_are_told_by_their_type(run: Run) -> None:
    references = ["un deux trois quatre"] * 30
    translated = [
        TranslatedRun(run, sentences([text] * 30, references)) for text in ("un trois cinq", "un deux trois quatre")
    ]
    groups = reporting.contents(translated, {}).groups[-1]
    assert (groups.title, groups.by, groups.higher_is_better) == ("Edits by their type", "Edit", False)
    assert group_rows(groups.groups) == [
        ("insert", 120, [25, 0]),
        ("delete", 120, [0, 0]),
        ("substitute", 120, [25, 0]),
    ]
    assert groups.groups[0].runs[1][1].mark == "**"


@pytest.mark.slow
@pytest.mark.spec("H12")
@pytest.mark.parametrize(("times", "judged"), [(1, False), (19, False), (20, True)])
def test_words_that_few_sentences_have_have_values_alone(run: Run, times: int, judged: bool) -> None:
    """However many other sentences there are, as in `evaluate --by frequency`."""
    references = ["le chat"] * 100 + ["le loup"] * times
    wrong = [line.replace("loup", "chat") for line in references]
    translated = [TranslatedRun(run, sentences(translations, references)) for translations in (wrong, references)]
    rare, frequent = reporting.contents(translated, {"le": 5, "chat": 5}).groups[-1].groups
    assert (rare.name, frequent.name) == ("0", "4-9")
    for group, expected in ((rare, judged), (frequent, True)):
        (_, first), (_, second) = group.runs
        assert (math.isfinite(first.low), second.p is not None) == (expected, expected)
        assert second.difference == second.value - first.value


@pytest.mark.slow
@pytest.mark.spec("H12")
def test_words_that_only_a_translation_has_are_shown(run: Run) -> None:
    references = ["le chat"] * 30
    translated = [
        TranslatedRun(run, sentences(translations, references)) for translations in (references, ["le loup"] * 30)
    ]
    groups = reporting.contents(translated, {"le": 5, "chat": 5}).groups[-1]
    assert group_rows(groups.groups) == [("0", 0, [0, 0]), ("4-9", 60, [100, 67])]


def test_words_of_the_training_data_are_counted_unless_they_are_gone(run: Run, tmp_path: Path) -> None:
    lines = Path(f"{run.config.data.train[0]}.fr").read_text("utf-8").split()
    words = reporting.training_words(run)
    assert words == {word: lines.count(word) for word in set(lines)}
    sets = [group.title for group in reporting.contents([TranslatedRun(run, *development(run))]).groups]
    assert sets[-1] == "F1 of words by their frequency in training"
    moved = with_data(run, train=(str(tmp_path / "gone"),))
    assert reporting.training_words(moved) == {}
    sets = [group.title for group in reporting.contents([TranslatedRun(moved, *development(run))]).groups]
    assert sets == ["BLEU-2 by length of the source", "chrF2 by length of the source", "Edits by their type"]


def with_data(run: Run, **values: object) -> Run:
    """The run with other values of `data`."""
    data = run.config.data.model_copy(update=values)
    return replace(run, config=run.config.model_copy(update={"data": data}))


def test_data_files_are_all_that_exist(run: Run, tmp_path: Path) -> None:
    names = ("a.en", "a.fr.gz", "b.fr", "b.tsv", "b.photo.npz", "a.en-fr.align", "dev.en", "dev.fr")
    for name in names:
        (tmp_path / name).touch()
    first, second, table, dev = (str(tmp_path / name) for name in ("a", "b", "b.tsv", "dev"))

    def list_names(**values: object) -> set[str]:
        return {path.name for path in reporting.list_data_files(with_data(run, **values))}

    train = (str(tmp_path / "gone"), first, second, table)
    texts = {"a.en", "a.fr.gz", "b.fr", "b.tsv"}
    assert list_names(train=train, dev="") == texts
    features = {"source": ("en", "photo"), "features": ("photo",)}
    assert list_names(train=train, dev=dev, alignments=True, **features) == set(names)
    pairs = (
        PairConfig(source="en", target="fr", train=train, dev=dev),
        PairConfig(source="fr", target="en", train=(), dev=dev),
    )
    assert list_names(source=(), target="", train=(), dev="", pairs=pairs) == texts | {"dev.en", "dev.fr"}


def test_what_needs_no_model_stands_beside_and_the_prediction_by_itself(run: Run) -> None:
    report = reporting.contents([TranslatedRun(run, *development(run))] * 2)
    baselines, *_ = [[name for name, _ in score.baselines] for score in report.scores]
    assert baselines == ["copying en", "nearest neighbor"]
    assert [(scores.title, scores.higher_is_better, len(scores.runs)) for scores in report.further] == [
        ("Perplexity", False, 2),
        ("Accuracy", True, 2),
    ]
    assert len(report.further[0].notes) == 1


def test_what_needs_no_model_stands_beside_the_scores_of_its_signature(run: Run) -> None:
    translated = TranslatedRun(run, *development(run))
    specs = (Spec("bleu"), Spec("bleu", {"tokenize": "char"}))
    with_metrics = replace(run, config=run.config.model_copy(update={"metrics": specs}))
    references = translated.sentences.with_references.references
    metrics = {2.0: Bleu(tokenize="char"), 1.0: Bleu()}
    other_runs = [
        Score(f"{metric.name}, copying en", value, metric.signature(1)).against(references)
        for value, metric in metrics.items()
    ]
    report = reporting.contents([translated._replace(run=with_metrics, more=other_runs)])
    assert [score.baselines for score in report.scores] == [[("copying en", 1.0)], [("copying en", 2.0)]]


@pytest.mark.slow
@pytest.mark.spec("H13")
def test_alignment_error_rates_of_runs_are_compared(run: Run) -> None:
    """With that of the first that has the same references; a run without gold links has none."""
    good, bad = (np.array([[2.0, 2.0, right, right]] * len(REFERENCES)) for right in (2, 1))
    changed_lines = [line.replace("un", "une") for line in REFERENCES]
    translated = [
        TranslatedRun(run, sentences(GOOD, references), links=links)
        for references, links in ((REFERENCES, good), (REFERENCES, bad), (changed_lines, bad))
    ]
    *_, card = reporting.contents(translated, {}).scores
    expected = compare(AlignmentErrorRate(), [good, bad], 1)
    (_, first), (_, worse), (_, alone) = card.runs
    assert (card.title, card.higher_is_better, [number for number, _ in card.runs]) == ("AER", False, [0, 1, 2])
    assert [(cell.value, cell.p) for cell in (first, worse)] == [(0, None), (50, expected[1].p)]
    assert (worse.mark, worse.difference, first.difference) == ("**", 50, None)
    assert (alone.value, alone.p, alone.difference) == (50, None, None)
    assert len(card.notes) == 3  # two signatures and a warning
    assert card.notes[0].startswith(f"percent|forced decoding|nrefs:1|sentences:{len(REFERENCES)}|references:")
    plain = [TranslatedRun(run, sentences(GOOD, REFERENCES)), translated[1]]
    assert [score.title for score in reporting.contents(plain, {}).scores] == ["BLEU-2", "chrF2"]


def test_a_run_without_translations_has_no_scores(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.folder.path, tmp_path / "run")
    begun = Run.load(tmp_path / "run")
    begun.folder.validation.unlink()
    report = reporting.contents([TranslatedRun(begun, *development(begun))])
    assert (report.groups, report.runs[0].examples) == ([], [])
    assert all(not score.runs for score in report.scores)


def test_the_first_sentences_of_each_pair_are_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "MOST_SENTENCES", 4)
    french, german = (sentences(["a", "b", "c"], ["a", "b", "c"], pair=pair) for pair in ("en-fr", "en-de"))
    both = Sentences([*french.texts, *german.texts], [*french.examples, *german.examples])
    (view,) = reporting.contents([TranslatedRun(run, both)], {}).runs
    assert [(example.pair, example.target_text) for example in view.examples] == [
        ("en-fr", "a"),
        ("en-fr", "b"),
        ("en-de", "a"),
        ("en-de", "b"),
    ]
    assert view.sentences == 6
    assert not any(key.startswith("final/") for row in view.metrics for key in row)
    assert any("valid/bleu" in row for row in view.metrics)

"""What a run does: scores, quality by length, sentences."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import inspection
from dragoman.corpus.examples import Pair
from dragoman.corpus.pharaoh import Gold, read_pharaoh
from dragoman.errors import UserError
from dragoman.inspection import Sentences
from dragoman.run.run import Run
from dragoman.translation import loading
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.attribution import context as origin
from dragoman.translation.attribution.attribution import explained
from dragoman.translation.result import Result
from dragoman.translation.transforms.confidence import ConfidenceCalibration
from dragoman.translation.translation import Translation
from dragoman.visualization.sentences import ReportSentence
from tests import toy
from tests.golden import Golden


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run.load(toy.trained(tmp_path_factory.getbasetemp()))


def example(source: list[str], target: list[str], reference: str | None) -> ReportSentence:
    """Words that stand between spaces, each of which looks at its own."""
    attention, texts = np.eye(len(target), len(source)), (" ".join(source), " ".join(target))
    return ReportSentence(source, target, reference, attention, -1.0, texts=[("en", texts[0])], target_text=texts[1])


def sentences(lengths: Sequence[int], right: Sequence[bool]) -> Sentences:
    """Sentences of so many words, translated right or wrong."""
    texts = [["word"] * length for length in lengths]
    examples = [example(words, words, " ".join(words)) for words in texts]
    pairs = zip(texts, right, strict=True)
    return Sentences([" ".join(words) if good else "false " * 9 for words, good in pairs], examples)


def test_a_missing_reference_takes_only_its_own_sentence_out(run: Run) -> None:
    translated = sentences([2, 3, 4], [True, False, True])
    unknown = example(["new"], ["neuf"], None)
    mixed = Sentences([*translated.texts, "neuf"], [*translated.examples, unknown])
    assert inspection.scores(run, mixed) == inspection.scores(run, translated)
    assert "|sentences:3|" in inspection.scores(run, mixed)[0].signature


def test_an_empty_reference_is_one_too(run: Run) -> None:
    translated = sentences([2, 3], [True, True])
    said_nothing = example(["new"], ["neuf"], "")
    scores = inspection.scores(run, Sentences([*translated.texts, "neuf"], [*translated.examples, said_nothing]))
    assert "|sentences:3|" in scores[0].signature
    assert scores[0].value < inspection.scores(run, translated)[0].value == 100


def test_a_finished_run_has_its_development_sentences_and_scores(run: Run) -> None:
    sentences, more = inspection.development(run)
    scores = [
        score for score in inspection.scores(run, sentences, more) if ", " not in score.name
    ]  # which have a model
    assert [score.name for score in scores] == ["BLEU-2", "chrF2", "Perplexity", "Accuracy"]
    last = json.loads(run.folder.metrics.read_text(encoding="utf-8").splitlines()[-1])
    assert [score.value for score in scores] == pytest.approx(
        [last[f"final/{name}"] for name in ("bleu", "chrf", "perplexity", "accuracy")]
    )
    assert len(sentences.examples) == 8
    signatures = [score.signature for score in scores]
    assert signatures[2] == signatures[3]
    assert signatures[2].startswith("unit:word|symbols:10|inventory:")
    assert len({signature.rpartition("|sentences:8|")[2] for signature in signatures}) == 1


def test_scores_of_other_references_or_other_symbols_have_other_signatures(run: Run) -> None:
    one, other = (inspection.scores(run, sentences([length], [True])) for length in (3, 4))
    assert [a.signature == b.signature for a, b in zip(one, other, strict=True)] == [False, False]
    predicted = [inspection.prediction(language, 2.0, 50.0)[0].signature for language in (run.source, run.target)]
    assert predicted[0] != predicted[1]


def test_given_sentences_are_translated_and_compared_with_gold_links(run: Run, golden: Golden) -> None:
    pairs = [Pair(*pair) for pair in toy.pairs(12, 7)]
    links = [frozenset((n - 1 - t, t) for t in range(n)) for n in (len(pair.source.split()) for pair in pairs)]
    model = loading.load(run.folder.path)
    translated, counts = inspection.translated(model, pairs, [Gold(link, link) for link in links])
    assert translated.references == [pair.target for pair in pairs]
    right = [text == pair.target for text, pair in zip(translated.texts, pairs, strict=True)]
    assert any(right)
    for example, gold, good in zip(translated.examples, links, right, strict=True):
        assert example.gold == (sorted(gold) if good else None)
        assert 1 <= len(example.n_best) <= 3
        assert example.n_best[0][1] == example.score
    assert counts is not None
    assert [claimed for claimed, *_ in counts.tolist()] == [len(pair.target.split()) for pair in pairs]
    assert [certain for _, certain, *_ in counts.tolist()] == list(map(len, links))
    unknown, none = inspection.translated(model, [(pair.source, None) for pair in pairs])
    assert none is None
    assert inspection.scores(run, unknown) == []
    beyond = Gold(frozenset(), frozenset({(9, 0)}), "gold:1")
    with pytest.raises(UserError, match=r"gold:1:") as raised:
        inspection.translated(model, pairs[:1], [beyond])
    golden(str(raised.value))


def test_a_translation_is_its_reference_in_any_form_of_unicode(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gold links are shown then, and it is not asked why it is not the reference."""
    model = loading.load(run.folder.path)
    translation = replace(model.translate(["one"])[0], text="\u00e9t\u00e9")
    contrasts = list[str | None]()

    def explain(_: object, translations: list[Translation], instead: list[str | None], **more: Any) -> list[None]:
        contrasts.extend(instead)
        return [None] * len(translations)

    monkeypatch.setattr(type(model), "translate", lambda *_, **more: [translation])
    monkeypatch.setattr(type(model), "explain", explain)
    gold = read_pharaoh("0-0")
    for reference, same in (("e\u0301te\u0301", True), ("\u00e9t\u00e9", True), ("ete", False)):
        translated, _ = inspection.translated(model, [("one", reference)], [gold], explain=True)
        assert translated.examples[0].gold == ([(0, 0)] if same else None)
    assert contrasts == [None, None, "ete"]


@pytest.mark.parametrize("sentinel", [None, np.zeros(2)], ids=["no sentinel", "sentinel"])
def test_an_alignment_is_between_columns_and_words(sentinel: Any) -> None:
    """A source of regions has no columns of its own."""
    text = SourceAttention("en", "a dog", ["a", "dog"], np.eye(2), np.ones(2))
    regions = text._replace(name="img", text="dog.npy", words=["1", "2"], regions=True)
    for sources in ((text,), (text, regions), (regions,), (regions, text)):
        translation = Translation(sources, "un chien", ["un", "chien"], -1.0, -1.0, (), sentinel)
        shown = inspection.example(Result(translation, None), [(0, 0), (1, 1)])
        linked = [(shown.source[source], shown.target[target]) for source, target in sorted(shown.alignment)]
        assert linked == ([("a", "un"), ("dog", "chien")] if sources[0] is text else [])
        assert shown.gold == sorted(shown.alignment)


def test_translations_are_explained_if_asked(run: Run) -> None:
    model = loading.load(run.folder.path)
    translated, _ = inspection.translated(model, [("one two", None), ("", None)], explain=True)
    (maps,) = model.translate(["one two"])[0].explain().sources
    assert {name: np.asarray(values).tolist() for name, values in translated.examples[0].maps.items()} == {
        "gradient": maps.gradient.tolist(),
        "erasure": maps.erasure.tolist(),
    }
    assert translated.examples[1].maps == {}
    plain, _ = inspection.translated(model, [("one two", None)])
    assert (plain.examples[0].maps, plain.examples[0].confidence) == ({}, None)


def test_an_explained_translation_has_its_search_what_is_similar_and_why_it_is_not_the_reference(run: Run) -> None:
    model = loading.load(run.folder.path)
    translated, _ = inspection.translated(model, [("one two", "deux un"), ("one two", "six un")], explain=True)
    right, wrong = translated.examples
    assert (right.target_text, wrong.target_text) == ("deux un", "deux un")
    assert right.contrast == []
    n_best = 1 + len(wrong.n_best[1:])
    explanation = model.translate(["one two"], n_best=n_best)[0].explain("six un", nearest=3)
    assert wrong.contrast == explanation.differences()
    assert [row[0] for row in wrong.contrast] == ["instead", "deux / six", "in all"]
    assert wrong.nearest == explanation.nearest
    assert len(wrong.nearest) == 3
    assert wrong.beam == explanation.beam
    assert len(wrong.beam) > 5


def test_without_its_training_data_a_run_explains_without_what_is_similar(run: Run) -> None:
    model = loading.load(run.folder.path)

    def gone(texts: Sequence[str], count: int) -> Any:
        raise UserError("train.en does not exist")

    model.similar = gone
    (example,) = inspection.translated(model, [("one two", None)], explain=True)[0].examples
    assert example.nearest == ()
    assert "erasure" in example.maps


def test_all_translations_are_explained_together_and_each_is_searched_once_more_for_its_tree(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, done = loading.load(run.folder.path), list[str]()
    generate = model.generator.generate

    def searching(*arguments: Any) -> Any:
        done.append("search")
        return generate(*arguments)

    def explaining(generator: Any, pairs: Sequence[Any]) -> Any:
        done.append(f"explain {len(pairs)}")
        return explained(generator, pairs)

    monkeypatch.setattr(model.generator, "generate", searching)
    monkeypatch.setattr(origin, "explained", explaining)
    pairs = [*((source, None) for source, _ in toy.pairs(12, 5)), ("", None)]
    inspection.translated(model, pairs, explain=True)
    assert done == ["search", "explain 12", *["search"] * 12]


def test_confidence_is_shown_where_a_run_is_calibrated(run: Run) -> None:
    model = loading.load(run.folder.path)
    model.processor.transforms += (ConfidenceCalibration(2.0),)
    translated, _ = inspection.translated(model, [("one two", None)])
    sure = model.translate(["one two"])[0].confidence
    assert sure is not None
    assert translated.examples[0].confidence == sure.words.tolist()


def test_agreement_is_that_of_forced_decoding(run: Run) -> None:
    model = loading.load(run.folder.path)
    for line, rate in (("0-2 1-1 2-0", 0.0), ("0-0 1-2 2-1", 1.0)):
        score = inspection.agreement(model, ["one two three"], ["trois deux un"], [read_pharaoh(line)])
        assert score.error_rate == rate


def test_translated_sentences_read_as_they_were_written(run: Run) -> None:
    translated, _ = inspection.translated(loading.load(run.folder.path), [("One,  two.", None)])
    assert translated.examples[0].texts == [("en", "One,  two.")]
    assert [translated.examples[0].target_text] == translated.texts
    assert translated.examples[0].source == ["One", ",", "two", "."]


def test_development_sentences_read_as_they_were_written(run: Run, tmp_path: Path, golden: Golden) -> None:
    texts = (run.folder.path.parent / "dev.en").read_text(encoding="utf-8").splitlines()
    assert [sentence.texts for sentence in inspection.development(run)[0].examples] == [
        [("en", text)] for text in texts
    ]
    shutil.copytree(run.folder.path, tmp_path / "run")
    other = Run.load(tmp_path / "run")
    first, *_ = map(json.loads, other.folder.validation.read_text(encoding="utf-8").splitlines())
    row = {**first, "text": "Deux, un.", "sources": [{**first["sources"][0], "text": "One, two."}]}
    other.folder.validation.write_text(json.dumps(row) + "\n", encoding="utf-8")
    (shown,) = inspection.development(other)[0].examples
    assert (shown.texts, shown.target_text) == ([("en", "One, two.")], "Deux, un.")
    del row["text"]
    other.folder.validation.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"validation\.jsonl:1: text: ") as raised:
        inspection.development(other)
    golden(str(raised.value))


def test_a_run_that_is_under_way_shows_what_it_has(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.folder.path, tmp_path / "run")
    begun = Run.load(tmp_path / "run")
    begun.folder.validation.unlink()
    lines = begun.folder.metrics.read_text(encoding="utf-8").splitlines()
    begun.folder.metrics.write_text("\n".join([*lines[:-1], lines[-1][:20]]), encoding="utf-8")
    sentences, more = inspection.development(begun)
    assert inspection.scores(begun, sentences, more) == []
    assert sentences.examples == []

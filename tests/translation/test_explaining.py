"""Explanations of translations, beside plain scores of shortened sentences and gradients of symbols."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

import dragoman
from dragoman import Result
from dragoman.errors import UserError
from dragoman.model.saliency import compute_saliency
from dragoman.training import session
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.attribution import attribution as explaining
from dragoman.translation.explanation.explanation import METHODS, Explanation
from dragoman.translation.explanation.source_maps import SourceMaps
from dragoman.translation.transforms.confidence import ConfidenceCalibration
from dragoman.translation.translator import Translator
from tests import toy
from tests.forms import results
from tests.golden import Golden

ONE_STEP = {"training.epochs": None, "training.steps": 1}
TEXT = "one two three"
OTHERS: dict[str, dict[str, Any]] = {
    "subwords": {**toy.SUBWORDS, **ONE_STEP},
    "characters": {"text.source.tokenizer": "character", "text.target.tokenizer": "character", **ONE_STEP},
    "hard": {
        "model.attention": {"score": "additive", "normalizer": "hard"},
        "training.objective": "reinforce",
        **ONE_STEP,
    },
    "copies": {"model.output": "pointer_generator", **ONE_STEP},
    "no attention": {"model.attention.score": "none", **ONE_STEP},
}


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return dragoman.load(toy.trained(tmp_path_factory.getbasetemp()))


@pytest.fixture(scope="module")
def other_translators(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Translator]:
    """Translators that have learned nothing, of other kinds: in float64, so that sums are exact."""
    folder = tmp_path_factory.mktemp("others")
    corpus = toy.corpus(folder / "corpus")
    translators = {
        name: dragoman.load(session.train(toy.config(corpus, folder / name, options), quiet=True).path)
        for name, options in OTHERS.items()
    }
    for translation in translators.values():
        translation.model.double()
    return translators


def log_probs(translator: Translator, source: str, target: str) -> Any:
    """log P of each word of a given target, by `Translator.score`."""
    (scored,) = translator.score([source], [target])
    return scored.translation.log_probs


def lost(translator: Translator, words: list[str], target: str) -> Any:
    """What log P of each target word loses when the sentence is scored again without each source word."""
    shorter = [" ".join(words[:place] + words[place + 1 :]) for place in range(len(words))]
    whole = log_probs(translator, " ".join(words), target)
    return np.stack([whole - log_probs(translator, shortened, target) for shortened in shorter], 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["learned", *OTHERS])
def test_erasure_is_what_scoring_the_shortened_sentence_loses(
    name: str, translator: Translator, other_translators: dict[str, Translator]
) -> None:
    which = translator if name == "learned" else other_translators[name]
    (scored,) = which.score([TEXT], ["trois un"])
    (maps,) = scored.translation.explain().sources
    np.testing.assert_allclose(maps.erasure, lost(which, TEXT.split(), "trois un"), atol=1e-4)
    assert maps.erasure_share is None
    assert maps.erasure.shape == maps.gradient.shape == (2, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["learned", *OTHERS])
def test_gradients_are_summed_over_the_symbols_of_words(
    name: str, translator: Translator, other_translators: dict[str, Translator]
) -> None:
    which = translator if name == "learned" else other_translators[name]
    (scored,) = which.score([TEXT], ["trois un"])
    (maps,) = scored.translation.explain().sources
    (batch,) = which.pairs([TEXT], ["trois un"])
    (symbols,) = compute_saliency(which.model, which.model.source_encoders, batch).maps
    source = which.source.text.words(which.source.text.encode(TEXT)).word_of
    steps = [step.word for step in scored.steps]
    for t in range(2):
        rows = [row for row, word in enumerate(steps) if word == t]
        assert maps.gradient_share[t] == pytest.approx(symbols[0, rows].sum().item(), abs=1e-5)
        for s in range(3):
            columns = [column for column, word in enumerate(source) if word == s]
            expected = symbols[0][rows][:, columns].sum().item()
            assert maps.gradient[t, s] == pytest.approx(expected, abs=1e-5)


def test_the_only_word_of_a_text_becomes_unknown(translator: Translator) -> None:
    (scored,) = translator.score(["six"], ["six"])
    (maps,) = scored.translation.explain().sources
    expected = log_probs(translator, "six", "six") - log_probs(translator, "qqq", "six")
    np.testing.assert_allclose(maps.erasure[:, 0], expected, atol=1e-5)


@pytest.mark.slow
def test_of_what_is_edited_words_become_unknown(tmp_path: Path) -> None:
    """In their places, since operations count them."""
    folder = toy.corpus(tmp_path)
    for part in ("train", "dev"):
        lines = (folder / f"{part}.fr").read_text("utf-8").splitlines()
        (folder / f"{part}.mt").write_text("".join(f"six {line}\n" for line in lines), "utf-8")
    words = {"pretokenizer": "whitespace", "tokenizer": "word"}
    text = {"shared_vocabulary": True, "source": words, "target": words}
    options = {"data.source": "mt", "data.edits": "mt", "text": text, **ONE_STEP}
    editor = dragoman.load(session.train(toy.config(folder, folder / "run", options), quiet=True).path)
    (scored,) = editor.score(["six un deux"], ["un trois"])
    (maps,) = scored.translation.explain().sources
    for place, erased in enumerate(("zzz un deux", "six zzz deux", "six un zzz")):
        batch = next(iter(editor.pairs(["six un deux"], ["un trois"])))
        (other,) = editor.processor.model_inputs.batch([[[*erased.split()]]])
        with torch.no_grad():
            log_probs = [
                editor.model.score(translation).log_probs[0]
                for translation in (batch, batch._replace(sources=(other,)))
            ]
        lost = (log_probs[0] - log_probs[1]).tolist()
        expected = [sum(lost[row] for row, step in enumerate(scored.steps) if step.word == word) for word in range(2)]
        np.testing.assert_allclose(maps.erasure[:, place], expected, atol=1e-5)


def test_a_contrast_is_the_difference_of_two_maps(translator: Translator) -> None:
    one, other = (
        translation.translation for translation in translator.score([TEXT] * 2, ["trois deux un", "trois cinq un"])
    )
    contrast = one.explain(other.text).contrast
    assert contrast is not None
    assert contrast.text == other.text
    assert contrast.difference == pytest.approx(one.log_prob - other.log_prob)
    (mine,), (theirs,) = one.explain().sources, other.explain().sources
    (place,) = contrast.places
    assert (place.words, place.other) == ((1, 2), (1, 2))
    assert place.difference == pytest.approx(one.log_probs[1] - other.log_probs[1])
    (there,) = place.sources
    np.testing.assert_allclose(there.gradient, mine.gradient[1] - theirs.gradient[1], atol=1e-5)
    np.testing.assert_allclose(there.erasure, mine.erasure[1] - theirs.erasure[1], atol=1e-5)
    np.testing.assert_allclose(there.attention, one.attention[1] - other.attention[1], atol=1e-5)
    (whole,) = contrast.sources
    expected = [
        (contrast.difference - (a.log_prob - b.log_prob))
        for text in ("two three", "one three", "one two")
        for a, b in [translator.score([text] * 2, [one.text, other.text])]
    ]
    np.testing.assert_allclose(whole.erasure, expected, atol=1e-4)
    np.testing.assert_allclose(whole.attention, (one.attention - other.attention).sum(0), atol=1e-5)
    (back,) = other.explain(one.text).contrast.sources
    np.testing.assert_allclose(back.gradient, -whole.gradient, atol=1e-5)


@pytest.mark.parametrize(("source", "target"), [("three two one two", "un deux"), ("three two one", "un six")])
def test_an_explanation_goes_into_no_translation_of_other_words(
    translator: Translator, source: str, target: str
) -> None:
    """Those of the source, or those of the target."""
    (scored, other) = translator.score(["three two one", source], ["un deux", target])
    with pytest.raises(UserError, match="the explanation has other words than the translation"):
        Result(replace(scored.translation, explanation=other.translation.explain())).line()


@pytest.mark.slow
def test_a_contrast_that_lacks_a_protected_span(tmp_path: Path) -> None:
    """The span is one word of the source all the same."""
    folder = toy.corpus(tmp_path)
    options = {"text.protect": ["placeholders"], **ONE_STEP}
    translator = dragoman.load(session.train(toy.config(folder, folder / "run", options), quiet=True).path)
    (translation,) = translator.translate(["one {name} two"])
    for other in ("un", "un {name}", translation.text):
        explanation = translation.explain(other)
        assert explanation.attended[0].words == ["one", "{name}", "two"]
        assert explanation.contrast is not None
        assert explanation.contrast.text == other
        assert explanation.contrast.sources[0].erasure.shape == (3,)


def test_a_contrast_of_other_lengths_and_of_nothing(translator: Translator) -> None:
    (one,) = translator.translate([TEXT])
    longer = one.explain("trois quatre deux un six").contrast
    assert longer is not None
    assert [(place.words, place.other) for place in longer.places] == [((1, 1), (1, 2)), ((3, 3), (4, 5))]
    assert "– / quatre" in str(one.explain("trois quatre deux un six"))
    same = one.explain(one.text).contrast
    assert same is not None
    assert not same.places
    assert same.difference == pytest.approx(0, abs=1e-6)
    assert one.explain("").contrast is not None


def test_the_end_counts_in_the_sum_over_all_steps(translator: Translator) -> None:
    """The whole gradient of a translation less that of the empty one, whose only step is the end."""
    (one, nothing) = (translation.translation for translation in translator.score([TEXT] * 2, ["trois deux un", ""]))
    contrast = one.explain("").contrast
    assert contrast is not None
    batches = [next(iter(translator.pairs([TEXT], [translation.text]))) for translation in (one, nothing)]
    maps = [
        compute_saliency(translator.model, translator.model.source_encoders, batch).maps[0][0].sum(0)
        for batch in batches
    ]
    np.testing.assert_allclose(contrast.sources[0].gradient, (maps[0] - maps[1])[:-1].tolist(), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("together", [5, 256])
def test_many_at_once_are_explained_as_each_alone(
    translator: Translator, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explaining, "PAIRS", together)
    texts = [source for source, _ in toy.pairs(12, 5)]
    translations = translator.translate(texts)
    explanations = translator.explain(translations, [None, "six", *[None] * 10])
    assert [translation.contrast is None for translation in explanations] == [True, False, *[True] * 10]
    for translation, explanation in zip(translations, explanations, strict=True):
        assert explanation.words == translation.words
        (alone,) = translation.explain().sources
        np.testing.assert_allclose(explanation.sources[0].gradient, alone.gradient, atol=1e-5)
        np.testing.assert_allclose(explanation.sources[0].erasure, alone.erasure, atol=1e-4)


def test_the_tree_ends_in_the_n_best_list(translator: Translator) -> None:
    (translation,) = translator.translate([TEXT], n_best=3)
    tree = translation.explain().beam
    finished = [node for node in tree if node.fate == "finished"]
    assert [node.score for node in finished][:3] == pytest.approx(
        [alternative.score for alternative in translation.n_best]
    )
    for node, alternative in zip(finished, translation.n_best, strict=False):
        text, parent = "", node.parent
        while parent is not None:
            text, parent = tree[parent].text + text, tree[parent].parent
        assert text.strip() == alternative.text
        assert node.symbol == "</s>"
    assert translation.alternatives[0].explain().words == translation.alternatives[0].words
    (scored,) = translator.score([TEXT], ["un"])
    assert scored.translation.explain().beam == ()


def test_the_search_is_done_again_once_and_only_for_the_tree(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate, searches = translator.generator.generate, list[int]()

    def searching(task: Any, sentences: Sequence[Any]) -> Any:
        searches.append(len(sentences))
        return generate(task, sentences)

    monkeypatch.setattr(translator.generator, "generate", searching)
    first, second = translator.explain(translator.translate([TEXT, "four five"]))
    assert searches == [2]
    assert first.beam is first.beam
    assert searches == [2, 1]
    assert second.beam != first.beam
    assert searches == [2, 1, 1]


def test_a_blank_text_has_an_empty_explanation(translator: Translator) -> None:
    (translation,) = translator.translate([" "])
    explanation = translation.explain()
    assert explanation.words == []
    assert explanation.sources[0].gradient.shape == (0, 0)
    assert str(explanation)
    (back,) = results([Result(replace(translation, explanation=explanation)).line()])
    assert back.translation.explanation is not None


def test_a_translation_from_a_file_has_no_model(translator: Translator, golden: Golden) -> None:
    (translation,) = translator.translate([TEXT])
    back = Result.from_line(Result(translation).line()).translation
    for attempt in (back.explain, lambda: translator.explain([back])):
        with pytest.raises(UserError) as refused:
            attempt()
        golden(str(refused.value))


def test_translations_may_come_one_by_one(translator: Translator) -> None:
    translations = translator.translate([TEXT, "one two"])
    assert [translation.text for translation in translator.explain(iter(translations))] == [
        translation.text for translation in translations
    ]


def test_it_prints_itself(translator: Translator) -> None:
    (translation,) = translator.translate([TEXT])
    explanation = translation.explain("trois cinq un", nearest=2)
    shown = str(explanation)
    for text in (*translation.words, *METHODS, "and not: trois cinq un", "deux / cinq", "in all", "search:", "similar"):
        assert text in shown, text
    console = Console(width=100, color_system=None)
    with console.capture() as printed:
        console.print(explanation)
    assert "and not" in printed.get()
    assert explanation._repr_html_().count("<svg") == 3
    assert repr(explanation) == "Explanation('trois deux un', source='one two three')"


def test_nothing_is_lost_in_json(translator: Translator) -> None:
    (translation,) = translator.translate([TEXT])
    explained = replace(translation, explanation=translation.explain("trois cinq un", nearest=2))
    (back,) = results([Result(explained).line()])
    explanation = back.translation.explanation
    assert isinstance(explanation, Explanation)
    assert explanation.json() == explained.explanation.json() == json.loads(Result(explained).line())["explanation"]
    assert explanation.nearest[0].source == explained.explanation.nearest[0].source
    assert len(explanation.nearest) == 2
    assert str(explanation).splitlines()[0] == str(explained.explanation).splitlines()[0]


@pytest.mark.slow
def test_confidence_is_calibrated_where_the_run_is(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what was searched for and of the same if it is given, in a terminal and after reading."""
    monkeypatch.setattr(
        translator.processor, "transforms", (*translator.processor.transforms, ConfidenceCalibration(1.7))
    )
    (translation,) = translator.translate([TEXT])
    (scored,) = translator.score([TEXT], [translation.text], confidence=True)
    sure = [calibrated.calibrated for calibrated in translation.steps]
    assert None not in sure
    assert [calibrated.calibrated for calibrated in scored.steps] == pytest.approx(sure, abs=1e-4)
    for calibrated in (translation, scored.translation):
        explanation = calibrated.explain()
        assert calibrated.confidence is not None
        assert explanation.confidence is not None
        assert (
            explanation.confidence.tolist()
            == calibrated.confidence.words.tolist()
            != np.exp(calibrated.log_probs).tolist()
        )
        heading, *rows = str(explanation).splitlines()
        assert heading.split()[:3] == ["word", "confidence", "attention"]
        assert [row.split()[1] for row in rows[:3]] == [f"{word:.2f}" for word in calibrated.confidence.words]
        (back,) = results([Result(replace(calibrated, explanation=explanation)).line()])
        assert back.translation.explanation is not None
        assert back.translation.explanation.confidence == pytest.approx(calibrated.confidence.words, abs=1e-5)
    (plain,) = translator.score([TEXT], [translation.text])
    assert plain.translation.explain().confidence is None
    assert str(plain.translation.explain()).splitlines()[0].split()[:2] == ["word", "p"]


@pytest.mark.parametrize("name", OTHERS)
def test_at_temperature_1_confidence_is_the_probability(
    name: str, other_translators: dict[str, Translator], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        other_translators[name].processor,
        "transforms",
        (*other_translators[name].processor.transforms, ConfidenceCalibration(1.0)),
    )
    for translation in other_translators[name].score(
        ["one two three", "six", ""], ["deux un", "trois deux un", "un"], confidence=True
    ):
        assert [step.calibrated for step in translation.steps] == pytest.approx(
            [step.log_prob for step in translation.steps]
        )
        assert "normalizer" not in translation.steps[0].statistics


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("sources", 0, "gradient"), [[0.0]]),
        (("sources", 0, "erasure", 0), [0.0]),
        (("sources", 0, "gradient_share"), [0.0]),
        (("sources",), []),
        (("contrast", "sources", 0, "attention"), [0.0]),
        (("contrast", "places", 0, "words"), [1, 9]),
        (("contrast", "places", 0, "other"), [2, 1]),
        (("beam", 0, "parent"), 0),
        (("beam", 0, "fate"), "lost"),
        (("nearest", 0, "score"), 2.0),
    ],
    ids=str,
)
def test_what_is_no_explanation_is_told(
    keys: tuple[Any, ...], value: object, translator: Translator, golden: Golden
) -> None:
    (translation,) = translator.translate([TEXT])
    line = Result(replace(translation, explanation=translation.explain("trois cinq un", nearest=1))).json()
    *before, last = keys
    place = line["explanation"]
    for key in before:
        place = place[key]
    place[last] = value
    with pytest.raises(UserError) as refused:
        Result.from_json(line)
    golden(str(refused.value))


def test_similar_pairs_are_those_of_the_training_data(translator: Translator, tmp_path: Path) -> None:
    (translation,) = translator.translate([TEXT])
    near = translation.explain(nearest=3).nearest
    assert len(near) == 3
    assert [match.score for match in near] == sorted((match.score for match in near), reverse=True)
    pairs = {(source, target) for source, target in toy.pairs(2000, 1)}
    assert all(
        " ".join(toy.WORDS[word] for word in reversed(match.source.split())) == match.translation for match in near
    )
    assert pairs


def test_each_of_several_sources_has_its_share_before_its_words() -> None:
    """By erasure it is 0 of the source that the model cannot do without."""
    weights = np.arange(4.0).reshape(2, 2)
    seen = tuple(SourceAttention(name, "a b", ["a", "b"], weights, weights.sum(1)) for name in ("en", "de"))
    whole, part = (SourceMaps(source.name, weights + 4, weights + 8, weights[0]) for source in seen)
    explanation = Explanation(
        "x y", ["x", "y"], np.zeros(2), seen, None, (whole, part._replace(erasure_share=weights[1]))
    )
    matrix = explanation.matrix("erasure")
    assert matrix.shares == [0, 3]
    assert matrix.attention.tolist() == [[0, 8, 9, 2, 8, 9], [0, 10, 11, 3, 10, 11]]
    assert explanation.matrix("gradient").attention.tolist() == [[0, 4, 5, 0, 4, 5], [1, 6, 7, 1, 6, 7]]


@pytest.mark.slow
def test_similar_pairs_of_several_sources_come_from_a_table_without_a_header(tmp_path: Path) -> None:
    folder = toy.corpus(tmp_path)
    rows = [f"{source}\t{number}\t{target}" for number, (source, target) in enumerate(toy.pairs(40, 3))]
    for part in ("train", "dev"):
        (folder / f"{part}.tsv").write_text("\n".join(rows), "utf-8")
    files = {"data.train": str(folder / "train.tsv"), "data.dev": str(folder / "dev.tsv")}
    options = {**ONE_STEP, **files, "data.source": ["en", "digits"], "model.combination": "hierarchical"}
    translator = dragoman.load(session.train(toy.config(folder, folder / "run", options), quiet=True).path)
    source, target = toy.pairs(40, 3)[0]
    (translation,) = translator.explain(translator.translate([(source, "0")]), nearest=1)
    assert [(match.source, match.translation, match.score) for match in translation.nearest] == [(source, target, 1)]

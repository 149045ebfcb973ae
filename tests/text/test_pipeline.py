"""Text to symbols and back, and the words that symbols belong to."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.configuration.components import Spec
from dragoman.data.language import Language
from dragoman.data.vocabulary import Vocabulary
from dragoman.errors import UserError
from dragoman.text.pipeline import TextPipeline
from dragoman.text.words import TOKENIZERS
from dragoman.translation.output_text import ModelOutputs
from tests.golden import Golden

LINES = ["the cat isn't here, l'homme", "cats and dogs."] * 8
LEARNED = [kind for kind, tokenizer in TOKENIZERS.items() if tokenizer.learns]
OPTIONS = {"bpe": {"vocab_size": 290}, "unigram": {"vocab_size": 276}}


def pipeline(kind: str, *, lowercase: bool = False, pretokenizer: str = "punctuation") -> TextPipeline:
    learned = TextPipeline(lowercase=lowercase, pretokenizer=pretokenizer, tokenizer=Spec(kind, OPTIONS.get(kind, {})))
    learned.tokenizer.fit([learned.normalize(line) for line in LINES], seed=1)
    return learned


PIPELINES = {kind: pipeline(kind) for kind in LEARNED}


@pytest.mark.parametrize("kind", LEARNED)
def test_text_is_normalized_before_it_is_cut(kind: str) -> None:
    text_pipeline = pipeline(kind, lowercase=True)
    assert text_pipeline.encode("The\u2028CAT") == text_pipeline.encode("the cat")
    assert text_pipeline.decode(text_pipeline.encode("The\u2028CAT  e\u0301")) == "the cat  \u00e9"


@pytest.mark.parametrize("kind", LEARNED)
def test_a_saved_pipeline_is_the_same(kind: str, tmp_path: Path) -> None:
    text_pipeline = pipeline(kind, lowercase=True, pretokenizer="whitespace")
    text_pipeline.save(tmp_path, "source")
    loaded = TextPipeline.load(tmp_path, "source")
    assert loaded.spec == text_pipeline.spec
    for line in [*LINES, "Unseen: ☃ \u2581"]:
        assert loaded.encode(line) == text_pipeline.encode(line)
        assert loaded.words(loaded.encode(line)) == text_pipeline.words(text_pipeline.encode(line))


def test_damaged_files_are_told(tmp_path: Path, golden: Golden) -> None:
    pipeline("word").save(tmp_path, "source")
    description = tmp_path / "source.json"
    for text in (
        "",
        "{",
        "[]",
        '{"lowercase": true}',
        json.dumps({"lowercase": 1, "pretokenizer": "x", "tokenizer": "word"}),
    ):
        description.write_text(text)
        with pytest.raises(UserError, match=r"source\.json:") as raised:
            TextPipeline.load(tmp_path, "source")
        golden(str(raised.value))
    with pytest.raises(UserError, match=r"target\.json:") as raised:
        TextPipeline.load(tmp_path, "target")
    golden(str(raised.value))


@pytest.mark.parametrize("kind", LEARNED)
def test_symbols_find_their_words(kind: str) -> None:
    text_pipeline = PIPELINES[kind]
    symbols = text_pipeline.encode("the cat isn't here, l'homme")
    words, word_of, _ = text_pipeline.words(symbols)
    assert words == ["the", "cat", "isn't", "here", ",", "l'", "homme"]
    assert word_of == sorted(word_of)
    assert set(word_of) == set(range(7))
    for number, word in enumerate(words):
        own = [symbol for symbol, index in zip(symbols, word_of, strict=True) if index == number]
        assert text_pipeline.decode(own).strip() == word


@pytest.mark.parametrize(
    ("symbols", "words", "word_of"),
    [
        ([], [], []),
        (["\u2581"], [""], [0]),
        (["\u2581cat", "\u2581"], ["cat"], [0, 0]),
        (["\u2581", "\u2581", "cat"], ["cat"], [0, 0, 0]),
        (["\u2581a", "b", "\u2581", "c"], ["ab", "c"], [0, 0, 1, 1]),
        (["\u2581a", "b\u2581cd"], ["ab", "cd"], [0, 1]),  # shares two characters with `cd`, one with `ab`
        (["\u2581ab\u2581cd"], ["ab", "cd"], [0]),
        (["\u2581a", "<0xE2>", "<0x98>", "<0x83>", "\u2581b"], ["a", "☃", "b"], [0, 1, 1, 1, 2]),
        (["\u2581a", "\u2581", "<unk>", "\u2581b"], ["a", "<unk>", "b"], [0, 1, 1, 2]),
        (["\u2581a", "<unk>"], ["a<unk>"], [0, 0]),
        (["\u2581a", "."], ["a", "."], [0, 1]),
    ],
)
def test_words_of_subwords(symbols: list[str], words: list[str], word_of: list[int]) -> None:
    assert PIPELINES["bpe"].words(symbols)[:2] == (words, word_of)


def test_words_of_scripts_without_spaces_are_symbols() -> None:
    """Not within syllables, and only where a pretokenizer guesses words."""
    text = "他吃ab苹，กินน้ำแล้ว きょう c'd"
    text_pipeline, whole = PIPELINES["character"], ["他吃ab苹", "，", "กินน้ำแล้ว", "きょう", "c'", "d"]
    words, word_of, _ = text_pipeline.words(list(text))
    assert words == ["他", "吃", "ab", "苹", "，", "กิ", "น", "น้ำ", "แล้", "ว", "きょ", "う", "c'", "d"]
    assert text_pipeline.words(list(text), divided=False).words == whole
    assert text_pipeline.words(["他", "吃ab", "苹，กิ", "น"]).words == ["他", "吃ab", "苹", "，", "กิ", "น"]
    assert pipeline("character", pretokenizer="whitespace").words(list("他吃 苹 ab")).words == ["他吃", "苹", "ab"]
    assert word_of == sorted(word_of)


@pytest.mark.parametrize("kind", LEARNED)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_every_symbol_has_a_word_and_order_is_kept(kind: str, text: str) -> None:
    text_pipeline = PIPELINES[kind]
    symbols = text_pipeline.encode(text)
    words, word_of, _ = text_pipeline.words(symbols)
    assert len(word_of) == len(symbols)
    assert word_of == sorted(word_of)
    assert not word_of or 0 <= word_of[0] <= word_of[-1] < len(words)


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("cinq l'", ["cinq", "l'\uffed"]),
        ("l\u2019", ["l\u2019\uffed"]),
        ("don'", None),
        ("les enfants'", None),
        ("yes '", None),
        ("l' ", None),
        ("l", None),
        ("", None),
    ],
)
def test_an_elided_word_may_end_a_beginning(text: str, symbols: list[str] | None) -> None:
    assert PIPELINES["word"].elided(text) == symbols
    assert PIPELINES["character"].elided(text) is None
    assert pipeline("word", pretokenizer="whitespace").elided(text) is None


def test_the_beginning_of_a_translation_has_the_words_that_the_model_knows() -> None:
    outputs = ModelOutputs(Language("fr", PIPELINES["word"], Vocabulary(PIPELINES["word"].tokenizer.inventory)))
    assert outputs.encode_prefix([], "cats l'") == ["cats", "l'\uffed"]
    quoted = PIPELINES["word"].encode("cats 'un'")  # which ends in no elided word of the vocabulary
    assert outputs.encode_prefix([], "cats 'un'") == quoted
    vocabulary = outputs.target.vocabulary
    assert outputs.prefix([], "l'", forbidden=()) == vocabulary.ids(["l'\uffed"])

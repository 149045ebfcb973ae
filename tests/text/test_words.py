"""Units of text: lossless, deterministic, with nothing that a user's text could be mistaken for."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from dragoman.configuration.components import Spec, build
from dragoman.errors import UserError
from dragoman.text import subword
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import whitespace
from dragoman.text.subword import Bpe, Unigram
from dragoman.text.tokenizer import MARKS, Tokenizer
from dragoman.text.words import GLUE, TOKENIZERS, Characters, Words
from tests.golden import Golden

LINES = [
    "the cat sat on the mat .",
    "the dog isn't here, the cat's there!",
    "l'homme et d'autres hommes",
    'she said: "1,000 well-known cats"  twice',
    "日本語の文 and ☃",
    "<unk> <s> </s> <pad> <0xE2> \u2581 \uffed \ue000",
] * 8
SPECS = {
    "word": Spec("word"),
    "character": Spec("character"),
    "bpe": Spec("bpe", {"vocab_size": 340, "dropout": 0.3}),
    "unigram": Spec("unigram", {"vocab_size": 310, "alpha": 0.3}),
}
LEARNED = [kind for kind, tokenizer in TOKENIZERS.items() if tokenizer.learns]
FITTED: dict[str, Tokenizer] = {}
TEXTS = st.text(st.characters(exclude_categories=["Cs"])).map(Normalizer(lowercase=False))


def fitted(kind: str) -> Tokenizer:
    if kind not in FITTED:
        FITTED[kind] = build(TOKENIZERS, SPECS[kind])
        FITTED[kind].fit(LINES, seed=1)
    return FITTED[kind]


def test_every_unit_is_tested() -> None:
    assert list(SPECS) == LEARNED


@pytest.mark.parametrize("kind", LEARNED)
@given(text=TEXTS)
@example(text=" ")
@example(text="  two  spaces  ")
@example(text="\u2581\uffed\ue000\ue001\ue002\ue003\ue000")
@example(text="<unk><s></s><pad><0xE2><0x98><0x83>☃")
@example(text="l' homme l'homme \u00a0, ,")
def test_decoding_restores_every_text(kind: str, text: str) -> None:
    unit = fitted(kind)
    assert unit.decode(unit.encode(text)) == text


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@given(words=st.lists(st.sampled_from(["the", "cat", "☃", ".", "", ""])), begin=st.integers(0, 9))
def test_a_space_alone_and_that_of_the_next_word_are_one(kind: str, words: list[str], begin: int) -> None:
    unit, text = fitted(kind), " ".join(words)
    symbols = unit.encode(text)
    assert unit.decode(unit.single_spaced(symbols)) == re.sub(" +", " ", f" {text}")[1:]
    kept = unit.single_spaced(symbols, begin)
    assert kept[:begin] == symbols[:begin]
    assert unit.decode(kept).split() == text.split()


@pytest.mark.parametrize("kind", LEARNED)
@pytest.mark.parametrize("text", ["the cat sat on", "she said: hommes, twice", "and ☃"])
def test_what_a_symbol_spells_is_cut_as_it_was_in_the_text(kind: str, text: str) -> None:
    unit = fitted(kind)
    _, *symbols = unit.encode(text)
    pieces = list(map(unit.piece, symbols))
    assert text.endswith("".join(pieces))
    assert list(map(unit.segments, pieces)) == [[symbol] for symbol in symbols]


@pytest.mark.slow
@pytest.mark.parametrize("kind", LEARNED)
@given(texts=st.lists(TEXTS | st.sampled_from(LINES)))
@example(texts=["", " ", "", "  two  spaces  ", "a", "a", ""])
def test_many_texts_at_once_have_the_symbols_that_each_has_alone(kind: str, texts: list[str]) -> None:
    unit = fitted(kind)
    symbols, lengths = unit.numbers(texts)
    rows = [row.tolist() for row in np.split(symbols, np.cumsum(lengths)[:-1])] if texts else []
    number_of = {symbol: number for number, symbol in enumerate(unit.inventory, start=1)}
    assert rows == [[number_of.get(symbol, 0) for symbol in unit.encode(text)] for text in texts]


def test_what_is_kept_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = fitted("bpe")
    assert isinstance(unit, Bpe)
    monkeypatch.setattr(subword, "CACHED", 20)
    for number in range(30):
        texts = [f"{number} cats sat", f"{number} mats"]
        assert unit.numbers(texts)[1].tolist() == [len(unit.encode(text)) for text in texts]
        assert len(unit._cut) <= 20 + 3


@pytest.mark.parametrize("unit", [Bpe(vocab_size=300), Unigram(vocab_size=300)])
def test_texts_are_cut_in_as_many_threads_as_torch_has(unit: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    unit.fit(LINES, seed=1)
    seen: list[int] = []
    encode = SentencePieceProcessor.encode

    def spy(processor: SentencePieceProcessor, texts: Any, **options: Any) -> object:
        seen.extend(options.values())
        return encode(processor, texts, **options)

    monkeypatch.setattr(SentencePieceProcessor, "encode", spy)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    unit.numbers(LINES)
    assert seen == [3]


def test_nothing_is_kept_of_words_that_older_symbols_spelled() -> None:
    unit = Bpe(vocab_size=300)
    for lines in (["cats"] * 9, ["sat cat"] * 9):
        unit.vocab_size = 256 + len(set("".join(lines))) + 2
        unit.fit(lines, seed=1)
        assert unit.numbers(["cats sat"])[1].tolist() == [len(unit.encode("cats sat"))]


@pytest.mark.parametrize("kind", LEARNED)
@given(text=TEXTS, seed=st.integers(0, 2**32 - 1))
def test_so_does_decoding_of_samples(kind: str, text: str, seed: int) -> None:
    unit = fitted(kind)
    assert unit.decode(unit.encode(text, seed)) == text


@pytest.mark.slow
@pytest.mark.parametrize("kind", LEARNED)
@given(symbols=st.lists(st.sampled_from(["<unk>", "\u2581", "a", "\u2581a", "<0xE2>", "<0x98>", "\ue000", "\uffed"])))
def test_any_symbols_decode_to_the_sum_of_their_surfaces(kind: str, symbols: list[str]) -> None:
    unit = fitted(kind)
    surfaces = unit.surfaces(symbols)
    assert len(surfaces) == len(symbols)
    assert unit.decode(symbols) == "".join(surfaces)


@pytest.mark.parametrize("kind", LEARNED)
def test_what_was_learned_is_the_same_again_after_saving_and_sharing(kind: str, tmp_path: Path) -> None:
    unit = fitted(kind)
    unit.save(tmp_path / "unit")
    loaded, shared, again = (build(TOKENIZERS, SPECS[kind]) for _ in range(3))
    loaded.load(tmp_path / "unit")
    shared.restore(unit.learned())
    again.fit(LINES, seed=1)
    for other in (loaded, shared, again):
        assert other.inventory == unit.inventory
        assert [other.encode(line) for line in LINES] == [unit.encode(line) for line in LINES]


@pytest.mark.parametrize("kind", LEARNED)
def test_a_damaged_file_is_told(kind: str, tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "unit").write_bytes(b"nonsense\n")
    with pytest.raises(UserError, match="unit:") as raised:
        build(TOKENIZERS, SPECS[kind]).load(tmp_path / "unit")
    golden(str(raised.value))
    with pytest.raises(UserError, match="nowhere:") as raised:
        build(TOKENIZERS, SPECS[kind]).load(tmp_path / "nowhere")
    golden(str(raised.value))


@pytest.mark.parametrize("kind", LEARNED)
@pytest.mark.parametrize("lines", [[], ["", ""]], ids=["no lines", "empty lines"])
def test_an_empty_corpus_is_told(kind: str, lines: list[str], golden: Golden) -> None:
    with pytest.raises(UserError) as raised:
        build(TOKENIZERS, SPECS[kind]).fit(lines, seed=1)
    golden(str(raised.value))


@pytest.mark.parametrize("kind", LEARNED)
def test_inventories_have_no_specials_and_no_repeats(kind: str) -> None:
    inventory = fitted(kind).inventory
    assert len(set(inventory)) == len(inventory)
    if kind != "word":  # where `<unk>` can be a word that the user wrote
        assert not {"<unk>", "<s>", "</s>", "<pad>"} & set(inventory)


@pytest.mark.spec("D10")
def test_bpe_merges_the_most_frequent_pair_first() -> None:
    unit = Bpe(vocab_size=256 + 5 + 2)  # five characters (the space is one) and two merges
    unit.fit(["abcabcabd"] * 3, seed=1)
    assert sorted(set(unit.inventory[256:]) - set("abcd\u2581")) == ["ab", "abc"]
    assert unit.encode("abcabd") == ["\u2581", "abc", "ab", "d"]


@pytest.mark.spec("D11")
def test_characters_are_the_symbols() -> None:
    unit = Characters(minimum_frequency=2)
    unit.fit(["ab a", "ac"], seed=1)
    assert unit.inventory == ["a"]
    assert unit.encode("ab a") == ["a", "b", "\u2581", "a"]


@pytest.mark.spec("D1")
def test_words_beyond_the_size_or_too_rare_are_left_out() -> None:
    lines = ["a a a b b", "c c, d"]
    for options, expected in (
        ({}, ["a", "b", "c", "d", "\uffed,"]),
        ({"vocab_size": 2}, ["a", "b"]),
        ({"minimum_frequency": 2}, ["a", "b", "c"]),
    ):
        unit = build(TOKENIZERS, Spec("word", options))
        unit.fit(lines, seed=1)
        assert unit.inventory == expected


def test_joiners_stand_at_the_punctuation() -> None:
    unit = Words()
    assert unit.encode("l'homme (a/b).") == [
        "l'\uffed",
        "homme",
        "(\uffed",
        "a",
        "\uffed/\uffed",
        "b",
        "\uffed)",
        "\uffed.",
    ]
    assert unit.decode(["the", "<unk>", "\uffed."]) == "the <unk>."
    assert Words(whitespace).encode("l'homme (a/b).") == ["l'homme", "(a/b)."]


@pytest.mark.parametrize("word", ["homme", "का"])
def test_a_word_that_touches_a_protected_span_is_the_same_symbol(word: str) -> None:
    assert Words().encode(f"{word}{MARKS[0]}{word}") == [word, GLUE, MARKS[0], GLUE, word]


@pytest.mark.parametrize("kind", [Bpe, Unigram])
def test_a_size_that_the_corpus_cannot_fill_is_told_with_the_largest(kind: type[Bpe | Unigram], golden: Golden) -> None:
    with pytest.raises(UserError) as caught:
        kind(vocab_size=5000).fit(LINES, seed=1)
    golden(str(caught.value))
    largest = int(str(caught.value).split()[-1])
    unit = kind(vocab_size=largest)
    unit.fit(LINES, seed=1)
    assert len(unit.inventory) == largest
    with pytest.raises(UserError, match=f"at most {largest}$"):
        kind(vocab_size=largest + 1).fit(LINES, seed=1)


@pytest.mark.parametrize("kind", [Bpe, Unigram])
def test_with_too_many_characters_the_rarest_are_left_to_bytes(kind: type[Bpe | Unigram], golden: Golden) -> None:
    frequent = "".join(map(chr, range(0x4E00, 0x4E00 + 30))) * 200
    rare = "".join(map(chr, range(0x5E00, 0x5E00 + 5)))
    unit = kind(vocab_size=256 + 33)
    unit.fit([frequent, rare], seed=1)
    assert set(frequent) <= set(unit.inventory)
    assert not set(rare) <= set(unit.inventory)
    assert unit.decode(unit.encode(frequent + rare)) == frequent + rare
    with pytest.raises(UserError) as caught:
        kind(vocab_size=256).fit(LINES, seed=1)
    golden(str(caught.value))
    kind(vocab_size=int(str(caught.value).split()[-1])).fit(LINES, seed=1)
    with pytest.raises(UserError) as raised:
        kind(vocab_size=256 + 33).fit(iter([frequent, rare]), seed=1)
    golden(str(raised.value))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_sample_depends_on_its_seed_alone(kind: str) -> None:
    unit = fitted(kind)
    numbers = list(range(len(LINES)))
    forwards = {number: unit.encode(LINES[number], number) for number in numbers}
    Random(1).shuffle(numbers)
    shuffled = {number: unit.encode(LINES[number], number) for number in numbers}
    assert shuffled == forwards
    assert len({tuple(unit.encode(LINES[1], seed)) for seed in range(20)}) > 5
    plain = build(TOKENIZERS, Spec(kind, {"vocab_size": 340}))
    plain.restore(unit.learned())
    assert plain.encode(LINES[1], 7) == unit.encode(LINES[1])


@pytest.mark.parametrize("kind", LEARNED)
def test_a_very_long_line_passes(kind: str) -> None:
    line = "cat " * 100_000
    unit = build(TOKENIZERS, SPECS[kind])
    unit.fit([line, *LINES], seed=1)
    assert unit.decode(unit.encode(line)) == line


def test_lines_are_read_as_a_stream() -> None:
    def lines() -> Iterator[str]:
        yield from LINES

    unit = Bpe(vocab_size=340)
    unit.fit(lines(), seed=1)
    assert unit.inventory == fitted("bpe").inventory


def test_of_too_many_lines_a_seeded_sample_is_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    learned = fitted("bpe").learned()

    def recorded(unit: Bpe, lines: Iterable[str], coverage: float, reserved: object) -> bytes:
        read[:] = lines
        return learned

    monkeypatch.setattr(subword, "FITTING_LINES", 100)
    monkeypatch.setattr(Bpe, "_trained", recorded)
    samples = []
    for seed, lines in ((1, 1_000), (1, 1_000), (2, 1_000), (1, 100)):
        Bpe(vocab_size=340).fit([f"line {number}" for number in range(lines)], seed)
        samples.append(list(read))
    assert samples[0] == samples[1]
    assert samples[0] != samples[2]
    assert [len(sample) for sample in samples] == [pytest.approx(100, abs=40)] * 3 + [100]


def test_sentencepiece_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    for kind in ("bpe", "unigram"):
        build(TOKENIZERS, SPECS[kind]).fit(LINES, seed=1)
    assert capfd.readouterr() == ("", "")

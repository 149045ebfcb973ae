"""Words that a vocabulary does not have keep their spelling: from the texts through the store to the ids of a batch."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.configuration.config import TextConfig
from dragoman.configuration.data import DataConfig
from dragoman.data.batch import Batch, TokenBatch
from dragoman.data.dataset import Dataset
from dragoman.data.language import Language
from dragoman.data.surfaces import ExtendedVocabulary, UnknownWordNeeds
from dragoman.data.vocabulary import EOS, UNK, Vocabulary
from dragoman.errors import UserError
from dragoman.text.edits import KEEP, OPERATIONS, operations
from dragoman.text.mark import Mark, Symbol
from tests.golden import Golden

Lines = Sequence[tuple[str, ...]]  # the texts of each example, that of the target last
LINES = [
    ("ann eats", "ann isst"),
    ("bob eats", "bob isst"),
    ("ann sees ann and eve", "eve sieht bob"),
    ("eats", "isst"),
]
FEW: dict[str, Any] = {"kind": "word", "vocab_size": 2}
SIDES: dict[str, dict[str, Any]] = {
    "one source": {},
    "two sources": {"source": ["a", "b"]},
    "joined": {"source": ["a", "b"], "concatenate_sources": True},
    "edits": {"edits": "a"},
}


def prepared(folder: Path, lines: Lines, unit: Any = FEW, *, joint: bool = True, **options: Any) -> Dataset:
    """The examples as a corpus, prepared for a model that asks for surfaces unless told otherwise."""
    rest = {name: options.pop(name) for name in ("surfaces", "source_dropout") if name in options}
    data = {"source": "a", "target": "c", "max_ratio": 100.0, **options}
    names = [*([data["source"]] if isinstance(data["source"], str) else data["source"]), data["target"]]
    for name, texts in zip(names, zip(*lines, strict=True), strict=True):
        (folder / f"train.{name}").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    place = str(folder / "train")
    side = {"tokenizer": unit, "pretokenizer": "whitespace"}
    text = TextConfig.model_validate({"shared_vocabulary": joint, "source": side, "target": side})
    config = DataConfig.model_validate({"train": place, "dev": place, **data})
    return Dataset.prepare(config, text, 1, folder / "run", **{"surfaces": UnknownWordNeeds(True), **rest})


def real(side: Any, part: str) -> list[list[int]]:
    """The real symbols of each sentence."""
    assert isinstance(side, TokenBatch)
    return [row[mask].tolist() for row, mask in zip(getattr(side, part), side.mask, strict=True)]


def directly(target: Vocabulary, sources: Sequence[Sequence[Symbol]], labels: Sequence[Symbol]) -> list[list[int]]:
    """The ids of an example's texts, the target's last: `V + n` for the n-th new word of its sources."""
    vocabulary = {
        known_symbol: number for number, known_symbol in enumerate(target.marked(range(len(target)))) if number > EOS
    }
    own: dict[Symbol, int] = {}
    for symbols in sources:
        for symbol in symbols:
            if symbol not in vocabulary and symbol not in own:
                own[symbol] = len(target) + len(own)
    numbers = {**vocabulary, **own}
    return [[numbers.get(symbol, UNK) for symbol in symbols] for symbols in (*sources, labels)]


symbols = st.lists(
    st.sampled_from(["ann", "bob", "eve", "eats", "l'ä", "<unk>", "</s>", "￭", "▁."]), min_size=1, max_size=4
)
texts = symbols.map(" ".join)


@pytest.mark.slow
@pytest.mark.parametrize("sides", list(SIDES))
@given(st.data(), st.booleans(), st.sampled_from([FEW, {"kind": "character", "minimum_frequency": 3}]))
@settings(max_examples=15)
def test_batches_have_the_ids_that_follow_from_the_texts(sides: str, data: Any, joint: bool, unit: Any) -> None:
    options = SIDES[sides]
    several = len(options.get("source", "a")) > 1
    second = [texts | st.just("")] if several else []
    drawn = data.draw(st.lists(st.tuples(texts, *second, texts), min_size=1, max_size=6))
    lines: Lines = [("ann", *["ann"] * several, "ann"), *drawn]  # no side is empty
    left_out = tuple(["eve " * length for length in (101, 1, 15_000)[-len(lines[0]) :]])  # too long to be kept
    with TemporaryDirectory() as folder:
        written = [lines[0], left_out, *lines[1:]]
        dataset = prepared(Path(folder), written, unit, joint=joint or sides in ("joined", "edits"), **options)
        batch = dataset.batch(np.arange(len(lines)), 0)
    for row, (*given_texts, target) in enumerate(lines):
        read = [dataset.target.text.encode(text) for text in given_texts]
        words = dataset.target.text.encode(target)
        labels: Sequence[Symbol] = operations(read[0], words) if sides == "edits" else words
        *sources, label = directly(dataset.target.vocabulary, read, labels)
        assert real(batch.target, "extended")[row] == [*label, EOS]
        ended = [[*ids, EOS] if text or not several else [] for ids, text in zip(sources, given_texts, strict=True)]
        if sides == "joined":
            ended = [[number for ids in ended for number in ids]]
        assert [real(source, "extended")[row] for source in batch.sources] == ended
        size = len(dataset.target.vocabulary)
        assert real(batch.target, "ids")[row] == [number if number < size else UNK for number in (*label, EOS)]


def written(side: Any, language: Any) -> list[list[str]]:
    """The sentences of a side, words outside the vocabulary by their characters."""
    assert isinstance(side, TokenBatch)
    assert isinstance(language, Language)
    assert side.spelled is not None
    size, (ids, characters) = len(language.vocabulary), side.spelled
    assert (ids >= size).equal(side.ids == UNK)
    own = [language.alphabet.word(numbers[1:]) for numbers in characters.tolist()]
    assert len(set(own)) == len(own)
    symbol_of = [*language.vocabulary.symbols(range(size)), *own]
    return [[symbol_of[number] for number in row[mask].tolist()] for row, mask in zip(ids, side.mask, strict=True)]


@pytest.mark.parametrize("sides", list(SIDES))
def test_batches_have_the_characters_of_unknown_words(sides: str, tmp_path: Path) -> None:
    options = SIDES[sides]
    lines = [(*line[:1], *(["l'ä ann"] if "source" in options else []), *line[1:]) for line in LINES]
    data = prepared(tmp_path, lines, surfaces=UnknownWordNeeds(sources=True, target=True), **options)
    batch = data.batch(np.array([2, 0, 3]), 0)
    several, joined = "source" in options, "concatenate_sources" in options
    spellings = [written(side, language) for side, language in zip(batch.sources, data.sources, strict=False)]
    texts = [[f"{text} </s>".split() for text in column] for column in zip(*(lines[n] for n in (2, 0, 3)), strict=True)]
    *sources, targets = texts
    if joined:
        sources = [[one + other for one, other in zip(*sources, strict=True)]]
    assert spellings == sources
    assert len(spellings) == 1 + (several and not joined)
    if sides != "edits":
        assert written(batch.target, data.target) == targets
    assert batch.target.labels is batch.target.spelled[0] if batch.target.spelled else False
    assert all(part.extended is None for part in (*batch.sources, batch.target) if isinstance(part, TokenBatch))


def test_alphabets_have_the_characters_of_the_corpus_and_are_kept(tmp_path: Path) -> None:
    """Those of all languages with one vocabulary; without surfaces, those of the vocabulary are known."""
    data = prepared(tmp_path, LINES)
    letters = "".join(sorted({letter for line in LINES for text in line for letter in text} - {" "}))
    assert ["".join(language.alphabet.characters) for language in (*data.sources, data.target)] == [letters, letters]
    assert Language.load(tmp_path / "run", "target", "c").alphabet.characters == data.target.alphabet.characters
    apart = prepared(tmp_path, LINES, joint=False)
    assert "".join(apart.target.alphabet.characters) == "".join(sorted({*"annevebobieht", *"isst"}))
    plain = prepared(tmp_path, LINES, surfaces=UnknownWordNeeds())
    assert "".join(plain.target.alphabet.characters) == "abno"


def test_numbers_are_those_of_an_example_worked_by_hand(tmp_path: Path) -> None:
    data = prepared(tmp_path, LINES)
    assert data.target.vocabulary.symbols(range(4, 6)) == ["ann", "bob"]
    batch = data.batch(np.array([2, 1]), 0)
    assert real(batch.sources[0], "extended") == [[4, 6, 4, 7, 8, EOS], [5, 6, EOS]]  # sees, and, eve; eats
    assert real(batch.sources[0], "ids") == [[4, UNK, 4, UNK, UNK, EOS], [5, UNK, EOS]]
    assert real(batch.target, "extended") == [[8, UNK, 5, EOS], [5, UNK, EOS]]
    assert batch.target.labels is batch.target.extended


def test_a_mark_before_a_source_is_none_of_its_words() -> None:
    extended = ExtendedVocabulary(Vocabulary(["ann"]), [[Mark("<de>"), "ann", "<de>"]])
    assert extended.ids([Mark("<de>"), "ann", "<de>"]) == [UNK, 4, 5]
    assert extended.marked([4, 5, 6]) == ["ann", "<de>", "<unk>"]


def test_a_word_that_only_the_source_knows_is_the_sentences_own(tmp_path: Path) -> None:
    data = prepared(tmp_path, LINES, joint=False)
    (source,), target = data.sources, data.target
    assert isinstance(source, Language)
    assert "eats" in source.vocabulary.symbols(range(6))
    batch = data.batch(np.array([0]), 0)
    ids, size = target.vocabulary.ids(["ann", "isst"]), len(target.vocabulary)
    assert UNK in ids
    assert real(batch.sources[0], "extended") == [[ids[0] or size, size + (not ids[0]), EOS]]
    assert real(batch.target, "extended") == [[ids[0] or size, ids[1], EOS]]


def test_nothing_is_kept_where_no_model_asks(tmp_path: Path) -> None:
    """The store has the files that it had, and is made anew for a model that asks."""
    plain = prepared(tmp_path, LINES, surfaces=UnknownWordNeeds())
    assert set(plain.train.columns) == {"source", "target"}
    files = {path.name for path in (tmp_path / "run" / "data").iterdir()}
    assert files == {"header.json", "source.values", "source.offsets", "target.values", "target.offsets"}
    batch = plain.batch(np.arange(4), 0)
    assert [part.extended for part in (*batch.sources, batch.target)] == [None, None]
    batch_with_options = prepared(tmp_path, LINES).batch(np.arange(4), 0)
    for one, other in zip(
        (*batch.sources, batch.target), (*batch_with_options.sources, batch_with_options.target), strict=True
    ):
        assert real(one, "ids") == real(other, "ids")


def test_a_hidden_source_has_no_words(tmp_path: Path) -> None:
    """A word of the target that stands there alone is unknown."""
    lines = [("eats", "eve", "eve")] * 40
    data = prepared(tmp_path, lines, {"kind": "word", "minimum_frequency": 1000}, source=["a", "b"], source_dropout=0.5)
    batch = data.batch(np.arange(40), 0)
    seen = set()
    for read, hidden, labels in zip(*(real(part, "extended") for part in (*batch.sources, batch.target)), strict=True):
        first, second = ([4] if read else []), ([4 + len(read[:1])] if hidden else [])
        assert (read[:-1], hidden[:-1]) == (first, second)
        assert labels == [*(second or [UNK]), EOS]
        seen.add((bool(read), bool(hidden)))
    assert seen == {(True, True), (True, False), (False, True)}


def test_the_mark_of_a_language_is_no_word(tmp_path: Path) -> None:
    for name, lines in {"en": ["ann eats", "bob"], "de": ["ann isst", "bob"]}.items():
        (tmp_path / f"train.{name}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    pair = {"source": "en", "target": "de", "train": str(tmp_path / "train"), "dev": str(tmp_path / "train")}
    config = DataConfig.model_validate({"pairs": [pair, {**pair, "source": "de", "target": "en"}]})
    text = TextConfig.model_validate(
        {"source": {"tokenizer": {**FEW, "vocab_size": 1}}, "target": {"tokenizer": {**FEW, "vocab_size": 1}}}
    )
    data = Dataset.prepare(config, text, 1, tmp_path / "run", surfaces=UnknownWordNeeds(True))
    vocabulary = data.target.vocabulary
    batch = data.batch(np.array([0, 3]), 0)
    (german,), (english,) = (vocabulary.ids([Mark(f"<2{name}>")]) for name in ("de", "en"))
    size = len(vocabulary)
    assert vocabulary.symbols([size - 1]) == ["ann"]
    assert real(batch.sources[0], "extended") == [[german, size - 1, size, EOS], [english, size, EOS]]
    assert real(batch.target, "extended") == [[size - 1, UNK, EOS], [size, EOS]]


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_of_subwords_nothing_is_unknown(tmp_path: Path, dropout: float) -> None:
    unit = {"kind": "bpe", "vocab_size": 275, "dropout": dropout}
    data = prepared(tmp_path, LINES, unit)
    batch = data.batch(np.arange(4), 3)
    for side in (*batch.sources, batch.target):
        assert real(side, "extended") == real(side, "ids")
    assert not any(data.train.columns[f"{side}.surfaces"].lengths.any() for side in ("source", "target"))


def test_pieces_that_only_the_source_has_are_the_sentences_own(tmp_path: Path) -> None:
    """In two inventories of subwords, whatever dropout makes of a word."""
    data = prepared(tmp_path, LINES, {"kind": "bpe", "vocab_size": 270, "dropout": 0.5}, joint=False)
    (source,), target = data.sources, data.target.vocabulary
    assert isinstance(source, Language)
    batch = data.batch(np.arange(4), 1)
    beyond = 0
    for ids, extended in zip(real(batch.sources[0], "ids"), real(batch.sources[0], "extended"), strict=True):
        symbols = source.vocabulary.symbols(ids[:-1])
        assert [*directly(target, [symbols], [])[0], EOS] == extended
        beyond += sum(number >= len(target) for number in extended)
    assert beyond
    assert real(batch.target, "extended") == real(batch.target, "ids")


def test_arrays_have_no_words(tmp_path: Path) -> None:
    np.save(tmp_path / "train.image.npy", np.ones((4, 2, 3), np.float32))
    for name, lines in zip("ac", zip(*LINES, strict=True), strict=True):
        (tmp_path / f"train.{name}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    place = str(tmp_path / "train")
    text = TextConfig.model_validate({"source": {"tokenizer": FEW}, "target": {"tokenizer": FEW}})
    batches: list[Batch] = []
    for source in (["image", "a"], ["image"]):
        shown = {"source": source, "features": "image", "target": "c", "train": place, "dev": place}
        data = Dataset.prepare(
            DataConfig.model_validate(shown), text, 1, tmp_path / "run", surfaces=UnknownWordNeeds(True)
        )
        batches.append(data.batch(np.array([2]), 0))
    both, alone = batches
    assert real(both.sources[1], "extended") == [[4, 6, 4, 7, 8, EOS]]
    assert real(both.target, "extended") == [[8, UNK, 5, EOS]]
    assert real(alone.target, "extended") == real(alone.target, "ids")


@pytest.mark.parametrize("damage", [b"\xff", b"\n"])
def test_a_damaged_store_is_told(tmp_path: Path, damage: bytes, golden: Golden) -> None:
    data = prepared(tmp_path, LINES)
    path = tmp_path / "run" / "data" / "source.surfaces.values"
    path.write_bytes(damage * path.stat().st_size)
    with pytest.raises(UserError) as raised:
        data.batch(np.arange(4), 0)
    golden(str(raised.value))


def test_numbers_spell_what_they_number() -> None:
    vocabulary = Vocabulary(["ann", "</s>"], OPERATIONS)
    sentence: list[Symbol] = ["ann", "<unk>", KEEP, "</s>", "<s>", "bob", "<unk>"]
    extended = ExtendedVocabulary(vocabulary, [sentence[:4], sentence[4:]])
    assert extended.ids(sentence) == [6, 8, 4, 7, 9, 10, 8]
    assert extended.marked([6, 8, 4, 7, 9, 10, 8]) == sentence
    assert extended.ids(["eve", "bob"]) == [UNK, 10]
    assert extended.marked([11, UNK, EOS]) == ["<unk>", "<unk>", "</s>"]  # 11 is another sentence's
    nothing = ExtendedVocabulary(vocabulary, [])
    assert nothing.ids(["ann", "bob"]) == [6, UNK]

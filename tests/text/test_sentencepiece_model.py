"""A sentencepiece model of another program: its own normalization, its own pieces."""

import io
from pathlib import Path

import pytest
import sentencepiece

from dragoman.configuration.components import Spec
from dragoman.errors import UserError
from dragoman.text.pipeline import TextPipeline
from dragoman.text.sentencepiece_model import SentencePiece
from dragoman.text.tokenizer import InsufficientCorpusError

pytestmark = pytest.mark.spec("J5")
LINES = [f"The cat number {number} sat on the mat, {number * 7} times." for number in range(60)]


@pytest.fixture(scope="module")
def model() -> bytes:
    """As Marian trains it: an end symbol, an unknown one, and NFKC."""
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=file, vocab_size=60, bos_id=-1, eos_id=0, unk_id=1, minloglevel=2
    )
    return file.getvalue()


def pipeline(model: bytes, symbols: list[str] | None = None) -> TextPipeline:
    text = TextPipeline(lowercase=False, pretokenizer="punctuation", tokenizer=Spec("sentencepiece"))
    assert isinstance(text.tokenizer, SentencePiece)
    text.tokenizer.load_model(model, symbols)
    return text


def test_its_symbols_are_those_of_the_file(model: bytes) -> None:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    text = pipeline(model)
    assert text.tokenizer.inventory == processor.id_to_piece(list(range(2, 60)))
    for line in (*LINES[:5], "", "  the   ｃａｔ ", "\u732b sat"):
        assert text.encode(line) == processor.encode(line, out_type=str)


def test_what_it_knows_comes_back_and_spaces_and_widths_do_not(model: bytes) -> None:
    text = pipeline(model)
    assert [text.decode(text.encode(line)) for line in LINES] == LINES
    assert text.decode(text.encode("  the   ｃａｔ ")) == "the cat"
    assert text.decode(["▁the", "<unk>", "▁cat"]) == "the<unk> cat"


def test_words_are_found_in_its_symbols(model: bytes) -> None:
    text = pipeline(model)
    symbols = text.encode("The cat sat.")
    assert text.words(symbols).words == ["The", "cat", "sat", "."]


def test_unknown_symbols_have_no_number(model: bytes) -> None:
    """A piece that the vocabulary lacks, and a character that the file lacks."""
    all_symbols = pipeline(model).tokenizer.inventory
    missing = pipeline(model).encode("cat")[0]
    fewer = pipeline(model, [symbol for symbol in all_symbols if symbol != missing])
    numbers, lengths = fewer.tokenizer.numbers(["cat", "\u732b"])
    assert numbers[0] == 0
    assert numbers[-1] == 0
    assert lengths.sum() == len(numbers)


def test_it_is_saved_with_its_symbols(model: bytes, tmp_path: Path) -> None:
    text = pipeline(model, ["b", "\u2581a"])
    text.save(tmp_path, "source")
    read = TextPipeline.load(tmp_path, "source")
    assert read.tokenizer.inventory == ["b", "\u2581a"]
    assert read.encode("The cat") == text.encode("The cat")


@pytest.mark.parametrize(
    "contents", ["", "{}", "[]", '{"symbols": [1], "model": ""}', '{"symbols": [], "model": "AAAA"}']
)
def test_another_file_is_refused(contents: str, tmp_path: Path, model: bytes) -> None:
    pipeline(model).save(tmp_path, "source")
    (tmp_path / "source.tokenizer").write_text(contents, "utf-8")
    with pytest.raises(UserError, match=r"source\.tokenizer: not the symbols of a SentencePiece tokenizer"):
        TextPipeline.load(tmp_path, "source")


def test_a_file_is_taken_in_the_place_of_learning(model: bytes, tmp_path: Path) -> None:
    (tmp_path / "own.spm").write_bytes(model)
    tokenizer = SentencePiece(model=str(tmp_path / "own.spm"))
    tokenizer.fit(iter(()), 1)
    assert tokenizer.inventory == pipeline(model).tokenizer.inventory


def test_what_cannot_be_taken_is_told(tmp_path: Path) -> None:
    with pytest.raises(InsufficientCorpusError, match="set model: FILE"):
        SentencePiece().fit(iter(()), 1)
    with pytest.raises(UserError, match=r"none\.spm: cannot read \(No such file or directory\)"):
        SentencePiece(model=str(tmp_path / "none.spm")).fit(iter(()), 1)
    (tmp_path / "bad.spm").write_text("no", "utf-8")
    with pytest.raises(UserError, match=r"bad\.spm: not a sentencepiece model"):
        SentencePiece(model=str(tmp_path / "bad.spm")).fit(iter(()), 1)


def test_a_text_may_begin_with_the_symbol_of_a_language(model: bytes) -> None:
    """Where the vocabulary has it; elsewhere it is text, as it is within a text."""
    text = pipeline(model, [*pipeline(model).tokenizer.inventory, ">>fra<<"])
    cat = text.encode("cat")
    assert text.encode(">>fra<< cat") == [">>fra<<", *cat]
    assert text.encode(">>fra<<cat") == [">>fra<<", *cat]
    assert ">>deu<<" not in text.encode(">>deu<< cat")
    assert ">>fra<<" not in text.encode("cat >>fra<< cat")

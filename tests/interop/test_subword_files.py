"""Codes of subword-nmt beside checkpoints: texts are segmented by them where a vocabulary has their symbols."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import UserError
from dragoman.interop import imported_run, table
from dragoman.interop.foreign_model import ForeignModel
from dragoman.translation.loading import load
from tests.interop import joeynmt_models, test_joeynmt, test_luong_models, test_nematus

pytestmark = pytest.mark.spec("J17")
CODES = "#version: 0.2\nt h\nth e</w>\na t</w>\nn o</w>\n"
SYMBOLS = [*joeynmt_models.SYMBOLS[:4], "the", "c@@", "at", "s@@", "a@@", "is", "no", "&quot;"]
BETWEEN_SPACES = {"level": "bpe", "tokenizer_type": "subword-nmt", "tokenizer_cfg": {"codes": "/there/bpe.codes"}}


def joeynmt(folder: Path, data: dict[str, Any], **codes: str) -> Path:
    """A folder whose vocabularies have subwords, with these files."""
    model = joeynmt_models.build(test_joeynmt.PLAIN)
    joeynmt_models.write(folder, model, {"data": {"src": data, "trg": data}})
    for side in ("src", "trg"):
        (folder / f"{side}_vocab.txt").write_text("".join(f"{symbol}\n" for symbol in SYMBOLS), "utf-8")
    for name, contents in codes.items():
        (folder / name.replace("_", ".")).write_text(contents, "utf-8")
    return folder


def segmented(foreign: ForeignModel, text: str) -> list[str]:
    return foreign.source.text.encode(text)


def test_texts_are_segmented_by_the_codes_of_the_folder(tmp_path: Path) -> None:
    folder = joeynmt(tmp_path / "joey", BETWEEN_SPACES, bpe_codes=CODES)
    foreign = table.read(folder)
    assert segmented(foreign, "the cat sat") == ["the", "c@@", "at", "s@@", "at"]
    assert segmented(foreign, "that") == ["t@@", "h@@", "at"]  # th@@ is not in the vocabulary
    assert foreign.source.files == (folder / "bpe.codes",)
    imported_run.write(foreign, tmp_path / "run", ("en", "de"), "")
    assert "| bpe.codes | SHA-256" in (tmp_path / "run" / "README.md").read_text("utf-8")
    translator = load(tmp_path / "run")
    (score,) = translator.score(["the cat"], ["sat no"])
    model = joeynmt_models.build(test_joeynmt.PLAIN)
    numbers = [[SYMBOLS.index(symbol) for symbol in text.split()] for text in ("the c@@ at </s>", "s@@ at no </s>")]
    assert [step.log_prob for step in score.steps] == pytest.approx(model.log_probs(*numbers), abs=2e-5)
    (translation,) = translator.translate(["the cat"])
    assert "@@" not in translation.text


def test_the_file_is_that_of_the_side(tmp_path: Path) -> None:
    """By the name in the configuration, the language, or the side."""
    other = CODES.replace("a t</w>\n", "")
    folder = joeynmt(tmp_path / "joey", BETWEEN_SPACES, bpe_32_codes=CODES, codes_de=other, codes_en=CODES)
    with pytest.raises(UserError) as raised:
        table.read(folder)
    assert str(raised.value) == (
        f"{folder}: expected one file of codes for source, found bpe.32.codes, codes.de, codes.en"
    )
    foreign = table.read(folder, languages=("en", "de"))
    assert [side.files[0].name for side in (foreign.source, foreign.target)] == ["codes.en", "codes.de"]
    (folder / "src.codes").write_text(other, "utf-8")
    (folder / "codes.en").unlink()
    assert table.read(folder, languages=("en", "de")).source.files == (folder / "src.codes",)


def test_without_codes_words_stand_between_spaces(tmp_path: Path) -> None:
    foreign = table.read(joeynmt(tmp_path / "joey", BETWEEN_SPACES))
    assert segmented(foreign, "the c@@ at") == ["the", "c@@", "at"]
    assert foreign.source.text.spec["tokenizer"]["kind"] == "word"


def test_codes_of_something_else_are_refused(tmp_path: Path) -> None:
    folder = joeynmt(tmp_path / "joey", BETWEEN_SPACES, bpe_codes="text\n")
    with pytest.raises(UserError, match=r"bpe\.codes: line 1: expected two pieces to merge, found 'text'"):
        table.read(folder)
    (folder / "bpe.codes").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"bpe\.codes: .*can't decode"):
        table.read(folder)


def test_words_are_those_of_moses(tmp_path: Path) -> None:
    """Of a version of JoeyNMT without tokenizers, of Nematus, and of OpenNMT-py, whose vocabularies show how."""
    pytest.importorskip("sacremoses", reason="needs the extra moses")
    foreign = table.read(joeynmt(tmp_path / "joey", {"lang": "en"}, bpe_codes=CODES))
    assert foreign.source.text.spec["tokenizer"] == {
        "kind": "subword_codes",
        "codes": None,
        "moses": "en",
        "split_dashes": False,
        "escape": True,
        "split_unknown": False,
    }
    assert segmented(foreign, 'the "cat"') == ["the", "&@@", "q@@", "u@@", "o@@", "t@@", ";", "c@@", "at"] + (
        segmented(foreign, '"')
    )
    folder, _ = test_nematus.folder_of(tmp_path / "nematus", test_nematus.PLAIN)
    for language in ("en", "de"):
        path = folder / f"vocab.{language}.json"
        numbers = json.loads(path.read_text("utf-8"))
        numbers["c@@"] = numbers.pop("cat")
        numbers["@-@"] = numbers.pop("1e3")
        path.write_text(json.dumps(numbers), "utf-8")
    (folder / "ende.bpe").write_text(CODES, "utf-8")
    nematus = table.read(folder, languages=("en", "de"))
    assert nematus.target.text.spec["tokenizer"] == {
        "kind": "subword_codes",
        "codes": None,
        "moses": "de",
        "split_dashes": True,
        "escape": False,
        "split_unknown": False,
    }


def test_a_vocabulary_of_words_needs_no_codes(tmp_path: Path) -> None:
    folder = test_luong_models.fairseq(tmp_path / "fairseq")
    (folder / "codes").write_text("damaged", "utf-8")
    assert table.read(folder).source.text.spec["tokenizer"]["kind"] == "word"

"""Folders of BART of Hugging Face: their log P and translations are those of the equations in plain numpy."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.errors import UserError
from dragoman.interop import imported_run, table
from dragoman.run.run import Run
from dragoman.text.byte_level import LETTERS, Merge
from dragoman.translation.loading import load
from tests.interop.huggingface_models import CONFIG, FAIRSEQ, TYPES, Config, Reference, tensors, write_folder
from tests.text.test_byte_level import MERGES

pytestmark = [
    pytest.mark.spec("J18"),
    pytest.mark.skipif(find_spec("tokenizers") is None, reason="needs the extra tokenizers"),
]
SOURCES, TARGETS = ["the cat sat", " on the mat, 3", "Grüße & 😀"], ["the mat", "sat on 4", "Grüße"]


def symbols_of(merges: list[Merge]) -> list[str]:
    return [*FAIRSEQ, *LETTERS.values(), *("".join(pair) for pair in merges), "<mask>"]


def text_files(merges: list[Merge]) -> dict[str, Any]:
    return {
        "vocab.json": {symbol: number for number, symbol in enumerate(symbols_of(merges))},
        "merges.txt": "\n".join(["#version: 0.2", *map(" ".join, merges), ""]).encode(),
    }


SYMBOLS, TEXT_FILES = symbols_of(MERGES), text_files(MERGES)
TOKENIZER: dict[str, Any] = {
    "model": {"vocab": TEXT_FILES["vocab.json"], "merges": [list(pair) for pair in MERGES]},
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
}
LIMIT = 9


def make(path: Path, files: dict[str, Any] = TEXT_FILES, **changed: Any) -> Reference:
    count = max(len(SYMBOLS), len(files.get("vocab.json", ()))) + 2
    config: Config = {**CONFIG, **TYPES["bart"][0], "vocab_size": count}
    arrays = tensors("bart", config, count)
    write_folder(path, "bart", files, arrays, {**config, **changed})
    return Reference("bart", config, arrays)


def imported(folder: Path, run: Path) -> Path:
    imported_run.write(table.read(folder), run, ("en", "de"), "")
    return run


@pytest.mark.parametrize("files", [TEXT_FILES, {"tokenizer.json": TOKENIZER}], ids=["two files", "one file"])
def test_scores_are_those_of_the_equations(files: dict[str, Any], tmp_path: Path) -> None:
    """Of each symbol and the end, after `</s>` and `<s>`; a source stands between `<s>` and `</s>`."""
    reference = make(tmp_path / "bart", files)
    translator = load(imported(tmp_path / "bart", tmp_path / "run"))
    for source, target, score in zip(SOURCES, TARGETS, translator.score(SOURCES, TARGETS), strict=True):
        read, wanted = (
            [SYMBOLS.index(symbol) for symbol in [*language.text.encode(text), "</s>"]]
            for language, text in ((translator.sources[0], source), (translator.target, target))
        )
        log_probs = reference.log_probs([0, *read], [2, 0, *wanted[:-1]])[1:]
        steps = log_probs[np.arange(len(wanted)), wanted]
        assert [step.log_prob for step in score.steps] == pytest.approx(steps.tolist(), abs=2e-5)


def test_translations_are_those_of_the_equations(tmp_path: Path) -> None:
    reference = make(tmp_path / "bart")
    translator = load(imported(tmp_path / "bart", tmp_path / "run"))
    search = {"kind": "greedy", "length_ratio": 0.0, "length_margin": LIMIT}
    for text, translation in zip(SOURCES, translator.translate(SOURCES, search=search), strict=True):
        read = [SYMBOLS.index(symbol) for symbol in translator.sources[0].text.encode(text)]
        ids = reference.greedy([0, *read, 2], [2, 0], (0, 1, 3), LIMIT)
        symbols = [SYMBOLS[number] if number < len(SYMBOLS) else f"<unused {number}>" for number in ids]
        ours = [str(symbol) for symbol in translation.output_symbols]
        assert ours == symbols[: len(ours)]


def test_what_stands_around_texts_is_in_the_configuration(tmp_path: Path) -> None:
    make(tmp_path / "bart")
    config = Run.load(imported(tmp_path / "bart", tmp_path / "run")).config
    assert (config.text.source.prefix, config.model.target_prefix) == (("<s>",), ("<s>",))
    assert config.model.start_symbol == "eos"
    assert config.search.options["normalization"] == "prefixed"
    assert config.model.encoder.options["norm"] == "after"


@pytest.mark.parametrize(
    ("files", "changed", "message"),
    [
        ({}, {"normalize_before": True}, "normalize_before: expected false, found True"),
        ({}, {"add_final_layer_norm": True}, "add_final_layer_norm: expected false, found True"),
        ({"merges.txt": b"a b c\n"}, {}, "merges.txt: merge 1: expected two pieces"),
        ({"merges.txt": b"x yz\n"}, {}, "merges.txt: not the merges of byte-level BPE"),
        ({"vocab.json": {"</s>": 0, "<unk>": 1}}, {}, "vocab.json: expected the symbols <s>, <pad>, </s>, <unk> first"),
        ({"tokenizer.json": {}}, {}, "expected the vocabulary of byte-level BPE"),
        ({"tokenizer.json": {**TOKENIZER, "pre_tokenizer": {"type": "Metaspace"}}}, {}, "expected the vocabulary of"),
        ({"tokenizer.json": {**TOKENIZER, "model": {"vocab": {"<s>": 0}, "merges": [1]}}}, {}, "merge 1: expected two"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    files: dict[str, Any], changed: dict[str, Any], message: str, tmp_path: Path
) -> None:
    make(tmp_path / "bart", files if "tokenizer.json" in files else {**TEXT_FILES, **files}, **changed)
    with pytest.raises(UserError) as raised:
        table.read(tmp_path / "bart")
    assert message in str(raised.value)
    assert str(tmp_path / "bart") in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    make(tmp_path / "bart", {"vocab.json": json.loads(json.dumps(TEXT_FILES["vocab.json"]))})
    with pytest.raises(UserError, match=r"merges\.txt: cannot read \(No such file"):
        table.read(tmp_path / "bart")

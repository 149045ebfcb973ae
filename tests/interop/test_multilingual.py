"""Folders of multilingual models of Hugging Face: M2M100, NLLB and mBART. Their log P, and the codes of languages."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import sentencepiece
import torch
from safetensors.torch import load_file, save_file

from dragoman.errors import UserError
from dragoman.interop import imported_run, table
from dragoman.interop.foreign_text import put_prefix
from dragoman.run.run import Run
from dragoman.translation.loading import load
from tests.interop.huggingface_models import (
    CONFIG,
    FAIRSEQ,
    TYPES,
    Config,
    Reference,
    learn_pieces,
    pieces_of,
    tensors,
    write_folder,
)

pytestmark = pytest.mark.spec("J8", "J9", "J11")
SOURCES, TARGETS = ["the cat sat", "on the mat looked 3", "cat \u732b & mat"], ["the mat", "sat on 4", "cat"]
LIMIT = 9


class Folder(NamedTuple):
    """A folder, its symbols by id, the codes of the languages to import it with, and its equations."""

    path: Path
    symbols: list[str]
    codes: tuple[str, str]
    reference: Reference
    segmenter: bytes
    code_last: bool = False  # the code of the source follows its end, and the decoder starts with the other one

    def ids(self, text: str) -> list[int]:
        processor = sentencepiece.SentencePieceProcessor(model_proto=self.segmenter)
        pieces = processor.encode(text, out_type=str)
        return [self.symbols.index(piece) if piece in self.symbols else 3 for piece in pieces]

    @property
    def code_ids(self) -> tuple[int, int]:
        source, target = (
            next(number for number, symbol in enumerate(self.symbols) if symbol.strip("_") == code)
            for code in self.codes
        )
        return source, target

    @property
    def start(self) -> list[int]:
        """What the decoder reads before its first prediction."""
        return [self.code_ids[1]] if self.code_last else [2, self.code_ids[1]]

    def source(self, text: str) -> list[int]:
        code, ids = self.code_ids[0], self.ids(text)
        return [*ids, 2, code] if self.code_last else [code, *ids, 2]


def build(
    path: Path, kind: str, symbols: list[str], files: dict[str, Any], codes: tuple[str, str], **keys: Any
) -> Folder:
    config: Config = {**CONFIG, **TYPES[kind][0], "vocab_size": len(symbols) + 3, **keys}
    arrays = tensors(kind, config, len(symbols) + 3)
    write_folder(path, kind, files, arrays, config)
    return Folder(path, symbols, codes, Reference(kind, config, arrays), files["sentencepiece.bpe.model"])


def nllb(path: Path, segmenter: bytes, languages: tuple[str, str] = ("eng_Latn", "deu_Latn")) -> Folder:
    codes = sorted({"deu_Latn", "fra_Latn", *languages})
    files = {"sentencepiece.bpe.model": segmenter, "special_tokens_map.json": {"additional_special_tokens": codes}}
    symbols = [*FAIRSEQ, *pieces_of(segmenter), *codes, "<mask>"]
    return build(path, "m2m_100", symbols, files, languages)


def m2m100(path: Path, segmenter: bytes, languages: tuple[str, str] = ("en", "fr")) -> Folder:
    """With ids in another order than the pieces', of which it lacks some."""
    pieces, codes = sorted(pieces_of(segmenter))[3:], ["__de__", *(f"__{language}__" for language in languages)]
    symbols = [*FAIRSEQ, *pieces, *codes]
    added = [{"id": len(FAIRSEQ) + len(pieces) + number, "content": code} for number, code in enumerate(codes)]
    files = {
        "sentencepiece.bpe.model": segmenter,
        "vocab.json": {symbol: number for number, symbol in enumerate([*FAIRSEQ, *pieces])},
        "tokenizer_config.json": {"added_tokens_decoder": {str(entry["id"]): entry for entry in added}},
    }
    return build(path, "m2m_100", symbols, files, languages)


def mbart(
    path: Path, segmenter: bytes, codes: tuple[str, ...] = ("en_XX", "fr_XX", "de_DE"), *, code_last: bool
) -> Folder:
    """From the first to the second of these languages."""
    symbols = [*FAIRSEQ, *pieces_of(segmenter), *codes, "<mask>"]
    added = [{"id": symbols.index(name), "content": name} for name in ("<s>", *codes, "<mask>")]
    files = {"sentencepiece.bpe.model": segmenter, "tokenizer.json": {"added_tokens": added}}
    start = symbols.index(codes[1]) if code_last else 2
    folder = build(path, "mbart", symbols, files, (codes[0], codes[1]), decoder_start_token_id=start)
    return folder._replace(code_last=code_last)


Maker = Callable[[Path, bytes], Folder]
KINDS: dict[str, Maker] = {
    "nllb": nllb,
    "m2m100": m2m100,
    "mbart50": partial(mbart, code_last=False),
    "mbart25": partial(mbart, code_last=True),
}


@pytest.fixture(scope="module")
def segmenter() -> bytes:
    return learn_pieces()


@pytest.fixture(params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path: Path, segmenter: bytes) -> Folder:
    return KINDS[request.param](tmp_path / "folder", segmenter)


def imported(folder: Folder, run: Path) -> Path:
    imported_run.write(table.read(folder.path, languages=folder.codes), run, folder.codes, "")
    return run


def test_scores_are_those_of_the_equations(folder: Folder, tmp_path: Path) -> None:
    """Of each symbol and the end, after the code of the language."""
    scored = load(imported(folder, tmp_path / "run")).score(SOURCES, TARGETS)
    for source, target, score in zip(SOURCES, TARGETS, scored, strict=True):
        wanted = [*folder.ids(target), 2]
        log_probs = folder.reference.log_probs(folder.source(source), [*folder.start, *wanted[:-1]])
        steps = log_probs[len(folder.start) - 1 :][np.arange(len(wanted)), wanted]
        assert [step.log_prob for step in score.steps] == pytest.approx(steps.tolist(), abs=2e-5)


def test_translations_are_those_of_the_equations(folder: Folder, tmp_path: Path) -> None:
    """Greedy ones. What begins and pads a sequence, and what is unknown, is never written; codes spell nothing."""
    search = {"kind": "greedy", "length_ratio": 0.0, "length_margin": LIMIT}
    for text, translation in zip(
        SOURCES, load(imported(folder, tmp_path / "run")).translate(SOURCES, search=search), strict=True
    ):
        ids = folder.reference.greedy(folder.source(text), folder.start, (0, 1, 3), LIMIT)
        symbols = [folder.symbols[number] if number < len(folder.symbols) else f"<unused {number}>" for number in ids]
        ours = [str(symbol) for symbol in translation.output_symbols]
        assert ours == symbols[: len(ours)]
        assert len(ours) == LIMIT or symbols[-1] == "</s>"
        pieces = {symbol for symbol in ours if symbol in pieces_of(folder.segmenter)}
        assert translation.text.replace(" ", "") == "".join(s for s in ours if s in pieces).replace("\u2581", "")


def test_the_code_of_the_source_is_no_word_of_it(folder: Folder, tmp_path: Path) -> None:
    translation = load(imported(folder, tmp_path / "run")).translate(SOURCES[:1])[0]
    (source,) = translation.sources
    assert source.words == ["the", "cat", "sat"]
    assert source.by_symbol is not None
    first, *_, before_end, end = source.by_symbol.symbols
    assert first == ("\u2581the" if folder.code_last else folder.symbols[folder.code_ids[0]])
    assert (before_end == "</s>") == folder.code_last
    assert end == "</s>"


def test_a_text_before_a_source_follows_the_code_of_its_language(segmenter: bytes, tmp_path: Path) -> None:
    folder = nllb(tmp_path / "folder", segmenter)
    foreign = put_prefix(table.read(folder.path, languages=folder.codes), "the ")
    assert [str(mark) for mark in foreign.source.text.prefix] == ["eng_Latn", "\u2581the"]
    assert foreign.target.text.prefix == ()


def test_codes_are_read_from_each_file_that_may_have_them(folder: Folder) -> None:
    """In one with numbers, which may leave some out, and in the list of older versions."""
    wanted = table.read(folder.path, languages=folder.codes).source.symbols
    first = next(number for number, symbol in enumerate(folder.symbols) if symbol in ("deu_Latn", "__de__", "en_XX"))
    numbered = [{"id": number, "content": symbol} for number, symbol in enumerate(folder.symbols) if number >= first]
    entries = {
        "tokenizer.json": {"added_tokens": numbered},
        "tokenizer_config.json": {"added_tokens_decoder": {str(entry["id"]): entry for entry in numbered}},
    }
    for name, contents in entries.items():
        for file in ("special_tokens_map.json", *entries):
            (folder.path / file).unlink(missing_ok=True)
        (folder.path / name).write_text(json.dumps(contents), "utf-8")
        assert table.read(folder.path, languages=folder.codes).source.symbols[: len(wanted) - 3] == wanted[:-3]


def test_what_the_decoder_reads_first_is_in_the_configuration(folder: Folder, tmp_path: Path) -> None:
    config = Run.load(imported(folder, tmp_path / "run")).config
    source, target = folder.code_ids
    code, around = folder.symbols[source], (config.text.source.prefix, config.text.source.suffix)
    assert around == (((), ("</s>",)) if folder.code_last else ((code,), ()))
    start, normalization = ("prefix", "length") if folder.code_last else ("eos", "prefixed")
    assert config.model.start_symbol == start
    assert config.model.target_prefix == (folder.symbols[target],)
    assert config.search.options["normalization"] == normalization


def test_weights_may_be_in_several_files(folder: Folder, tmp_path: Path) -> None:
    wanted = table.read(folder.path, languages=folder.codes).tensors
    weights = load_file(folder.path / "model.safetensors")
    (folder.path / "model.safetensors").unlink()
    names = sorted(weights)
    parts = {"model-1.safetensors": names[:9], "model-2.safetensors": names[9:]}
    for file, part in parts.items():
        save_file({name: weights[name] for name in part}, folder.path / file)
    places = {name: file for file, part in parts.items() for name in part}
    index = folder.path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}), "utf-8")
    model = table.read(folder.path, languages=folder.codes)
    assert all(np.array_equal(tensor, wanted[name]) for name, tensor in model.tensors.items())
    assert {"model-1.safetensors", "model-2.safetensors"} <= {path.name for path in model.files}
    for wrong, message in (
        ({**places, "more": "model-1.safetensors"}, "tensor 'more': expected it in model-1.safetensors"),
        ({names[0]: "model-3.safetensors"}, "model-3.safetensors, found no such file"),
        ({names[0]: "../model-1.safetensors"}, "weight_map: expected names of .safetensors files"),
        ({names[0]: "model-1.bin"}, "weight_map: expected names of .safetensors files"),
        ({names[0]: 1}, "weight_map: expected a file for each tensor"),
    ):
        index.write_text(json.dumps({"weight_map": wrong}), "utf-8")
        with pytest.raises(UserError, match=r"index\.json") as raised:
            table.read(folder.path, languages=folder.codes)
        assert message in str(raised.value)


def test_copies_of_tied_tensors_are_read_once(folder: Folder) -> None:
    """As older versions wrote them, with positions that are computed; copies that differ are refused."""
    wanted = table.read(folder.path, languages=folder.codes).tensors
    path = folder.path / "model.safetensors"
    weights = load_file(path)
    table_names = ["model.shared.weight", "model.encoder.embed_tokens.weight", "lm_head.weight"]
    shared = weights.pop(table_names[0])
    computed = {"model.encoder.embed_positions.weights": torch.zeros(3, 8)}
    positions = {} if folder.reference.kind == "mbart" else computed
    for names in (table_names, table_names[1:], table_names[2:]):
        save_file({**weights, **positions, **{name: shared.clone() for name in names}}, path)
        read = table.read(folder.path, languages=folder.codes).tensors
        assert all(np.array_equal(tensor, wanted[name]) for name, tensor in read.items())
    save_file({**weights, table_names[0]: shared, table_names[2]: shared + 1}, path)
    with pytest.raises(UserError, match=r"'lm_head.weight': expected the numbers of 'model.shared.weight'"):
        table.read(folder.path, languages=folder.codes)


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        (
            "config.json",
            {"model_type": "pegasus"},
            "expected marian or m2m_100 or mbart or bart or t5 or mt5",
        ),
        ("tokenizer_config.json", {"legacy_behaviour": True}, "legacy_behaviour: expected false, found true"),
        ("special_tokens_map.json", {}, "expected codes of languages in tokenizer.json, found none"),
        ("special_tokens_map.json", {"additional_special_tokens": [1]}, "expected a list of symbols"),
        ("tokenizer.json", {"added_tokens": [{"id": -1, "content": "x"}]}, "added_tokens: expected an id"),
        ("tokenizer.json", {"added_tokens": [1]}, "added_tokens: expected an id"),
        ("sentencepiece.bpe.model", b"no", "not a sentencepiece model"),
        ("sentencepiece.bpe.model", learn_pieces().replace(b"\n\x01&", b"\n\x01\xe5"), "not a sentencepiece model"),
        ("sentencepiece.bpe.model", learn_pieces(unk_id=2, eos_id=0), "expected the pieces <unk>, <s>, </s> first"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(
    name: str, contents: Any, message: str, segmenter: bytes, tmp_path: Path
) -> None:
    folder = nllb(tmp_path / "folder", segmenter)
    (folder.path / name).write_bytes(contents if isinstance(contents, bytes) else json.dumps(contents).encode())
    with pytest.raises(UserError) as raised:
        table.read(folder.path, languages=folder.codes)
    assert message in str(raised.value)


def test_languages_are_those_of_the_model(segmenter: bytes, tmp_path: Path) -> None:
    folder = nllb(tmp_path / "folder", segmenter)
    with pytest.raises(UserError, match="--source: the model has no language 'en'; expected one of deu_Latn, eng_La"):
        table.read(folder.path, languages=("en", "deu_Latn"))
    with pytest.raises(UserError, match="--target: the model has no language 'deu_latn'; did you mean 'deu_Latn'"):
        table.read(folder.path, languages=("eng_Latn", "deu_latn"))
    with pytest.raises(UserError, match="--vocabulary: expected one file for both languages, found 2"):
        table.read(folder.path, [Path("a"), Path("b")], languages=folder.codes)
    (folder.path / "sentencepiece.bpe.model").unlink()
    with pytest.raises(UserError, match=r"expected vocab.json or sentencepiece.bpe.model, found no such file"):
        table.read(folder.path, languages=folder.codes)

"""Damaged files of other programs: each is refused in one line that names it, or it is a model all the same."""

import io
import os
import random
import resource
import shutil
import struct
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from dragoman.errors import UserError
from dragoman.interop import imported_run, marian_shortlist, table
from tests.interop import (
    joeynmt_models,
    keras_models,
    marian_models,
    test_bart,
    test_g2p,
    test_huggingface,
    test_joeynmt,
    test_luong_models,
    test_marian,
    test_marian_shortlist,
    test_multilingual,
    test_nematus,
    test_subword_files,
    test_t5,
)
from tests.interop.huggingface_models import learn_pieces
from tests.interop.marian_models import tensors, write_bin
from tests.interop.test_huggingface import segmenter

__all__ = ["segmenter"]  # the fixture

pytestmark = pytest.mark.spec("J5", "J8")
FILES = int(os.environ.get("FUZZ_REQUESTS", "200"))  # `make fuzz` tries many
LONGEST = 10.0  # seconds of the processor
MEMORY = 512  # MiB beyond those before
PIECES = [
    b"\xff" * 8,
    b"\0" * 8,
    b"\0" * 6 + b"\x80\x7f",
    b"NaN",
    b"-1",
    b"9" * 20,
    b"[" * 3000,
    b'"',
    b"\n",
    b": ",
    b"{}",
]


def of_marian(path: Path) -> list[Path]:
    """A `.npz`, a recurrent one, and a `.bin` with a shortlist."""
    plain, recurrent, converted = (path / name for name in ("npz", "s2s", "bin"))
    test_marian.folder_of(plain, test_marian.PLAIN)
    (plain / "decoder.yml").write_text("vocabs: [vocab.yml, vocab.yml]\nbeam-size: 3\n", "utf-8")
    options = {**marian_models.S2S, "dim-vocabs": [len(test_marian.SYMBOLS)] * 2}
    test_marian.recurrent_folder(recurrent, options, marian_models.recurrent_tensors(options))
    shutil.copytree(plain, converted)
    (converted / "model.npz").unlink()
    write_bin(converted / "model.bin", test_marian.PLAIN, tensors(test_marian.PLAIN), 8)
    shortlist = test_marian_shortlist.file_of(test_marian_shortlist.LISTS)
    (converted / "lex.50.50.s2t.bin").write_bytes(shortlist)
    return [plain, recurrent, converted]


def of_huggingface(path: Path, segmenter: bytes) -> list[Path]:
    """MarianMT, also with weights that torch pickled, M2M100, NLLB, both kinds of mBART, T5, and BART."""
    marian, *_ = test_huggingface.folder_of(path / "huggingface", segmenter)
    (marian / "generation_config.json").write_text('{"num_beams": 4}', "utf-8")
    pickled = path / "pickled"
    shutil.copytree(marian, pickled)
    torch.save(load_file(pickled / "model.safetensors"), pickled / "pytorch_model.bin")
    (pickled / "model.safetensors").unlink()
    pieces, codes = learn_pieces(), ("source", "target")
    folders = [
        test_multilingual.m2m100(path / "m2m100", pieces, codes),
        test_multilingual.nllb(path / "nllb", pieces, codes),
        test_multilingual.mbart(path / "mbart50", pieces, codes, code_last=False),
        test_multilingual.mbart(path / "mbart25", pieces, codes, code_last=True),
    ]
    test_t5.make(path / "t5")
    bart = [path / "bart", path / "bart_tokenizer"] if find_spec("tokenizers") else []
    for folder, files in zip(bart, (test_bart.TEXT_FILES, {"tokenizer.json": test_bart.TOKENIZER}), strict=False):
        test_bart.make(folder, files)
    return [marian, pickled, *(one.path for one in folders), path / "t5", *bart]


def of_others(path: Path) -> list[Path]:
    """JoeyNMT, fairseq and OpenNMT-py, of new and old versions, Nematus, g2p-en, and Keras."""
    for name in ("opennmt1", "opennmt3", "g2p"):
        (path / name).mkdir()
    for version in (1, 3):
        test_luong_models.opennmt(path / f"opennmt{version}" / "model.pt", version)
    marian_models.write_arrays(path / "g2p" / "checkpoint20.npz", test_g2p.arrays())
    nematus, _ = test_nematus.folder_of(path / "nematus", test_nematus.PLAIN)
    keras = [keras_models.write(path / "keras", keras_models.tensors())] if find_spec("h5py") else []
    return [
        *keras,
        test_subword_files.joeynmt(
            path / "codes", test_subword_files.BETWEEN_SPACES, bpe_codes=test_subword_files.CODES
        ),
        joeynmt_models.write(path / "joey", joeynmt_models.build(test_joeynmt.PLAIN)),
        joeynmt_models.write(path / "joey2", joeynmt_models.build(test_joeynmt.PLAIN_TRANSFORMER)),
        test_luong_models.fairseq(path / "fairseq"),
        test_luong_models.fairseq(path / "fairseq_old", old=True),
        nematus,
        *(path / name for name in ("opennmt1", "opennmt3", "g2p")),
    ]


@pytest.fixture
def folders(tmp_path: Path, segmenter: bytes) -> list[Path]:
    """A model of each kind of files."""
    return [*of_marian(tmp_path), *of_huggingface(tmp_path, segmenter), *of_others(tmp_path)]


def damaged_inside(contents: bytes, draw: random.Random) -> bytes:
    """A shortlist, or an archive with a damaged file, whose checksum is right."""
    if not zipfile.is_zipfile(io.BytesIO(contents)):
        data = damaged(contents[16:], draw)
        return contents[:8] + struct.pack("<Q", marian_shortlist._checksum(data)) + data
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(contents)) as source, zipfile.ZipFile(file, "w") as archive:
        members = source.infolist()
        large = [member for member in members if member.filename.endswith((".pkl", "model.yml.npy", ".h5"))]
        chosen = draw.choice(large if large and draw.random() < 0.5 else members)
        for member in members:
            data = source.read(member)
            archive.writestr(member.filename, damaged(data, draw) if member is chosen else data)
    return file.getvalue()


def damaged(contents: bytes, draw: random.Random) -> bytes:
    """A few bytes changed, left out, put in or cut off, most of them where a file says what is in it."""
    data = bytearray(contents)
    for _ in range(draw.choice([1, 1, 2, 5, 30])):
        first = draw.choice([0, 0, max(0, len(data) - 3000), draw.randrange(len(data) + 1)])
        place = min(len(data), first + draw.randrange(3000))
        match draw.randrange(5):
            case 0 if place < len(data):
                data[place] = draw.randrange(256)
            case 1:
                piece = draw.choice(PIECES)
                data[place : place + len(piece)] = piece
            case 2:
                del data[place : place + draw.choice([1, 8, 500, 5000])]
            case 3:
                data[place:place] = draw.choice([*PIECES, draw.randbytes(8)])
            case _:
                data[place:place] = data[first : first + draw.choice([4, 40, 400])]
    return bytes(data[: draw.randrange(len(data) + 1)] if draw.random() < 0.1 else data)


def refusal(folder: Path, run: Path) -> str | None:
    """What an import is refused with; None if it is not. The languages of M2M100 are called as by default."""
    try:
        imported_run.write(table.read(folder), run, ("en", "de"), "")
    except UserError as error:
        return str(error)
    return None


@pytest.mark.timeout(3600)
def test_a_damaged_file_is_refused_in_one_line_or_is_a_model(folders: list[Path], tmp_path: Path) -> None:
    refused = 0
    for seed in range(FILES):
        draw = random.Random(seed)
        folder = draw.choice(folders)
        path = draw.choice(sorted(folder.iterdir()))
        whole = path.read_bytes()
        inside = (zipfile.is_zipfile(path) or path.name.startswith("lex.")) and draw.random() < 0.6
        path.write_bytes((damaged_inside if inside else damaged)(whole, draw))
        start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        line = refusal(folder, tmp_path / "run")
        assert time.process_time() - start < LONGEST, (seed, path, line)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY * 1024, (seed, path, line)
        if line is None:
            shutil.rmtree(tmp_path / "run")
        else:
            refused += 1
            assert "\n" not in line, (seed, path, line)
            assert str(folder) in line or line.startswith("--"), (seed, path, line)
            assert len(line) < 1000, (seed, path, line)
            assert not (tmp_path / "run").exists(), (seed, path)
        path.write_bytes(whole)
    assert refused > FILES / 2

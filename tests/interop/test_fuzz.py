"""Damaged files of other programs: each is refused in one line that names it, or it is a model all the same."""

import os
import random
import shutil
from pathlib import Path

import pytest

from dragoman.errors import UserError
from dragoman.interop import imported_run, table
from tests.interop import (
    joeynmt_models,
    test_huggingface,
    test_joeynmt,
    test_luong_models,
    test_marian,
    test_marian_shortlist,
    test_multilingual,
    test_nematus,
    test_t5,
)
from tests.interop.huggingface_models import learn_pieces
from tests.interop.marian_models import tensors, write_bin
from tests.interop.test_huggingface import segmenter

__all__ = ["segmenter"]  # the fixture

pytestmark = pytest.mark.spec("J5", "J8")
FILES = int(os.environ.get("FUZZ_REQUESTS", "150"))  # `make fuzz` tries many
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


@pytest.fixture
def folders(tmp_path: Path, segmenter: bytes) -> list[Path]:
    """A model of each kind of files."""
    npz = test_marian.folder_of(tmp_path / "npz", test_marian.PLAIN)
    (npz / "decoder.yml").write_text("vocabs: [vocab.yml, vocab.yml]\nbeam-size: 3\n", "utf-8")
    converted = tmp_path / "bin"
    shutil.copytree(npz, converted)
    (converted / "model.npz").unlink()
    write_bin(converted / "model.bin", test_marian.PLAIN, tensors(test_marian.PLAIN), 8)
    shortlist = test_marian_shortlist.file_of(test_marian_shortlist.LISTS)
    (converted / "lex.50.50.s2t.bin").write_bytes(shortlist)
    huggingface, *_ = test_huggingface.folder_of(tmp_path / "huggingface", segmenter)
    (huggingface / "generation_config.json").write_text('{"num_beams": 4}', "utf-8")
    test_t5.make(tmp_path / "t5")
    m2m100 = test_multilingual.m2m100(tmp_path / "m2m100", learn_pieces(), ("source", "target")).path
    joey = joeynmt_models.write(tmp_path / "joey", joeynmt_models.build(test_joeynmt.PLAIN))
    fairseq, opennmt = test_luong_models.fairseq(tmp_path / "fairseq"), tmp_path / "opennmt"
    opennmt.mkdir()
    test_luong_models.opennmt(opennmt / "model.pt", 1)
    nematus, _ = test_nematus.folder_of(tmp_path / "nematus", test_nematus.PLAIN)
    return [npz, converted, huggingface, m2m100, tmp_path / "t5", joey, fairseq, opennmt, nematus]


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
        path.write_bytes(damaged(whole, draw))
        line = refusal(folder, tmp_path / "run")
        if line is None:
            shutil.rmtree(tmp_path / "run")
        else:
            refused += 1
            assert "\n" not in line, (seed, path, line)
            assert str(folder) in line, (seed, path, line)
            assert not (tmp_path / "run").exists(), (seed, path)
        path.write_bytes(whole)
    assert refused > FILES / 2

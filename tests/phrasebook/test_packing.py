"""The corpus that the package ships is the one that the phrasebook samples."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from dragoman import demo
from phrasebook.__main__ import PACKAGED, main


@pytest.mark.slow
def test_the_command_writes_the_packaged_corpus_again(tmp_path: Path) -> None:
    assert main([str(tmp_path / "demo.zip")]) == 0
    with ZipFile(PACKAGED) as packaged, ZipFile(tmp_path / "demo.zip") as written:
        names = {f"{split}.{end}" for split in demo.SIZES for end in ("en", "fr", "en-fr.align")}
        assert set(packaged.namelist()) == set(written.namelist()) == names
        assert [name for name in names if packaged.read(name) != written.read(name)] == []
        for split, size in demo.SIZES.items():
            assert packaged.read(f"{split}.en").count(b"\n") == size
    assert PACKAGED.stat().st_size < 500_000

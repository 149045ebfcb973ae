"""The corpora of the table of mechanisms, as this project reads them."""

import gzip
from pathlib import Path

from benchmarks.prepared import Corpus, aligned, documents
from dragoman.corpus.pharaoh import read_gold


def test_documents_are_two_sentences_each(tmp_path: Path) -> None:
    for part in ("train", "dev"):
        for side in ("en", "fr"):
            (tmp_path / f"{part}.{side}").write_text("one two\nthree\n", encoding="utf-8")
    folder = documents(Corpus(tmp_path, (), "test", {}), tmp_path / "documents").texts
    assert (folder / "train.fr").read_text(encoding="utf-8") == "one two § three\n"


def test_aligned_pairs_are_written_as_this_project_reads_them(tmp_path: Path) -> None:
    files = tmp_path / "grc-en"
    files.mkdir()
    for part in ("train", "dev"):
        for name, text in (("grc", "a b\n"), ("en", "c d e\n"), ("talp", "1-1 2-3 2p2\n")):
            (files / f"{part}.{name}.gz").write_bytes(gzip.compress(text.encode()))
    prepared = aligned(files, tmp_path / "texts")
    (gold,) = read_gold(prepared.texts / "dev.grc-en.align")
    assert gold.sure == {(0, 0), (1, 2)}
    assert gold.possible == {(0, 0), (1, 2), (1, 1)}
    assert prepared.overrides == {"data.source": "grc", "data.target": "en"}

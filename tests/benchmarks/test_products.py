"""The table of products: parents, what starts from them, and its lines."""

import shutil
from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks import products
from benchmarks.prepared import Row
from dragoman.run.run import Run
from dragoman.training import checks
from tests import toy
from tests.benchmarks.test_tables import TINY, lines

KINDS = ["alone", "memory", "covering memory", "memory and languages"]


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Namespace:
    """A product in French, with German beside English, and a small parent."""
    data = tmp_path / "data"
    (data / "cow").mkdir(parents=True)
    parts = {"parent": 60, "parent-dev": 8, "cow/memory": 40, "cow/dev": 24, "cow/test": 24}
    for seed, (part, count) in enumerate(parts.items()):
        rows = [f"{source}\t{toy.german(source)}\t{target}" for source, target in toy.pairs(count, seed)]
        lines(data, f"{part}.fr.tsv", ["en\tde\tfr", *rows])
    config = "data: {source: x, target: y, train: t, dev: d}\nrun: runs/x\n"
    tiny = TINY.replace("METRIC", "bleu").replace("ter]", "chrf]") + "seed: 1\n"
    (tmp_path / "parent.yaml").write_text(config + tiny, "utf-8")
    monkeypatch.setattr(products, "PARENT", tmp_path / "parent.yaml")
    monkeypatch.setattr(products, "SYMBOLS", {})
    monkeypatch.setattr(products, "OPTIONS", {"training.epochs": 1})
    return Namespace(data=data, folder=tmp_path / "runs", test=True, epochs=1)


@pytest.mark.slow
def test_parents_come_first_and_all_kinds_become_lines(options: Namespace, capsys: pytest.CaptureFixture[str]) -> None:
    rows = products.rows(options)
    assert [row.name for row in rows] == [f"{who}, fr, {kind}" for who in ("parent", "cow") for kind in KINDS]
    assert products.parents(options) == (tuple(f"parent, fr, {kind}" for kind in KINDS),)
    for row in rows:
        products.work(row, options)
    for source, kind, count in (
        (("en",), "memory", 1),
        (("en",), "covering memory", 2),
        (("en", "de"), "memory and languages", 1),
    ):
        assert products.config(Row(f"parent, fr, {kind}", row.config), options).training.epochs == options.epochs
        config = Run.load(options.folder / Row(f"cow, fr, {kind}", row.config).slug).config
        assert config.data.source == source
        assert len(config.data.recalled) == count
        assert config.training.init_from == str(options.folder / Row(f"parent, fr, {kind}", row.config).slug)
    products.show(rows, options)
    shown = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in shown] == [
        name
        for part in ("dev", "test")
        for name in (f"| cow, fr, {part}", shown[1], "| nearest neighbor", *(f"| {kind}" for kind in KINDS))
    ]
    assert all(line.count(" | ") == 9 for line in shown if "---" not in line)
    shutil.copytree(options.folder / "parent-fr-alone", options.folder / "imported-fr")
    assert products.rows(options)[-1].name == "cow, fr, imported"
    started = products.config(products.rows(options)[-1], options)
    assert started.training.init_from == str(options.folder / "imported-fr")
    assert list(checks.problems(started)) == []


def test_the_effort_of_an_editor_is_counted_in_characters_and_strings() -> None:
    references = ["Datei", "Ordner", "Alle anhalten"]
    *_, changes, right, nearly_right = products.figures(["Datei", "", "Alle anhalten!"], references)
    assert (changes, right, nearly_right) == ("29 %", "33 %", "67 %")  # 6 and 1 of 24 characters

"""The check of the literature index lets a proved row pass and notices everything that makes one untrue."""

from pathlib import Path

import pytest

from tools.marks import Mark, marks
from tools.settings import parts_of_setting, problems_of_setting
from tools.spec import IDS, PAGE, Home, Row, check, derived, filled, main, read_rows

TABLE = """
| id | term | source and equation | home | configuration | decision | status |
|---|---|---|---|---|---|---|
| A1 | Plain | CN: `C` | `model/a.py`: `A`, `run`; `b.py` | `seed: 2`, `dragoman train` | none | built |
| B22 | Whole | NT (77) | `b.py` | always | | planned |
"""
PROOF = Mark("tests/test_a.py::test_it", ("A1",), True)


def row(row_id: str, status: str = "planned", home: str = "a.py", *names: str) -> Row:
    return Row(row_id, "term", (Home(home, names),), (), status)


def all_rows(first: Row) -> list[Row]:
    return [first, *(row(row_id) for row_id in IDS[1:])]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("class A: ...\ndef run(): ...\nTABLE = {}\nSIZE: int = 1\n", encoding="utf-8")
    return tmp_path


def test_rows_are_read_from_the_tables() -> None:
    homes = (Home("model/a.py", ("A", "run")), Home("b.py", ()))
    assert list(read_rows(TABLE)) == [
        Row("A1", "Plain", homes, ("seed: 2", "dragoman train"), "built"),
        Row("B22", "Whole", (Home("b.py", ()),), (), "planned"),
    ]


@pytest.mark.parametrize(("old", "new"), [("| built |", "| done |"), ("| none |", "|"), ("| none |", "| | |")])
def test_a_row_that_cannot_be_read_is_told(old: str, new: str) -> None:
    with pytest.raises(ValueError, match=r"^A1: "):
        list(read_rows(TABLE.replace(old, new)))


def test_the_literature_has_114_rows() -> None:
    assert len(IDS) == 114
    assert IDS[0] == "A1"
    assert IDS[-1] == "J18"


def test_a_proved_row_counts(package: Path) -> None:
    report = check(all_rows(row("A1", "built", "a.py", "A", "run", "TABLE", "SIZE")), [PROOF], package)
    assert report.problems == {}
    assert report.proved == 1


@pytest.mark.parametrize(
    ("first", "mark", "message"),
    [
        (row("A1", "built", "b.py"), PROOF, "home b.py does not exist"),
        (row("A1", "built", "a.py", "B"), PROOF, "a.py has no B"),
        (Row("A1", "term", (), (), "built"), PROOF, "names no home"),
        (row("A1", "built"), PROOF._replace(collected=False), "pytest does not collect it"),
        (row("A1", "built")._replace(settings=("model.sizee: 3",)), PROOF, "model.sizee"),
    ],
)
def test_an_untrue_row_does_not_count(package: Path, first: Row, mark: Mark, message: str) -> None:
    report = check(all_rows(first), [mark], package)
    assert message in report.problems["A1"][0]
    assert report.proved == 0


@pytest.mark.parametrize(("row_id", "message"), [("B99", "no row of the literature"), (None, "must be written out")])
def test_a_mark_of_no_row_is_told(package: Path, row_id: str | None, message: str) -> None:
    report = check(all_rows(row("A1")), [PROOF._replace(rows=(row_id,))], package)
    assert message in report.problems[""][0]


def test_missing_and_repeated_rows_are_told(package: Path) -> None:
    rows = all_rows(row("A1"))
    (problem,) = check([*rows[:-1], rows[0]], [], package).problems[""]
    assert "missing J18, unknown or twice A1" in problem


def test_marks_are_found_wherever_pytest_allows_them(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_one.py").write_text(
        "pytestmark = [pytest.mark.spec('A1')]\n"
        "@pytest.mark.spec('A2', 'A3')\n"
        "class TestGroup:\n"
        "    @pytest.mark.spec('A4')\n"
        "    def test_it(self): ...\n"
        "@pytest.mark.parametrize('n', [pytest.param(1, marks=pytest.mark.spec('A5'))])\n"
        "def test_numbers(n): ...\n"
        "@pytest.mark.spec(ROW)\n"
        "def test_hidden(): ...\n"
        "@pytest.mark.spec('A6')\n"
        "def helper(): ...\n",
        encoding="utf-8",
    )
    (folder / "helpers.py").write_text("@pytest.mark.spec('A7')\ndef test_it(): ...\n", encoding="utf-8")
    assert list(marks(folder)) == [
        Mark("tests/helpers.py::test_it", ("A7",), False),
        Mark("tests/test_one.py", ("A1",), True),
        Mark("tests/test_one.py::TestGroup", ("A2", "A3"), True),
        Mark("tests/test_one.py::TestGroup::test_it", ("A4",), True),
        Mark("tests/test_one.py::test_numbers", ("A5",), True),
        Mark("tests/test_one.py::test_hidden", (None,), True),
        Mark("tests/test_one.py::helper", ("A6",), False),
    ]


def test_marks_of_what_pytest_does_not_run_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_one.py").write_text(
        "def test_outer():\n"
        "    @pytest.mark.spec('A1')\n"
        "    def test_inner(): ...\n"
        "@pytest.mark.spec('A2')\n"
        "class testing:\n"
        "    def test_it(self): ...\n"
        "@pytest.mark.spec('A3')\n"
        "class TestMade:\n"
        "    def __init__(self): ...\n"
        "    def test_it(self): ...\n"
        "if False:\n"
        "    @pytest.mark.spec('A4')\n"
        "    def test_never(): ...\n"
        "UNUSED = pytest.mark.spec('A5')\n"
        "@pytest.fixture\n"
        "@pytest.mark.spec('A6')\n"
        "def test_data(): ...\n"
        "@pytest.mark.spec('A7')\n"
        "def test_twice(): ...\n"
        "def test_twice(): ...\n"
        "@pytest.mark.spec('A8')\n"
        "class TestEmpty: ...\n"
        "@pytest.mark.skip(reason='one day')\n"
        "@pytest.mark.spec('A9')\n"
        "def test_skipped(): ...\n"
        "@pytest.mark.skip(reason='one day')\n"
        "class TestSkipped:\n"
        "    @pytest.mark.spec('B1')\n"
        "    def test_it(self): ...\n"
        "pytestmark = [pytest.mark.skip(reason='one day'), pytest.mark.spec('B2')]\n",
        encoding="utf-8",
    )
    test_marks = list(marks(folder))
    rows = [*(f"A{number}" for number in range(1, 10)), "B1", "B2"]
    assert sorted(row for mark in test_marks for row in mark.rows if row) == rows
    assert not any(mark.collected for mark in test_marks)


@pytest.mark.parametrize("setting", ["seed: 3", "model.encoder: {kind: rnn, size: 8}", "dragoman train"])
def test_a_setting_that_exists_passes(setting: str) -> None:
    assert list(problems_of_setting(setting)) == []


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model.encoder.sizee: 3", "model.encoder.sizee"),
        ("model.attention.score: dott", "dot"),
        ("search.kind: beem", "beam"),
        ("training.objective: teacher_forced", "teacher_forcing"),
        ("text.source.tokenizer: bp", "bpe"),
        ("quickly", "neither"),
        ("dragoman trian", "no command trian"),
        ("dragoman train --fast", "no option --fast"),
    ],
)
def test_a_setting_that_does_not_exist_is_told(setting: str, message: str) -> None:
    assert message in "\n".join(problems_of_setting(setting))


@pytest.mark.parametrize(
    ("setting", "parts"),
    [
        ("model.bridge: mean", [("model/bridge.py", "MeanBridge")]),
        (
            "model.encoder.kind: self_attention; model.bridge: mean",
            [("model/encoder/transformer_encoder.py", "SelfAttentionEncoder")],
        ),
        ("metrics: [bleu, ter]", [("evaluation/metrics/sacre.py", "Bleu"), ("evaluation/metrics/sacre.py", "Ter")]),
        ("model.bridge: meen", []),
        ("model.encoder.cell: lstm", []),
        ("dragoman train", []),
        ("always", []),
    ],
)
def test_a_setting_has_the_parts_that_its_first_key_names(setting: str, parts: list[tuple[str, str]]) -> None:
    assert list(parts_of_setting(setting)) == parts


def test_a_row_is_built_when_a_test_proves_it() -> None:
    assert derived(row("A1", "planned"), {"A1"}) == row("A1", "built")
    assert derived(row("A1", "built"), {"A2"}) == row("A1", "planned")


def test_a_row_whose_home_is_a_page_is_documented(package: Path) -> None:
    """It counts as long as the page is there, and a test looks at what it says."""
    page_row = row("A1", "planned", "page.md")
    assert derived(page_row, {"A1"}) == row("A1", "documented", "page.md")
    assert derived(page_row, {"A2"}).status == "planned"
    assert derived(page_row._replace(homes=(*page_row.homes, Home("a.py", ("A",)))), {"A1"}).status == "built"
    rows = all_rows(row("A1", "documented", "page.md"))
    inner = package / "dragoman"
    inner.mkdir()
    assert "home page.md does not exist" in check(rows, [PROOF], inner).problems["A1"][0]
    (package / "docs").mkdir()
    (package / "docs/page.md").touch()
    report = check(rows, [PROOF], inner)
    assert (report.problems, report.proved) == ({}, 1)


def test_what_a_configuration_names_is_at_home_where_it_stands() -> None:
    """A further home of the row, listed once, in the place of the planned one."""
    named_row = row("A1")._replace(
        homes=(Home("b.py", ("run",)), Home("planned.py", ())), settings=("metrics: [bleu, ter]",)
    )
    (home, metrics) = derived(named_row, {}).homes
    assert (home, metrics) == (Home("b.py", ("run",)), Home("evaluation/metrics/sacre.py", ("Bleu", "Ter")))
    again = named_row._replace(homes=(Home("evaluation/metrics/sacre.py", ("Metric", "Ter")),))
    assert derived(again, {}).homes == (Home("evaluation/metrics/sacre.py", ("Metric", "Ter", "Bleu")),)


def test_a_page_is_filled_with_homes_and_status_and_nothing_else() -> None:
    rows = list(read_rows(TABLE))
    assert filled(TABLE, rows) == TABLE
    (first, second) = rows
    changed = filled(
        TABLE, [first._replace(status="planned"), second._replace(homes=(Home("c.py", ("C",)), Home("d.py", ())))]
    )
    assert changed == TABLE.replace("| built |", "| planned |").replace(
        "| `b.py` | always", "| `c.py`: `C`; `d.py` | always"
    )


@pytest.mark.slow
def test_every_built_row_of_this_repository_is_proved(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status = main([])
    output = capsys.readouterr().out
    assert status == 0, output
    assert output.splitlines()[-1].startswith("rows: ")
    assert output.endswith(" of 114\n")
    page = tmp_path / "literature.md"
    text = PAGE.read_text("utf-8")
    page.write_text(
        text.replace("`model/attention/scores.py`: `DotScore`", "`model/scores.py`").replace(
            "| built |", "| planned |", 1
        )
    )
    assert main([], page) == 1
    printed = capsys.readouterr().out
    assert [line.split(":")[0] for line in printed.splitlines() if "`make spec` writes them" in line] == ["A1", "B1"]
    assert main(["--write"], page) == 0
    assert page.read_text("utf-8") == text

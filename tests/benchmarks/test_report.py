"""The table, the file, and the comparison with an earlier file."""

from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.contest import Figures
from benchmarks.provenance import Provenance
from benchmarks.report import Report, Row, table
from dragoman.errors import UserError

MADE = Provenance("1a2b", False, "3c4d", "processor", 2, "3.11", "2.7", "0.2.0", "2026-11-23")
PLAIN = Figures(tokens=1000, tokens_cpu=1100, sentences=70, sentences_cpu=77, peak=900_000_000)
FAST = Figures(tokens=3000, tokens_cpu=3300, sentences=210, sentences_cpu=231, peak=600_000_000)


def report(fast: Figures = FAST) -> Report:
    rows = [
        Row("train", 80, 1, "dragoman, plain", PLAIN, 0.25),
        Row("train", 80, 1, "dragoman, fast", fast, 0.5),
        Row("train", 80, 1, "Peer 1.0", PLAIN),
    ]
    return Report("machine", "corpus", MADE, {"float32": 80e9, "bfloat16": 200e9}, rows)


def lines(shown: Report, before: Report | None = None) -> list[str]:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(table(shown, before))
    return captured.get().splitlines()


def line(table_lines: list[str], name: str) -> list[str]:
    (one,) = [table_line for table_line in table_lines if name in table_line]
    return [cell.strip() for cell in one.strip("│").split("│")]


def test_the_table_compares_with_the_plain_path() -> None:
    table_lines = lines(report())
    assert "float32 80, bfloat16 200" in table_lines[2]
    assert line(table_lines, "dragoman, plain")[-2:] == ["1.00", "25%"]
    assert line(table_lines, "dragoman, fast")[-7:] == ["3,000", "3,300", "210", "231", "600", "3.00", "50%"]
    assert line(table_lines, "Peer 1.0")[-2:] == ["1.00", ""]


def test_every_figure_stands_beside_its_ratio_to_the_earlier_one() -> None:
    earlier = report(Figures(tokens=1500, tokens_cpu=3300, sentences=105, sentences_cpu=210, peak=1_200_000_000))
    cells = line(lines(report(), earlier), "dragoman, fast")
    assert cells[-7:-2] == ["3,000 [2.00]", "3,300 [1.00]", "210 [2.00]", "231 [1.10]", "600 [0.50]"]


def test_figures_without_an_earlier_one_stand_alone() -> None:
    earlier = report()
    del earlier.rows[1]
    assert line(lines(report(), earlier), "dragoman, fast")[-7] == "3,000"


def test_a_written_report_is_read_as_it_was(tmp_path: Path) -> None:
    report().write(tmp_path / "figures.json")
    assert Report.read(tmp_path / "figures.json") == report()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"rows": [{}]}', '{"rows": [], "strange": 1}', '{"rows": [], "provenance": {}}']
)
def test_another_file_is_not_taken_for_a_report(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"other\.json: not a report"):
        Report.read(path)


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.json: cannot read"):
        Report.read(tmp_path / "none.json")
    with pytest.raises(UserError, match="cannot write"):
        report().write(tmp_path / "none" / "figures.json")


def test_a_term_is_compared_with_the_training_without_one_above_it() -> None:
    rows = [Row("terms", 80, 1, who, figures) for who, figures in (("additive", PLAIN), ("+ coverage", FAST))]
    rows += [Row("terms", 80, 1, "additive", FAST), Row("terms", 80, 1, "+ markov", PLAIN)]
    table_lines = lines(Report("machine", "corpus", MADE, {}, rows))
    assert line(table_lines, "+ coverage")[-2:] == ["3.00", ""]
    assert line(table_lines, "+ markov")[-2:] == ["0.33", ""]

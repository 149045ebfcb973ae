"""The check of names finds words and phrases that say nothing, wherever they can stand, and no others."""

from pathlib import Path

import pytest

from tools.names import faults, main


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "_found: int = 1",
        "for each in []: pass",
        "[each for each in []]",
        "with open('x') as told: pass",
        "def load(given): pass",
        "def load(*, given=1): pass",
        "lambda *some: 1",
        "if (made := 1): pass",
        "try: pass\nexcept ValueError as known: pass",
        "match 1:\n    case [*others]: pass",
        "match 1:\n    case {**those}: pass",
        "match 1:\n    case int() as asked: pass",
        "self.said = 1",
        "class Line:\n    every: int",
        "def _told(): pass",
        "def _always(): pass",
        '"""What is done with it, or what is done with gradients."""',
        "x = 1  # the second is told by its name",
        'Option(help="Which file; UserError if it is none.")',
        'Field(description="what else has a say")',
        'def load():\n    """Load it. UserError if the\n    file is none."""',
    ],
)
def test_a_name_or_phrase_that_says_nothing_is_a_fault(source: str) -> None:
    assert list(faults("x.py", source))


@pytest.mark.parametrize(
    "source",
    [
        "tokens = [token for token in found]",
        "from hypothesis import given",
        "founded = 1",
        "always = 1",
        'print("what is done with gradients")',
        "x = 1  # None if there is none",
        "x = 1  # it is none of these",
    ],
)
def test_other_names_and_phrases_are_no_faults(source: str) -> None:
    assert list(faults("x.py", source)) == []


def test_the_line_of_a_phrase_is_told() -> None:
    (fault,) = faults("x.py", 'def load():\n    """Load.\n\n    What else is read.\n    what else\n    """')
    assert str(fault) == "x.py:5: 'what else': say it in plain words"


def test_files_are_printed_or_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (
        "dragoman/text/unit.py",
        "dragoman/corpus/unit.py",
        "dragoman/corpus/table.py",
        "dragoman/text/table.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    assert main([], tmp_path) == 1
    assert capsys.readouterr().out == "dragoman/text/unit.py:1: dragoman/corpus/unit.py has the same name\n"
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_x.py").write_text("x = 1\nfound = x\n", encoding="utf-8")
    assert main(["--count"], tmp_path) == 1
    assert capsys.readouterr().out.split() == ["1", "dragoman/text", "1", "tests", "2", "in", "all"]
    (tmp_path / "tests/test_x.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "dragoman/text/unit.py").unlink()
    assert main([], tmp_path) == 0


def test_a_class_has_its_name_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, classes in (("a", "Options _Local Pair"), ("b", "Options _Local Pair Other")):
        path = tmp_path / "dragoman" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"class {cls}: ...\n" for cls in classes.split()), encoding="utf-8")
    assert main([], tmp_path) == 1
    assert capsys.readouterr().out == "dragoman/b.py:3: dragoman/a.py has a class Pair too\n"

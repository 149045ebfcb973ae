"""The trace of a plain sentence through `dragoman translate`: how many files it enters, and which."""

from pathlib import Path

import pytest

from tests import toy
from tools.trace import LOADING, MOST_FILES, TRANSFORMS, TRANSLATING, main, problems, trace


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.trained(tmp_path_factory.getbasetemp())


@pytest.mark.slow
def test_a_plain_sentence_enters_few_files_and_no_transform(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(run), "one two three"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("trois deux un\n")
    assert " search/beam.py\n" in output.partition("while translating: ")[2]
    assert " run/run.py\n" not in output.partition("while translating: ")[2]


@pytest.mark.slow
def test_what_is_not_plain_enters_its_transform(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(run), "ONE TWO THREE"]) == 1
    assert "translation/transforms/casing.py: entered, though the sentence is plain" in capsys.readouterr().out


def test_files_are_counted_by_phase(run: Path) -> None:
    calls = trace(run, "one two")
    assert calls[LOADING]["run/run.py"] > 0 == calls[TRANSLATING]["run/run.py"]
    assert calls[TRANSLATING]["search/decoding.py"] > 0 == calls[LOADING]["search/decoding.py"]


def test_too_many_files_are_a_problem() -> None:
    files = [f"{number}.py" for number in range(MOST_FILES)]
    assert problems(files) == []
    assert problems([*files, "a.py"]) == [f"{MOST_FILES + 1} files while translating, at most {MOST_FILES} expected"]
    assert problems([f"{TRANSFORMS}casing.py"]) == [f"{TRANSFORMS}casing.py: entered, though the sentence is plain"]

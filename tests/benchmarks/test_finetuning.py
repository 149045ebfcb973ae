"""Fine-tuning beside the trainer of another program: what is measured, and how it is shown."""

import sys

import pytest

from benchmarks import finetuning
from benchmarks.contest import Figures
from benchmarks.jobs import Job


def test_both_programs_train_with_batches_of_as_many_sentences() -> None:
    named = finetuning.contenders(Job("train", rows=32, threads=1, folder="corpus"), "other-python")
    assert len({contender.name for contender in named}) == len(named) == 6
    for contender in named:
        own = contender.name.startswith("dragoman")
        assert contender.python == (sys.executable if own else "other-python")
        assert contender.job.rows == 32
        assert contender.job.precision == contender.name.split(", ")[-1]
        assert contender.job.overrides.get("training.batch.size") == ("32" if own else None)
        assert ("group_by_length" in contender.job.overrides) == ("group_by_length" in contender.name)


def test_a_program_that_failed_is_a_row_with_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    finetuning.show({"one": Figures(1234.4, 600.0, 10.0, 5.0, 3_490_000_000), "other": "no module named transformers"})
    shown = capsys.readouterr().out.splitlines()
    assert shown[2:] == ["| one | 1,234 | 600 | 3.49 |", "| other | no module named transformers |  |  |"]

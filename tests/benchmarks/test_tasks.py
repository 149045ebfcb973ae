"""The table of tasks: every row is a sound configuration, and a trained row becomes a line."""

import gzip
from pathlib import Path

import pytest

from benchmarks import provenance, tasks
from benchmarks.prepared import Row
from benchmarks.tasks import PARTS, Result, Task, config, evenly, prepare, table
from dragoman.errors import UserError
from dragoman.files.reading import read_lines
from dragoman.run.run import Run
from dragoman.training import checks

LINES = {
    "g2p": "ab\ta b\n",
    "inflection": "ab\tx=1,y=2\tabb\n",
    "histnorm": "ab\tabb\n",
    "scan": "IN: jump twice OUT: I_JUMP I_JUMP\n",
}
TINY = """
data: {source: source, target: target, train: train.tsv, dev: dev.tsv}
text: {shared_vocabulary: false, source: {tokenizer: character}, target: {pretokenizer: whitespace, tokenizer: word}}
model: {embedding: {size: 4}, encoder: {kind: rnn, size: 2}, decoder: {kind: rnn, size: 4}}
training: {epochs: 2, batch: {size: 8}, schedule: cosine, metric: exact_match}
metrics: exact_match
"""


def write(data: Path, task: Task, count: int = 40) -> None:
    """Files of a task with so many examples."""
    for part in PARTS:
        path = data / task.files.format(part)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(LINES[task.format] * count, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.spec("E4")
@pytest.mark.parametrize("task", tasks.tasks(), ids=lambda task: task.name)
def test_every_row_is_a_sound_configuration(task: Task, tmp_path: Path) -> None:
    write(tmp_path, task)
    prepare(task, tmp_path, tmp_path / "texts")
    task_config = config(task, tmp_path / "texts", tmp_path / "run")
    assert task_config.training.metric == "exact_match"
    assert list(checks.problems(task_config)) == []
    assert task_config.training.schedule.kind == "cosine"
    assert "steps" not in task_config.training.schedule.options


def test_no_two_rows_have_one_folder() -> None:
    assert len({task.row.slug for task in tasks.tasks()}) == len(tasks.tasks())


def test_examples_for_development_are_held_out_where_a_set_has_none(tmp_path: Path) -> None:
    task = Task(Row("scan, simple", tmp_path), "scan", "{}.txt", 99.8)
    lines = [f"IN: c{number} OUT: A{number}" for number in range(1, 46)]
    for part in ("train", "test"):
        (tmp_path / f"{part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    prepare(task, tmp_path, tmp_path / "texts")
    assert list(read_lines(tmp_path / "texts" / "dev.tsv")) == ["c20\tA20", "c40\tA40"]
    train = list(read_lines(tmp_path / "texts" / "train.tsv"))
    assert len(train) == 43
    assert not {"c20\tA20", "c40\tA40"} & set(train)
    packed = task._replace(files="packed_{}.txt")
    for part in ("train", "dev", "test"):
        (tmp_path / f"packed_{part}.txt.gz").write_bytes(gzip.compress(b"IN: a OUT: A\n"))
    prepare(packed, tmp_path, tmp_path / "packed")
    assert list(read_lines(tmp_path / "packed" / "dev.tsv")) == ["a\tA"]
    with pytest.raises(UserError, match="none_train"):
        prepare(task._replace(files="none_{}.txt"), tmp_path, tmp_path / "other")


def test_evenly() -> None:
    assert evenly("abc", None) == evenly("abc", 3) == evenly("abc", 7) == ["a", "b", "c"]
    assert evenly("abcdefghij", 4) == ["a", "c", "f", "h"]


@pytest.mark.slow
def test_a_row_is_trained_once_and_becomes_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY, encoding="utf-8")
    task = Task(Row("g2p low, xx", tmp_path / "tiny.yaml"), "g2p", "xx_{}.tsv", 20.0, errors=True, models=2)
    monkeypatch.setattr(tasks, "tasks", lambda: [task])
    options = ["--folder", str(tmp_path / "table"), "--data", str(tmp_path)]
    write(tmp_path, task)
    assert tasks.main([*options, "--row", "g2p low, xx"]) == 0
    one, other = (Run.load(tmp_path / "table" / "g2p-low-xx" / f"seed-{seed}") for seed in (1, 2))
    assert (one.config.seed, other.config.seed) == (1, 2)
    counts = [sum(parameter.numel() for parameter in run.model().parameters()) for run in (one, other)]
    result = tmp_path / "table" / "g2p-low-xx.json"
    assert provenance.read(result)["parameters"] == sum(counts)
    assert (origin := provenance.origin(result)) is not None
    assert origin.configuration == provenance.digest(one.config, other.config)
    monkeypatch.setattr(tasks, "apart", lambda module, todo, workers, console: 0 if not todo else pytest.fail("again"))
    assert tasks.main([*options, "--only", "g2p low"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "xx" in line]
    assert line.startswith("| g2p low, xx | WER | 20.00 | ")
    assert tasks.main([*options, "--only", "g2p lo"]) == 1
    assert "'g2p low'" in capsys.readouterr().err


def test_the_mean_of_a_kind_says_of_how_many() -> None:
    chosen_tasks = [task for task in tasks.tasks() if task.kind in ("scan", "g2p low", "inflection")]
    result = Result(dev=90.0, test=80.0, tokens=5.0, parameters=1000, minutes=2.0, processor=1.0)
    results = {task.name: result for task in chosen_tasks if task.kind == "inflection"}
    results["scan, simple"] = result
    results["scan, length"] = results["g2p low, ady"] = result
    results["g2p low, gre"] = result._replace(test=10.0)
    lines = list(table(chosen_tasks, results))
    assert "| scan, simple | accuracy | 99.80 | 80.00 | 90.00 | 5.00 | 2.0 | 1.0 | 1,000 |" in lines
    assert "| **g2p low, mean of 2 of 9** | WER | 21.50 | 55.00 | 10.00 | 5.00 | | | |" in lines
    assert not any("**scan" in line for line in lines)  # its rows are no sample of anything
    published = sum(tasks.INFLECTION.values()) / 9
    assert f"| **inflection, mean** | accuracy | {published:.2f} | 80.00 | 90.00 | 5.00 | | | |" in lines

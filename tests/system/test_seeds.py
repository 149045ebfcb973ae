"""`dragoman train --seeds`: several runs, one table."""

import json
from pathlib import Path
from statistics import fmean, stdev

import pytest

from tests.system.conftest import Shell

FEW = ("--training.steps=3", "--training.validate_every=2", "--training.save_every=1")


def final(folder: Path) -> dict[str, float]:
    row: dict[str, float] = json.loads((folder / "metrics.jsonl").read_text("utf-8").splitlines()[-1])
    return row


def weights(shell: Shell, run: str) -> bytes:
    return (shell.folder / run / "model.safetensors").read_bytes()


@pytest.mark.slow
def test_several_seeds_are_trained_and_their_spread_is_shown(shell: Shell) -> None:
    message = shell("train", "toy.yaml", "--seeds", "3", *FEW)
    assert message.code == 0, message.err
    runs = [f"runs/toy-{seed}" for seed in (3, 4, 5)]
    finals = [final(shell.folder / run) for run in runs]
    columns = [[row[f"final/{name}"] for row in finals] for name in ("bleu", "chrf", "loss")]
    rows = {line[:20].strip(): line[20:].split() for line in message.lines}
    assert rows["development data"] == ["bleu", "chrf", "loss"]
    for number, run in enumerate(runs):
        assert rows[run] == [f"{column[number]:.2f}" for column in columns]
    assert rows["mean"] == [f"{fmean(column):.2f}" for column in columns]
    assert rows["standard deviation"] == [f"{stdev(column):.2f}" for column in columns]
    baselines = json.loads((shell.folder / runs[0] / "run.json").read_text("utf-8"))["baselines"]["baselines"]
    for baseline in baselines:
        assert rows[baseline["name"]] == [*(f"{baseline['scores'][kind][1]:.2f}" for kind in ("bleu", "chrf")), "-"]
    assert list(rows) == [
        "development data",
        *runs,
        "mean",
        "standard deviation",
        *(baseline_row["name"] for baseline_row in baselines),
    ]
    assert "dragoman report runs/toy-3 runs/toy-4 runs/toy-5 -o seeds.html" in message.err
    alone = shell("train", "toy.yaml", "--run=runs/alone", "--seed=4", *FEW)
    assert alone.code == 0
    assert weights(shell, "runs/alone") == weights(shell, "runs/toy-4")
    assert weights(shell, "runs/toy-3") != weights(shell, "runs/toy-4")


@pytest.mark.slow
def test_the_same_command_goes_on_where_it_stopped(shell: Shell) -> None:
    words = ("train", "toy.yaml", "--seeds=2", *FEW)
    assert shell("train", "toy.yaml", "--seeds=2", "--run=runs/whole", *FEW).code == 0
    killed = shell.kill("step", 10, *words)
    assert killed.code == -9
    assert (shell.folder / "runs/toy-3/README.md").is_file()
    assert not (shell.folder / "runs/toy-4/README.md").is_file()
    before = (shell.folder / "runs/toy-3/report.html").stat().st_mtime_ns
    message = shell(*words)
    assert "runs/toy-3: training has finished" in message.err
    assert "runs/toy-4: resuming from step" in message.err
    assert (shell.folder / "runs/toy-3/report.html").stat().st_mtime_ns == before
    for seed in (3, 4):
        assert weights(shell, f"runs/toy-{seed}") == weights(shell, f"runs/whole-{seed}")


@pytest.mark.slow
def test_several_seeds_may_start_from_a_run(copied: Shell) -> None:
    pairs = zip(
        *((copied.folder / f"train.{name}").read_text("utf-8").splitlines() for name in ("en", "fr")), strict=True
    )
    copied.write("more.tsv", "en\tfr\n" + "".join("\t".join(pair) + "\n" for pair in pairs))
    outcome = copied("train", "--finetune", "runs/toy", "more.tsv", "--seeds", "2", "--training.steps=2")
    assert outcome.code == 0, outcome.err
    for seed in (3, 4):
        assert (copied.folder / f"runs/toy-more-{seed}/model.safetensors").is_file()
    assert (copied.folder / "runs/toy-more-data/dev.en").is_file()
    assert outcome.lines[1].startswith("runs/toy-more-3 ")


@pytest.mark.parametrize("count", ["1", "0", "two"])
def test_a_number_that_has_no_spread_is_refused(count: str, shell: Shell) -> None:
    assert shell("train", "toy.yaml", "--seeds", count).code == 2
    assert not (shell.folder / "runs").exists()

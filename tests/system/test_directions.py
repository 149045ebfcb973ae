"""One training, two translators: `train` with the objective agreement, and what can be done with each run."""

import pytest

from tests.system.conftest import Shell


@pytest.mark.spec("B20")
@pytest.mark.slow
def test_train_makes_a_run_for_each_direction(shell: Shell) -> None:
    trained = shell("train", "toy.yaml", "--training.objective", "agreement")
    assert trained.code == 0, trained.err
    assert "en to fr  " in trained.err
    assert "fr to en  " in trained.err
    for run, text, other in (("runs/toy", "two three", "trois deux"), ("runs/toy/reverse", "trois deux", "two three")):
        source, target = shell.write("source", text + "\n"), shell.write("target", other + "\n")
        translated = shell("translate", run, source, "--alignments")
        assert translated.code == 0, translated.err
        assert len(translated.lines) == 1
        aligned = shell("align", run, source, target)
        assert aligned.code == 0, aligned.err
        assert [link.split("-")[1] for link in aligned.lines[0].split()] == ["0", "1"]
        assert (shell.folder / run / "report.html").is_file()
        assert shell("report", run).code == 0
    info = shell("info", "runs/toy/reverse")
    assert "fr to en" in info.out
    again = shell("train", "toy.yaml", "--training.objective", "agreement")
    assert again.code == 0, again.err
    assert "training has finished" in again.err

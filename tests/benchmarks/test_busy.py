"""A command beside busy processes."""

import subprocess
import sys
from typing import Any

import pytest

from benchmarks import busy
from benchmarks.busy import Seconds, counting, fair


@pytest.mark.parametrize(
    ("alone", "beside", "cores", "share"),
    [
        (Seconds(2, 2), 0, 2, 2),
        (Seconds(2, 2), 1, 2, 2),
        (Seconds(2, 2), 2, 2, 3),  # three threads on two cores
        (Seconds(2, 4), 2, 2, 4),  # four
        (Seconds(2, 3), 4, 2, 5.5),
        (Seconds(2, 2), 4, 16, 2),
    ],
)
def test_a_fair_share(alone: Seconds, beside: int, cores: int, share: float) -> None:
    assert fair(alone, beside, cores) == share


def test_busy_processes_end_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def start(words: list[str], **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(words, **options))
        return started[-1]

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(KeyboardInterrupt), counting(2):
        raise KeyboardInterrupt
    assert len(started) == 2
    assert all(process.returncode for process in started)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_prints_a_row_for_each_way(capsys: pytest.CaptureFixture[str]) -> None:
    busy.main(["--tiny", "--lines", "2", "--busy", "0", "--rounds", "1"])
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    ways = [[row[0].removeprefix("| "), row[1]] for row in rows[1:4]]
    assert ways == [["0", way] for way in busy.ways()]
    assert [row[0].removeprefix("| ") for row in rows[5:]] == list(busy.WAITS)
    assert all(float(row[1].replace(",", "")) > 0 for row in rows[5:])


@pytest.mark.slow
def test_before_means_all_threads_in_small_steps_too() -> None:
    code = busy.BEFORE.replace("cli.main()", "print(devices.SMALL)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"

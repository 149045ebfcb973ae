"""The benchmark of windows runs."""

import pytest

from benchmarks import windows


@pytest.mark.slow
def test_prints_a_row_for_each_window_and_length(capsys: pytest.CaptureFixture[str]) -> None:
    windows.main(["--tiny", "--lengths", "5", "30", "--rounds", "1"])
    printed = capsys.readouterr().out
    assert [printed.count(window) for window in windows.WINDOWS] == [2, 2, 2]

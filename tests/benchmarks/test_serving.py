"""The service under load, on a tiny model."""

import re

import pytest

pytest.importorskip("fastapi")
from benchmarks.serving import main


@pytest.mark.slow
def test_every_request_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tiny"]) == 0
    told = capsys.readouterr().out
    rows = re.findall(r"\| (1|64) \| ([\d.]+) \| [\d.]+ \| [\d.]+ \| 0 \|", told)
    assert [clients for clients, _ in rows] == ["1", "64"]
    assert all(float(rate) > 0 for _, rate in rows)
    assert re.search(r"Memory: \d+ MB after 10 requests, [+-][\d.]+ % after 100 more\.", told)
    assert "20 clients at once: 20 with 200 (0 with Retry-After)" in told
    assert re.search(r"A text of 1[89]\d\d characters \(answered with 200", told.replace(",", ""))

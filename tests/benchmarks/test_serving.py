"""The service under load, on a tiny model."""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
from benchmarks import serving
from benchmarks.serving import Answer, Found, beside, crowd, main, memory, rates

GOOD = Answer(200, later=False, seconds=0.1)
BAD = GOOD._replace(status=503)


class Canned:
    """A server with answers that are known, and its memory then."""

    address = ("", 0)

    def __init__(self, *answers: list[Answer], memory: tuple[int, ...] = ()) -> None:
        self._answers, self._memory = iter(answers), iter(memory)

    @property
    def memory(self) -> int:
        return next(self._memory)

    async def collect_answers(self, *_: object) -> list[Answer]:
        return next(self._answers)


def missed(measured: Any, server: Canned, size: int = 10) -> list[str]:
    findings: Found = asyncio.run(measured(server, repeat("one"), size))
    return findings.missed


def test_bounds() -> None:
    one, many = [GOOD] * 10, [GOOD] * 50
    assert missed(rates, Canned([], one, many)) == []
    assert missed(rates, Canned([], one, many[1:])) == ["64 clients have 4.90 times as many answers as one, not 5"]
    slow = [answer._replace(seconds=1.1) for answer in many]
    assert missed(rates, Canned([], one, slow)) == ["99 % are answered in 1.100 s, not in 1"]
    assert missed(rates, Canned([], one, [BAD, *many])) == ["1 requests of 1 and 64 clients failed"]
    assert missed(memory, Canned(one, one, memory=(100, 104))) == []
    assert missed(memory, Canned(one, one, memory=(100, 106))) == ["memory grows by 6.0 %, not 5"]
    assert missed(memory, Canned(one, [BAD], memory=(9, 9))) == ["1 requests failed while memory was measured"]
    assert missed(crowd, Canned(one)) == []
    assert missed(crowd, Canned([BAD, GOOD]), 1_000) == ["1 of 1,000 clients at once failed"]


@pytest.mark.parametrize(
    ("seconds", "status", "messages"),
    [
        (1.0, 200, []),
        (1.2, 200, ["a long text delays short ones by 1.10 s, not 1"]),
        (1.0, 503, ["1 requests beside a long text failed"]),
    ],
)
def test_a_long_text_delays_no_others(
    seconds: float, status: int, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[str] = []

    class Client:
        def __init__(self, _: object) -> None:
            pass

        async def ask(self, text: str) -> Answer:
            requests.append(text)
            if len(text) > 3:
                await asyncio.sleep(0.02)
                return GOOD._replace(status=status)
            return GOOD if len(requests) <= 20 else GOOD._replace(seconds=seconds)

    monkeypatch.setattr(serving, "Client", Client)
    assert missed(beside, Canned(), 300) == messages


@pytest.mark.parametrize(("options", "status"), [([], 1), (["--tiny"], 0)])
def test_a_missed_bound_is_status_1(
    options: list[str], status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def served(*_: object) -> Iterator[Canned]:
        yield Canned()

    async def measured(*_: object, **__: object) -> Found:
        return Found(["a line"], ["memory grows by 6.0 %, not 5"])

    monkeypatch.setattr(serving, "serving", served)
    monkeypatch.setattr(serving, "measured", measured)
    assert main([f"--run={Path()}", *options]) == status
    out, err = capsys.readouterr()
    assert "a line" in out
    assert err == ("memory grows by 6.0 %, not 5\n" if status else "")


@pytest.mark.slow
def test_every_request_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tiny"]) == 0
    output = capsys.readouterr().out
    rows = re.findall(r"\| (1|64) \| ([\d.]+) \| [\d.]+ \| [\d.]+ \| 0 \|", output)
    assert [clients for clients, _ in rows] == ["1", "64"]
    assert all(float(rate) > 0 for _, rate in rows)
    assert re.search(r"Memory: \d+ MB after 10 requests, [+-][\d.]+ % after 100 more\.", output)
    assert "20 clients at once: 20 with 200 (0 with Retry-After)" in output
    assert re.search(r"A text of 1[89]\d\d characters \(answered with 200", output.replace(",", ""))

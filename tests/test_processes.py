"""Which of several processes this one is."""

import pytest

from dragoman import threads
from dragoman.threads import Process


def test_a_process_of_its_own_is_the_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert threads.process() == Process(rank=0, count=1, local_rank=0, local_count=1)
    assert threads.process().leads


def test_torchrun_tells_each_process_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "6", "WORLD_SIZE": "8", "LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "4"}.items():
        monkeypatch.setenv(name, value)
    assert threads.process() == Process(rank=6, count=8, local_rank=2, local_count=4)
    assert not threads.process().leads

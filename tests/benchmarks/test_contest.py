"""Processes side by side: figures of rounds, and processes that fail."""

import sys

import pytest

from benchmarks.contest import Contender, Figures, measure
from benchmarks.jobs import Job
from benchmarks.rounds import Rounds, Updates

JOB = Job("greedy", rows=1, threads=1, folder="nowhere")


def contender(module: str, name: str = "it") -> Contender:
    return Contender(name, sys.executable, module, JOB)


def test_figures_are_medians_of_rates_and_the_highest_peak() -> None:
    rounds = [
        {"tokens": 10, "sentences": 2, "seconds": seconds, "cpu_seconds": 1.0, "peak": peak}
        for seconds, peak in ((1.0, 7), (2.0, 9), (10.0, 8))
    ]
    assert Figures.of(rounds) == Figures(tokens=5, tokens_cpu=10, sentences=1, sentences_cpu=2, peak=9)


def test_contenders_are_measured_in_processes_of_their_own() -> None:
    figures_by_name = measure(
        [contender("tests.benchmarks.contender", "a"), contender("tests.benchmarks.contender", "b")], 2
    )
    assert list(figures_by_name) == ["a", "b"]
    for figures in figures_by_name.values():
        assert isinstance(figures, Figures)
        assert figures.tokens == pytest.approx(3 * figures.sentences)
        assert figures.peak == 5_000_000


def test_a_contender_that_fails_says_why_and_stops_no_other() -> None:
    figures = measure([contender("tests.benchmarks.contender", "early"), contender("no.such.module", "never")], 3)
    assert figures["early"] == "ValueError: no third round"
    assert "No module named 'no'" in str(figures["never"])


def test_a_job_arrives_as_it_was_sent() -> None:
    assert Job.read(str(JOB)) == JOB


class Recorder(Rounds):
    """Notes what is asked of it."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def wait(self) -> None:
        self.calls.append("wait")

    def count(self, tokens: int, sentences: int) -> None:
        self.calls.append(f"{tokens} {sentences}")

    def end(self) -> None:
        self.calls.append("end")


def test_updates_that_warm_up_belong_to_no_round() -> None:
    recorder = Recorder()
    updates = Updates(recorder, warm=2, count=2)
    for tokens in range(1, 7):
        updates.done(tokens, 1)
    assert recorder.calls == ["wait", "3 1", "4 1", "end", "5 1", "6 1", "end"]

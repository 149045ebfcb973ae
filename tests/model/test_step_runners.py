"""Several steps of a search in one call find the same as single steps; recorded ones, too."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, final

import numpy as np
import pytest
import torch
from torch import Tensor

from dragoman.data.batch import SourceBatch, TokenBatch
from dragoman.model import step_runners
from dragoman.model.predictor import Prediction, Predictor, StepRunner
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.step_recorder import UNRECORDED_CALLS, Body, StepRecorder
from dragoman.model.step_runners import BeamRunner, GreedyRunner
from dragoman.search.beam import Beam
from dragoman.search.greedy import Greedy
from dragoman.search.search import Search
from dragoman.torch_internals import WaitsForGpu
from tests import part_models
from tests.builders import build_model, sentences

SELF = {"kind": "self_attention", "size": 8, "layers": 1, "heads": 2}
MODELS: dict[str, dict[str, Any]] = {
    "gru": {},
    "feeding": {"decoder": {"input_feeding": "attentional", "attend": "after"}},
    "copying": {"output": {"kind": "pointer_generator"}},
    "coverage": {"attention": {"terms": ["neural_coverage"]}},
    "chained": {"normalizer": {"kind": "hard", "order": 1}},
    "transformer": {"encoder": SELF, "bridge": "none", "score": "scaled_dot", "decoder": SELF},
}
SEARCHES: list[Search] = [
    Greedy(),
    Greedy(length_ratio=0.0, length_margin=3, min_length_margin=2),
    Beam(size=3),
    Beam(size=3, normalization="none", length_margin=30),
    Beam(size=2, min_length_margin=3, length_margin=4),
    Beam(size=20),
]
SOURCES = [
    source._replace(extended=source.ids.masked_fill(source.ids == 6, 20))  # for outputs that copy: an unknown word
    for source in (sentences([4, 5, 6], [7], [8, 4]), sentences([4] * 6, [5]), sentences([]))
]


@final
class Running(Predictor[Any]):
    """A model with these runners, or none."""

    def __init__(self, model: Seq2Seq, runners: tuple[StepRunner, StepRunner] | None) -> None:
        self.start_id = model.start_id
        self.model = model
        self.runners = runners

    def begin(self, sources: tuple[SourceBatch, ...]) -> Any:
        return self.model.begin(sources)

    def predict(self, symbols: Tensor, state: Any) -> Prediction[Any]:
        return self.model.predict(symbols, state)

    def reorder(self, state: Any, rows: Tensor, sentences: Tensor | None = None) -> Any:
        return self.model.reorder(state, rows, sentences)

    def greedy_runner(self) -> StepRunner | None:
        return self.runners[0] if self.runners else None

    def beam_runner(self) -> StepRunner | None:
        return self.runners[1] if self.runners else None


def assert_the_same(model: Seq2Seq, running: Running, source: TokenBatch) -> None:
    for search in SEARCHES:
        n_best = min(2, search.width)
        wanted, results = (search(predictor, (source,), n_best, 1) for predictor in (Running(model, None), running))
        for expected, hypotheses in zip(wanted, results, strict=True):
            assert len(expected) == len(hypotheses)
            for one, other in zip(expected, hypotheses, strict=True):
                assert one.symbols == other.symbols
                np.testing.assert_allclose(other.log_probs, one.log_probs, rtol=1e-9)
                np.testing.assert_allclose(other.score, one.score, rtol=1e-9)
                np.testing.assert_allclose(other.attention, one.attention, rtol=1e-6, atol=1e-9)
                assert one.statistics.keys() == other.statistics.keys()
                for name, values in one.statistics.items():
                    np.testing.assert_allclose(other.statistics[name], values, rtol=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("kind", MODELS)
def test_several_steps_are_those_made_one_by_one(kind: str, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(step_runners.MOST_ENDED, "cpu", share)
    model = build_model(mark=4, **MODELS[kind])
    running = Running(model, (GreedyRunner(model), BeamRunner(model)))
    for source in SOURCES:
        assert_the_same(model, running, source)


@final
class Recordings:
    """A stand-in for a GPU: a recording is the function itself."""

    def __init__(self) -> None:
        self.recorded = self.replayed = 0

    def __call__(self, body: Body) -> Body:
        self.recorded += 1
        with WaitsForGpu():
            body()

        def replay() -> None:
            self.replayed += 1
            body()

        return replay


@pytest.mark.parametrize("kind", MODELS)
def test_recorded_steps_are_those_made_one_by_one(kind: str) -> None:
    model, recordings = build_model(mark=4, **MODELS[kind]), Recordings()
    recorder = StepRecorder([*model.parameters()], recordings)
    running = Running(model, (GreedyRunner(model, recorder), BeamRunner(model, recorder)))
    for _ in range(UNRECORDED_CALLS + 1):
        for source in SOURCES:
            assert_the_same(model, running, source)
    if kind == "transformer":
        assert not recordings.replayed  # no two steps have states of equal size
    else:
        assert recordings.replayed
    if kind not in ("transformer", "chained"):  # the latter gives up at the first step, whose state has another form
        assert recordings.recorded < recordings.replayed


@pytest.mark.slow
@pytest.mark.parametrize("options", part_models.MODELS.values(), ids=part_models.MODELS)
def test_recorded_steps_of_every_part_are_those_made_one_by_one(options: dict[str, Any]) -> None:
    model = build_model(mark=4, **options)
    recorder = StepRecorder([*model.parameters()], Recordings())
    running = Running(model, (GreedyRunner(model, recorder), BeamRunner(model, recorder)))
    for _ in range(UNRECORDED_CALLS + 1):
        assert_the_same(model, running, SOURCES[0])


def test_recorded_steps_leave_earlier_results_alone() -> None:
    model = build_model(mark=4)
    runner = GreedyRunner(model, StepRecorder([*model.parameters()], Recordings()))
    symbols, totals = torch.tensor([model.start_id]), torch.zeros(1, 1)
    with torch.inference_mode():
        state = model.begin((sentences([4, 5, 6]),))
        results = [runner(symbols, totals, state, 3) for _ in range(UNRECORDED_CALLS + 2)]
        kept = [step.clone() for step in results[-1][:3]]
        other = runner(symbols + 3, totals, results[-1].state, 3)
    assert all(torch.equal(one, two) for one, two in zip(results[0][:3], results[-1][:3], strict=True))
    assert all(torch.equal(one, two) for one, two in zip(kept, results[-1][:3], strict=True))
    assert not torch.equal(other.log_probs, results[-1].log_probs)


def test_changed_parameters_in_other_places_are_read_there() -> None:
    model = build_model(mark=4)
    recordings, symbols, totals = Recordings(), torch.tensor([model.start_id]), torch.zeros(1, 1)
    runner = GreedyRunner(model, StepRecorder([*model.parameters()], recordings))
    with torch.inference_mode():
        state = model.begin((sentences([4, 5, 6]),))
        for _ in range(UNRECORDED_CALLS + 1):
            runner(symbols, totals, state, 2)
        assert recordings.recorded == 1
        for parameter in model.parameters():
            parameter.data = parameter.data * 2.0
        expected = GreedyRunner(model)(symbols, totals, state, 2)
        for _ in range(UNRECORDED_CALLS + 1):
            results = runner(symbols, totals, state, 2)
            assert torch.equal(results.log_probs, expected.log_probs)
    assert recordings.recorded == 2


def test_a_model_that_cannot_be_recorded_makes_single_steps() -> None:
    attempts = 0

    def refuse(body: Body) -> Callable[[], None]:
        nonlocal attempts
        attempts += 1
        raise RuntimeError("operation not permitted when stream is capturing")

    model = build_model(mark=4)
    recorder = StepRecorder([*model.parameters()], refuse)
    running = Running(model, (GreedyRunner(model, recorder), BeamRunner(model, recorder)))
    for _ in range(UNRECORDED_CALLS + 1):
        assert_the_same(model, running, SOURCES[0])
    assert attempts == 1


def test_a_copy_of_a_model_has_recordings_of_its_own() -> None:
    model = build_model(mark=4)
    model.replay_steps(Recordings())
    copied = deepcopy(model)
    runner = copied.greedy_runner()
    assert runner is not None
    assert runner is not model.greedy_runner()
    for _ in range(UNRECORDED_CALLS + 1):
        assert_the_same(copied, Running(copied, (runner, BeamRunner(copied))), SOURCES[0])

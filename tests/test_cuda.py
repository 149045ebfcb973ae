"""A GPU computes what the processor computes. Without one, these tests are skipped."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import dragoman
from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.configuration.config import DeviceConfig
from dragoman.data.batch import Batch, TokenBatch
from dragoman.model.output.output import Loss
from dragoman.model.output.table import OUTPUTS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.step_recorder import UNRECORDED_CALLS
from dragoman.search.table import SEARCHES
from dragoman.training import checks, session
from dragoman.training.cuda_graphs import SEEN, CudaGraphs
from dragoman.training.objectives.consistency import Consistency, NoConsistency, RDrop, TokenCutoff
from dragoman.training.objectives.teacher_forcing import TeacherForcing
from tests import toy
from tests.builders import BATCH, build_model, context
from tests.part_models import MODELS

CUDA = torch.device("cuda")

if not torch.cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

parametrize_models = pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)


def surfaces(batch: Batch) -> Batch:
    """The same pairs for any output: target symbols of the source, and one portion."""
    sources = tuple(source._replace(extended=source.ids) for source in batch.sources if isinstance(source, TokenBatch))
    return batch._replace(sources=sources)


def on_both(options: Mapping[str, Any]) -> tuple[Seq2Seq, Seq2Seq]:
    """The same model on the processor and on the GPU."""
    here = build_model(**options)
    return here, copy.deepcopy(here).to(CUDA)


def close(there: Tensor, here: Tensor) -> None:
    assert there.device.type == "cuda"
    torch.testing.assert_close(there.cpu(), here, rtol=1e-9, atol=1e-11)  # sums of float64 in another order


@parametrize_models
def test_scores_are_those_of_the_processor(options: dict[str, Any]) -> None:
    (here, there), batch = on_both(options), surfaces(BATCH)
    with torch.no_grad():
        expected, scores = here.score(batch), there.score(batch.to(CUDA))
    close(scores.log_probs, expected.log_probs)
    close(scores.correct, expected.correct)
    for one, other in zip(scores.attention, expected.attention, strict=True):
        close(one, other)


@parametrize_models
def test_gradients_are_those_of_the_processor(options: dict[str, Any]) -> None:
    (here, there), batch = on_both(options), surfaces(BATCH)
    for model, pairs in ((here, batch), (there, batch.to(CUDA))):
        model.train()
        loss: Loss = TeacherForcing(context(model))(model, pairs)
        loss.total.backward()
    for (name, expected), parameter in zip(here.named_parameters(), there.parameters(), strict=True):
        assert (expected.grad is None) == (parameter.grad is None), name
        if expected.grad is not None and parameter.grad is not None:
            close(parameter.grad, expected.grad)


@parametrize_models
@pytest.mark.parametrize("kind", [kind for kind in SEARCHES if kind != "sample"])
def test_translations_are_those_of_the_processor(options: dict[str, Any], kind: str) -> None:
    here, there = on_both(options)
    batch = surfaces(BATCH)
    most = {"length_ratio": 1, "length_margin": 1}
    search = components.build(SEARCHES, Spec(kind, most))
    expected, results = (search(model, pairs.sources) for model, pairs in ((here, batch), (there, batch.to(CUDA))))
    for one, other in zip(results, expected, strict=True):
        assert one[0].symbols == other[0].symbols
        np.testing.assert_allclose(one[0].log_probs, other[0].log_probs, rtol=1e-9)


@parametrize_models
@pytest.mark.parametrize("kind", ["greedy", "beam"])
def test_recorded_steps_of_a_search_are_those_of_the_processor(options: dict[str, Any], kind: str) -> None:
    here, there = on_both(options)
    there.replay_steps()
    batch = surfaces(BATCH)
    search = components.build(SEARCHES, Spec(kind, {"length_ratio": 1, "length_margin": 4}))
    expected = search(here, batch.sources)
    for _ in range(UNRECORDED_CALLS + 2):
        results = search(there, batch.to(CUDA).sources)
        for one, other in zip(results, expected, strict=True):
            assert one[0].symbols == other[0].symbols
            np.testing.assert_allclose(one[0].log_probs, other[0].log_probs, rtol=1e-9)


CONFIGS = sorted((Path(__file__).parents[1] / "configs").glob("**/*.yaml"))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return toy.corpus(tmp_path)


TRAININGS: dict[str, dict[str, str]] = {
    **{
        f"objective {kind}": {"training.objective": kind}
        for kind in ("teacher_forcing", "scheduled_sampling", "minimum_risk", "agreement")
    },
    **{f"output {kind}": {"model.output": kind} for kind in OUTPUTS if kind not in ("nce", "partitioned")},
    "nce": {"model.output": "{kind: nce, samples: 5}"},
    "partitioned": {"model.output": "{kind: partitioned, portion: 12}"},
    "marginal": {"training.objective": "marginal", "model.attention.normalizer": "hard"},
    "reinforce": {"training.objective": "reinforce", "model.attention.normalizer": "hard"},
    "r_drop": {"training.consistency": "r_drop", "model.encoder.dropout": "0.2"},
    "token_cutoff": {"training.consistency": "token_cutoff"},
    "moving average": {"training.moving_average": "0.9"},
    "accumulated": {"training.batch.accumulate": "2"},
    "bfloat16": {"device.precision": "bfloat16"},
    "transformer": {
        "model.encoder": "{kind: self_attention, size: 12, layers: 1, heads: 2, dropout: 0.1}",
        "model.decoder": "{kind: self_attention, size: 12, layers: 1, heads: 2, dropout: 0.1}",
        "model.bridge": "none",
        "model.attention.score": "scaled_dot",
    },
}


@pytest.mark.parametrize("options", TRAININGS.values(), ids=TRAININGS)
def test_trains_resumes_and_translates_as_on_the_processor(options: dict[str, str], corpus: Path) -> None:
    places = {"run": str(corpus / "run"), "data.train": str(corpus / "train"), "data.dev": str(corpus / "dev")}
    changes = {**places, "device.name": "cuda", **options}
    session.train(checks.load_config(corpus / "toy.yaml", {**changes, "training.epochs": "1"}), quiet=True)
    run = session.train(checks.load_config(corpus / "toy.yaml", {**changes, "training.epochs": "2"}), quiet=True)
    there, here = (
        dragoman.load(run.path, device=DeviceConfig(name=name, precision="float32")) for name in ("cuda", "cpu")
    )
    assert next(there.model.parameters()).device.type == "cuda"
    sources, targets = zip(*toy.pairs(12, 9), strict=True)
    expected, translations = here.translate(sources), there.translate(sources)
    assert [one.text for one in translations] == [one.text for one in expected]
    scored = zip(there.score(sources, targets), here.score(sources, targets), strict=True)
    for one, other in scored:
        np.testing.assert_allclose(one.log_prob, other.log_prob, rtol=1e-3, atol=1e-4)
    explained = (model.explain(model.translate(sources[:2])) for model in (there, here))
    for one, other in zip(*explained, strict=True):
        np.testing.assert_allclose(one.sources[0].gradient, other.sources[0].gradient, rtol=1e-2, atol=1e-4)


@parametrize_models
def test_a_replayed_pass_is_that_pass(options: dict[str, Any]) -> None:
    check_replays(options, NoConsistency())


@pytest.mark.parametrize("consistency", [RDrop(weight=3.0), TokenCutoff(rate=0.3, views=2)])
@pytest.mark.parametrize("name", ["cell gru", "transformer", "term coverage"])
def test_replayed_passes_that_are_compared_are_those_passes(name: str, consistency: Consistency) -> None:
    check_replays(MODELS[name], consistency)


def check_replays(options: dict[str, Any], consistency: Consistency) -> None:
    """With the same random numbers, and again for other sentences of the same shape, and after the weights changed."""
    _, model = on_both({**options, "embedding": {"dropout": 0.3}})
    model.train()
    messages = list[str]()
    graphs, batch = CudaGraphs(messages.append), surfaces(BATCH).rounded().to(CUDA)
    other = batch._replace(
        target=batch.target._replace(ids=batch.target.ids.roll(1, 0), mask=batch.target.mask.roll(1, 0))
    )
    for number, pairs in enumerate([batch] * SEEN + [other, batch, other]):
        losses, gradients = [], []
        for forward_passes in (Consistency.forward_passes, graphs):
            model.zero_grad()
            torch.manual_seed(number)
            loss: Loss = TeacherForcing(context(model, forward_passes=forward_passes, consistency=consistency))(
                model, pairs
            )
            loss.total.backward()
            losses.append(loss.total.detach())
            del loss  # which keeps the nodes that graphs record
            gradients.append(
                {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}
            )
        torch.testing.assert_close(losses[1], losses[0], rtol=1e-9, atol=1e-9)
        for name, expected in gradients[0].items():
            torch.testing.assert_close(gradients[1][name], expected, rtol=1e-8, atol=1e-9, msg=name)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1.01)
    assert messages == []
    assert len(graphs.graphs) == 1

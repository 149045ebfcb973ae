"""Consistency of several passes: its sums by hand, its passes, and what it cannot be used with."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.configuration.config import Config
from dragoman.configuration.config_file import ConfigError
from dragoman.model.embedding import Embedding
from dragoman.model.seq2seq import Seq2Seq
from dragoman.training import session
from dragoman.training.objectives.consistency import CONSISTENCIES, NoConsistency, RDrop, TokenCutoff, cut, divergence
from dragoman.training.objectives.penalties import CoveragePenalty
from dragoman.training.objectives.scheduled_sampling import ScheduledSampling
from dragoman.training.objectives.teacher_forcing import TeacherForcing, force_targets
from tests.builders import BATCH, build_model, context, copied, noise
from tests.derivatives import assert_derivative
from tests.golden import Golden

KINDS = {"r_drop": RDrop(weight=3.0), "token_cutoff": TokenCutoff(rate=0.4, views=2, weight=3.0)}
SYMBOLS = int(BATCH.target.mask.sum())


def trained(**options: Any) -> Seq2Seq:
    return build_model(encoder={"dropout": 0.3}, decoder={"dropout": 0.3}, **options).train()


def distributions(passes: int) -> list[Tensor]:
    return [noise(4, 5, seed=number).log_softmax(1) for number in range(passes)]


def by_hand(one: Tensor, other: Tensor) -> float:
    """KL(p || q), a symbol at a time."""
    pairs = zip(one.flatten().tolist(), other.flatten().tolist(), strict=True)
    return sum(math.exp(p) * (p - q) for p, q in pairs)


def test_r_drop_is_half_of_both_divergences() -> None:
    first, second = distributions(2)
    wanted = 3.0 / 2 * (by_hand(first, second) + by_hand(second, first))
    assert float(KINDS["r_drop"].difference([first, second])) == pytest.approx(wanted, abs=1e-12)


def test_token_cutoff_is_the_divergence_of_each_from_their_mean() -> None:
    views = distributions(3)
    middle = torch.stack([view.exp() for view in views]).mean(0).log()
    wanted = 3.0 / 3 * sum(by_hand(view, middle) for view in views)
    assert float(KINDS["token_cutoff"].difference(views)) == pytest.approx(wanted, abs=1e-12)


def test_what_neither_can_be_differs_in_nothing_and_has_a_gradient() -> None:
    first, second = (log_probs.requires_grad_() for log_probs in distributions(2))
    never = torch.tensor([False, True, False, False, False])
    difference = divergence(*(log_probs.masked_fill(never, -math.inf) for log_probs in (first, second)))
    wanted = by_hand(first[:, ~never].detach(), second[:, ~never].detach())
    assert float(difference.detach()) == pytest.approx(wanted, abs=1e-12)
    for gradient in torch.autograd.grad(difference, [first, second]):
        assert gradient.isfinite().all()
        assert not gradient[:, never].any()


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_the_derivative(kind: str) -> None:
    """With respect to all distributions: no side is a constant."""
    logits = [noise(4, 5, seed=number).requires_grad_() for number in range(2)]
    assert_derivative(lambda: KINDS[kind].difference([logit.log_softmax(1) for logit in logits]), logits)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "make_config", [TeacherForcing, lambda context: ScheduledSampling(context, decay="linear", k=1.0)]
)
def test_the_loss_is_that_of_all_passes_with_their_penalties_and_what_they_differ_in(
    kind: str, make_config: Any
) -> None:
    model, consistency, penalty = trained(), KINDS[kind], CoveragePenalty(4, weight=2.0)
    objective = make_config(context(penalties={"coverage": penalty}, consistency=consistency))
    assert objective.parts == ("cross_entropy", "coverage", "consistency")
    objective.after_step(True)
    torch.manual_seed(5)
    loss = objective(model, BATCH)
    torch.manual_seed(5)
    passes = objective.passes(model, BATCH)
    count = 2 if kind == "r_drop" else 3
    assert len(passes) == count
    wanted = [
        sum(forced_pass.loss.total for forced_pass in passes),
        sum(penalty(forced_pass.weights, forced_pass.memory, BATCH) for forced_pass in passes),
        consistency.difference([model.output.log_probs(forced_pass.readout) for forced_pass in passes]),
    ]
    for part, right in zip(loss.parts, wanted, strict=True):
        assert float(part.detach()) == pytest.approx(float(right.detach()), abs=1e-9)
        assert part.detach() > 0
    assert float(loss.total.detach()) == pytest.approx(sum(float(addend.detach()) for addend in wanted), abs=1e-9)
    assert loss.symbols == count * SYMBOLS


def test_passes_have_dropout_masks_of_their_own() -> None:
    model = trained()
    first, second = RDrop().passes(lambda: force_targets(model, BATCH), model)
    assert float(first.loss.total.detach()) != float(second.loss.total.detach())
    model.eval()
    first, second = RDrop().passes(lambda: force_targets(model, BATCH), model)
    assert torch.equal(first.readout.features, second.readout.features)


def _vectors(table: Tensor, symbols: Tensor) -> Tensor:
    return table


def test_symbols_are_cut_whole_on_both_sides_and_only_in_further_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    model, seen = build_model(), list[Tensor]()
    embeddings = [module for module in model.modules() if isinstance(module, Embedding)]
    assert len(embeddings) == 2
    vectors = {embedded: noise(200, 50, 4, seed=number) for number, embedded in enumerate(embeddings)}
    for embedded in embeddings:
        monkeypatch.setattr(embedded, "vectors", partial(_vectors, vectors[embedded]))

    def look() -> None:
        seen.extend(layer(torch.zeros(200, 50, dtype=torch.long)) for layer in embeddings)

    TokenCutoff(rate=0.2, views=2).passes(look, model)
    assert all(torch.equal(embedded, vectors[embedding]) for embedded, embedding in zip(seen, embeddings, strict=False))
    zeros = [(embedded == 0).all(2) for embedded in seen[2:]]
    assert len(zeros) == 4
    for cut_out, tensor, embedding in zip(zeros, seen[2:], 2 * embeddings, strict=True):
        assert 0.17 < float(cut_out.double().mean()) < 0.23
        assert torch.equal(tensor[~cut_out], vectors[embedding][~cut_out])
    assert len({tuple(mask.flatten().tolist()) for mask in zeros}) == 4
    seen.clear()
    look()
    assert not any((embedded == 0).any() for embedded in seen)


def test_the_cut_ends_with_the_passes_whatever_happens() -> None:
    model = build_model()
    before = force_targets(model, BATCH).loss.total
    with pytest.raises(ZeroDivisionError), cut(model, 0.9):
        raise ZeroDivisionError
    assert torch.equal(force_targets(model, BATCH).loss.total, before)


@pytest.mark.parametrize(
    "output", [{"kind": "pointer"}, {"kind": "pointer_generator"}, {"kind": "softmax"}, {"kind": "huffman"}]
)
def test_every_parameter_learns_by_any_exact_output(output: dict[str, Any]) -> None:
    model = trained(output=output)
    batch = copied(BATCH) if model.output.extends else BATCH
    TeacherForcing(context(consistency=RDrop()))(model, batch).total.backward()
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()


def test_without_it_there_is_one_pass() -> None:
    model = build_model()
    assert len(NoConsistency().passes(lambda: force_targets(model, BATCH), model)) == 1
    assert TeacherForcing(context(consistency=NoConsistency())).parts == ()


REFUSED = {
    "objective": {"training.objective": "minimum_risk", "training.consistency": "token_cutoff"},
    "approximate": {"model.output": "nce", "training.consistency": "token_cutoff"},
    "spelled": {"model.output": "hybrid", "training.consistency": "token_cutoff"},
    "alike": {"training.consistency": "r_drop"},
    "no pictures": {"model.features": {"kind": "projection", "dropout": 0.3}, "training.consistency": "r_drop"},
    "rate": {"training.consistency": {"kind": "token_cutoff", "rate": 1.0}},
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_it_cannot_be_used_with_is_told(case: str, make_config: Callable[..., Config], golden: Golden) -> None:
    with pytest.raises(ConfigError, match=r"training\.consistency") as raised:
        make_config(REFUSED[case])
    golden(str(raised.value))


@pytest.mark.parametrize("options", [{"model.encoder.dropout": 0.1}, {"training.objective": "scheduled_sampling"}])
def test_two_passes_differ_by_dropout_or_by_what_is_read(
    options: dict[str, Any], make_config: Callable[..., Config]
) -> None:
    assert make_config({"training.consistency": "r_drop", **options}).training.consistency.kind == "r_drop"


@pytest.mark.parametrize("kind", [kind for kind in CONSISTENCIES if kind != "none"])
def test_a_run_tells_its_share_of_the_loss(
    kind: str, make_config: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.training.trainer.LOG_EVERY", 1)
    options = {"model.encoder": {"kind": "rnn", "size": 12, "dropout": 0.2}, "training.consistency": kind}
    folder = session.train(make_config(options), quiet=True)
    (row, *_) = folder.metrics.read_text("utf-8").splitlines()
    assert "train/consistency" in row

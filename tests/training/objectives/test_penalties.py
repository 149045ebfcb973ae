"""Penalties on attention: each is its printed sum, ends and padding have no part, and each teaches its lesson."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from dragoman.data.batch import Batch, SourceBatch, TokenBatch
from dragoman.model import build
from dragoman.model.memory import Memory
from dragoman.model.seq2seq import Seq2Seq
from dragoman.training.objectives.penalties import (
    PENALTIES,
    CoveragePenalty,
    FertilityPenalty,
    Penalty,
    SupervisedPenalty,
)
from dragoman.training.objectives.teacher_forcing import TeacherForcing
from tests import builders
from tests.builders import BATCH, build_model, context, noise, part, shaken
from tests.model.loops import array, dot, numbers

SIZE = 4
LINKED = [{(0, 0), (1, 1), (2, 1)}, {(0, 0), (0, 2)}, {(1, 0)}]  # (source, target) of each pair in BATCH


def dense(links: list[set[tuple[int, int]]], batch: Batch) -> torch.Tensor:
    matrix = torch.zeros(*batch.target.ids.shape, batch.sources[0].ids.size(1), dtype=torch.bool)
    for row, pairs in enumerate(links):
        for source, target in pairs:
            matrix[row, target, source] = True
    return matrix


ALIGNED = BATCH._replace(links=dense(LINKED, BATCH))


def looked(batch: Batch, extreme: float = 0.0) -> tuple[torch.Tensor, Memory]:
    """Some attention, and encoder states, with that number in every padded place."""
    source, target = batch.sources[0].mask, batch.target.mask
    energies = noise(3, 9, 9, seed=3)[:, : target.size(1), : source.size(1)]
    weights = energies.masked_fill(~source.unsqueeze(1), -math.inf).softmax(2)
    weights = weights.masked_fill(~target.unsqueeze(2), abs(extreme)).masked_fill(~source.unsqueeze(1), 0.0)
    states = noise(3, 9, SIZE, seed=4)[:, : source.size(1)].masked_fill(~source.unsqueeze(2), extreme)
    return weights, Memory(states, source)


def each_pair(batch: Batch) -> list[tuple[np.ndarray, np.ndarray, set[tuple[int, int]]]]:
    """Weights and states of every sentence as numbers, without its ends, and its links."""
    weights, memory = looked(batch)
    losses = []
    for row, links in enumerate(LINKED):
        source, target = int(memory.mask[row].sum()) - 1, int(batch.target.mask[row].sum()) - 1
        losses.append((array(weights[row, :target, :source]), array(memory.states[row, :source]), links))
    return losses


@pytest.mark.spec("B13")
def test_supervised_attention_is_the_cross_entropy_of_the_links() -> None:
    expected = 0.0
    for weights, _, links in each_pair(ALIGNED):
        for t in range(len(weights)):
            sources = [j for j, target in links if target == t]
            for j in sources:
                expected -= math.log(weights[t][j]) / len(sources)
    assert float(SupervisedPenalty(SIZE, weight=0.5)(*looked(ALIGNED), ALIGNED)) == pytest.approx(
        0.5 * expected, abs=1e-9
    )


@pytest.mark.spec("B13")
def test_words_without_a_link_can_be_taught_to_look_at_the_end() -> None:
    batch = BATCH._replace(links=dense([LINKED[0], LINKED[1], set()], BATCH))
    weights, memory = looked(batch)
    expected = float(SupervisedPenalty(SIZE)(weights, memory, batch))
    for row, links in enumerate(LINKED[:2]):  # the third has no link at all
        end = int(memory.mask[row].sum()) - 1
        for t in range(int(batch.target.mask[row].sum()) - 1):
            if t not in {target for _, target in links}:
                expected -= math.log(weights[row, t, end])
    assert float(SupervisedPenalty(SIZE, unlinked="end")(*looked(batch, extreme=7.0), batch)) == pytest.approx(expected)
    assert expected > float(SupervisedPenalty(SIZE)(weights, memory, batch)) + 1


@pytest.mark.spec("B13")
def test_a_weight_of_zero_where_a_link_is_costs_much_and_no_more() -> None:
    weights, memory = looked(ALIGNED)
    weights = torch.zeros_like(weights).requires_grad_()
    loss = SupervisedPenalty(SIZE)(weights, memory, ALIGNED)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(5 * -math.log(1e-30))
    assert weights.grad is not None
    assert weights.grad.isfinite().all()


@pytest.mark.spec("B19")
def test_coverage_is_the_overlap_with_the_past() -> None:
    expected, (all_weights, memory) = 0.0, looked(ALIGNED)
    for pair, (words, _, _) in enumerate(each_pair(ALIGNED)):
        weights = array(all_weights[pair, : len(words), : int(memory.mask[pair].sum())])  # with the end of the source
        for t, row in enumerate(weights):
            for j in range(len(row)):
                expected += min(row[j], sum(weights[before][j] for before in range(t)))
    assert float(CoveragePenalty(SIZE, weight=2.0)(*looked(ALIGNED), ALIGNED)) == pytest.approx(2 * expected, abs=1e-9)


@pytest.mark.spec("B19")
def test_fertility_is_the_density_of_a_normal_that_the_encoder_state_gives() -> None:
    penalty = shaken(FertilityPenalty(SIZE))
    p = numbers(penalty)
    expected = 0.0
    for weights, states, _ in each_pair(ALIGNED):
        for j, state in enumerate(states):
            mean, spread = (
                math.log1p(math.exp(dot(row, state) + bias))
                for row, bias in zip(p["moments.weight"], p["moments.bias"], strict=True)
            )
            variance = spread + 0.01
            density = math.exp(-((sum(weights[:, j]) - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
            expected -= math.log(density)
    assert penalty(*looked(ALIGNED), ALIGNED).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", PENALTIES)
@pytest.mark.parametrize("extreme", [1e6, -1e6])
def test_padding_has_no_part(kind: str, extreme: float) -> None:
    penalty = shaken(PENALTIES[kind](SIZE))

    def wider(sequence: SourceBatch, by: int) -> TokenBatch:
        ids, mask = (functional.pad(part, (0, by)) for part in sequence[:2])
        return TokenBatch(ids, mask)

    assert ALIGNED.links is not None
    wide = Batch(
        (wider(ALIGNED.sources[0], 2),),
        wider(ALIGNED.target, 3),
        ALIGNED.rows,
        functional.pad(ALIGNED.links, (0, 2, 0, 3)),
    )
    expected = penalty(*looked(ALIGNED), ALIGNED).item()
    assert penalty(*looked(wide, extreme), wide).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("kind", PENALTIES)
def test_a_batch_is_the_sum_of_its_pairs(kind: str) -> None:
    penalty = shaken(PENALTIES[kind](SIZE))
    weights, memory = looked(ALIGNED)
    assert ALIGNED.links is not None
    alone = [
        penalty(
            weights[row, None],
            Memory(memory.states[row, None], memory.mask[row, None]),
            Batch(
                (part(ALIGNED.sources[0], (row, None)),),
                part(ALIGNED.target, (row, None)),
                ALIGNED.rows[row : row + 1],
                ALIGNED.links[row, None],
            ),
        )
        for row in range(3)
    ]
    assert penalty(weights, memory, ALIGNED).item() == pytest.approx(sum(loss.item() for loss in alone), abs=1e-9)


@pytest.mark.parametrize("kind", PENALTIES)
def test_teacher_forcing_adds_them_and_every_parameter_learns(kind: str) -> None:
    model, penalty = build_model(), shaken(PENALTIES[kind](SIZE))
    memories = model.encode(ALIGNED.sources)
    unrolled = model.unroll(model.start(memories), ALIGNED.target.ids)
    other = CoveragePenalty(SIZE, weight=2.0)
    plain, penalized = (
        TeacherForcing(context())(model, ALIGNED),
        TeacherForcing(context(penalties={"one": penalty, "other": other}))(model, ALIGNED),
    )
    expected = [plain.total, *(term(unrolled.weights, memories[0], ALIGNED) for term in (penalty, other))]
    torch.testing.assert_close(torch.stack(penalized.parts), torch.stack(expected), rtol=0, atol=1e-9)
    torch.testing.assert_close(penalized.total, torch.stack(expected).sum(), rtol=0, atol=1e-9)
    alone = TeacherForcing(context(penalties={"one": penalty}))
    assert (alone.parts, TeacherForcing(context()).parts, plain.parts) == (
        ("cross_entropy", "one"),
        (),
        (),
    )
    assert penalized.symbols == plain.symbols
    penalized.total.backward()
    for parameter in [*model.parameters(), *penalty.parameters()]:
        assert parameter.grad is not None
        assert parameter.grad.any()


@pytest.mark.parametrize("kind", PENALTIES)
def test_a_penalty_counts_from_where_it_begins(kind: str) -> None:
    """A step that is skipped is no update; what is saved goes on counting."""
    penalty = shaken(PENALTIES[kind](SIZE, 8, weight=2.0, begin=0.25))
    objective = TeacherForcing(context(penalties={kind: penalty}))
    whole = 2 * penalty.penalty(*looked(ALIGNED), ALIGNED).item()
    losses = []
    for updated in (True, False, True, True):
        losses.append(penalty(*looked(ALIGNED), ALIGNED).item())
        objective.after_step(updated)
    resumed = shaken(PENALTIES[kind](SIZE, 8, weight=2.0, begin=0.25))
    assert resumed(*looked(ALIGNED), ALIGNED).item() == 0
    resumed.load_state_dict(penalty.state_dict())
    losses.append(resumed(*looked(ALIGNED), ALIGNED).item())
    assert losses == pytest.approx([0, 0, 0, whole, whole])
    assert whole


@pytest.mark.parametrize("kind", PENALTIES)
def test_sums_are_in_float32_under_autocast(kind: str) -> None:
    penalty, (weights, memory) = PENALTIES[kind](SIZE), looked(ALIGNED)
    low = memory._replace(states=memory.states.bfloat16())
    with torch.autocast("cpu", torch.bfloat16):
        loss = penalty(weights.bfloat16(), low, ALIGNED)
    assert loss.dtype == torch.float32
    exact = penalty.double()(weights, memory, ALIGNED)
    assert loss.item() == pytest.approx(exact.item(), rel=0.05)


def test_supervision_without_links_is_a_fault() -> None:
    with pytest.raises(ValueError, match="the batch has no links"):
        SupervisedPenalty(SIZE)(*looked(BATCH), BATCH)


TIMES = {4: 1, 5: 2, 6: 3}  # how often a word is to be written


def drawn(random: np.random.Generator, count: int) -> Batch:
    sources = [random.choice(list(TIMES), size=size).tolist() for size in random.integers(2, 4, size=count)]
    return builders.pairs(sources, [[word for word in source for _ in range(TIMES[word])] for source in sources])


def learn(penalty: Penalty | None, steps: int = 80) -> tuple[Seq2Seq, Batch]:
    """A model that writes every word so many times, and pairs that it has not seen."""
    torch.manual_seed(1)
    random = np.random.default_rng(1)
    options: dict[str, Any] = {"embedding": {"size": 16}, "encoder": {"size": 12}, "decoder": {"size": 24}}
    model = build.build(builders.settings(**options), (7,), 7)
    objective = TeacherForcing(context(penalties={"penalty": penalty} if penalty else {}))
    optimizer = torch.optim.Adam([*model.parameters(), *objective.parameters()], lr=0.01)
    for _ in range(steps):
        loss = objective(model, drawn(random, 16))
        optimizer.zero_grad()
        (loss.total / loss.symbols).backward()
        optimizer.step()
    return model.eval(), drawn(np.random.default_rng(2), 100)


@torch.no_grad()
def report_steps(penalty: FertilityPenalty, model: Seq2Seq, batch: Batch) -> list[float]:
    """The mean fertility that encoder states tell of each word."""
    (memory,) = model.encode(batch.sources)
    mean = functional.softplus(penalty.moments(memory.states))[..., 0]
    return [float(mean[batch.sources[0].ids == word].mean()) for word in TIMES]


@pytest.mark.spec("B19")
@pytest.mark.slow
def test_fertility_learns_how_many_words_a_word_takes() -> None:
    """Some attention goes to the end symbol, so that fertilities are in proportion to the words, and below."""
    torch.manual_seed(2)
    penalty, check_learnable = FertilityPenalty(24), FertilityPenalty(24)
    model, batch = learn(penalty)
    one, two, three = report_steps(penalty, model, batch)
    assert one + 0.3 < two < three - 0.3
    one, two, three = report_steps(check_learnable, model, batch)
    assert not one + 0.3 < two < three - 0.3


@pytest.mark.spec("B19")
@pytest.mark.slow
def test_coverage_keeps_attention_from_where_it_has_been() -> None:
    """Attention that has been somewhere goes elsewhere, as far as the words allow."""
    overlaps: list[float] = []
    for penalty in (None, CoveragePenalty(24, weight=2.0)):
        model, batch = learn(penalty)
        memories = model.encode(batch.sources)
        unrolled = model.unroll(model.start(memories), batch.target.ids)
        overlap = CoveragePenalty(24)(unrolled.weights, memories[0], batch)
        overlaps.append(overlap.item() / int(batch.target.mask.sum()))
    free, covered = overlaps
    assert covered < 0.6 * free

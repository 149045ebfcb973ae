"""Segment to segment: the sum over all ways to read and write, by enumeration."""

import itertools
import math
from typing import Any

import pytest
import torch

from dragoman.configuration import components
from dragoman.configuration.config import Config
from dragoman.data.batch import TokenBatch
from dragoman.model.decoder.rnn_decoder import RnnDecoder
from dragoman.model.output.output import Readout
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.greedy import Greedy
from dragoman.search.streaming import AdaptivePolicy, stream
from dragoman.training import checks
from dragoman.training.objectives.segment import Segment, log_likelihood, shift_of
from dragoman.training.objectives.table import OBJECTIVES
from tests.builders import BATCH, build_model, context, noise, sentences, settings, whole
from tests.model.loops import sigmoid
from tests.training.objectives.test_teacher_forcing import padded

OPTIONS: dict[str, Any] = {"score": "uniform", "terms": "shift", "encoder": {"direction": "forward"}, "bridge": "zero"}


def enumerated(energies: torch.Tensor, words: torch.Tensor) -> float:
    """`log sum_a prod_t p(a_t | a_(t-1)) p(y_t | a_t)` over all paths of one sentence, by numbers."""
    steps, places = energies.shape
    total = 0.0
    for path in itertools.product(range(places), repeat=steps):
        if list(path) != sorted(path):
            continue
        product, before = 1.0, 0
        for t, place in enumerate(path):
            for skipped in range(before, place):
                product *= 1.0 - sigmoid(float(energies[t, skipped]))
            product *= 1.0 if place == places - 1 else sigmoid(float(energies[t, place]))
            product *= math.exp(float(words[t, place]))
            before = place
        total += product
    return math.log(total)


@pytest.mark.spec("B12")
def test_the_forward_algorithm_is_the_sum_over_all_monotone_paths() -> None:
    """Sentences of several lengths on both sides, with something large in the padding."""
    lengths = [(4, 5), (1, 3), (3, 1), (2, 2)]  # target, source
    energies, words = 2 * noise(4, 4, 5), -noise(4, 4, 5, seed=1).abs()
    real, mask = torch.zeros(4, 4).bool(), torch.zeros(4, 5).bool()
    for row, (steps, places) in enumerate(lengths):
        real[row, :steps], mask[row, :places] = True, True
    outside = ~(real.unsqueeze(2) & mask.unsqueeze(1))
    log_likelihoods = log_likelihood(energies.masked_fill(outside, 1e6), words.masked_fill(outside, 0.0), mask, real)
    for row, (steps, places) in enumerate(lengths):
        expected = enumerated(energies[row, :steps, :places], words[row, :steps, :places])
        assert float(log_likelihoods[row]) == pytest.approx(expected, abs=1e-9)


@pytest.mark.spec("B12")
def test_its_gradient_is_that_of_finite_differences() -> None:
    mask, real = torch.tensor([[True] * 3, [True] * 2 + [False]]), torch.tensor([[True] * 3, [True, False, False]])
    energies, words = noise(2, 3, 3).requires_grad_(), noise(2, 3, 3, seed=1).requires_grad_()

    def function(energies: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        return log_likelihood(energies, words, mask, real)

    assert torch.autograd.gradcheck(function, (energies, words))


@pytest.mark.spec("B12")
def test_the_probabilities_of_all_ways_to_write_add_up_to_one() -> None:
    """With words that are certain wherever they are written."""
    mask, real = torch.ones(2, 5).bool(), torch.ones(2, 4).bool()
    log_likelihoods = log_likelihood(3 * noise(2, 4, 5), torch.zeros(2, 4, 5).double(), mask, real)
    assert log_likelihoods.tolist() == pytest.approx([0.0, 0.0], abs=1e-9)


@pytest.mark.spec("B12")
@pytest.mark.parametrize("decoder", [{}, {"layers": 2, "residual": True, "cell": "lstm", "readout": "deep"}])
def test_the_loss_is_that_of_the_models_own_steps_at_each_position(decoder: dict[str, object]) -> None:
    """Symbol by symbol: the query of the step, the energies of the term, the word at each state as the only context."""
    model = build_model(**OPTIONS, decoder=decoder)
    total = 0.0
    with torch.no_grad():
        for row in range(3):
            source = BATCH.sources[0].ids[row][BATCH.sources[0].mask[row]].unsqueeze(0)
            target = BATCH.target.ids[row][BATCH.target.mask[row]]
            state = model.begin((TokenBatch(source, torch.ones_like(source).bool()),))
            writer = model.decoder
            assert isinstance(writer, RnnDecoder)
            shift, _ = shift_of(writer)
            previous = torch.tensor([model.start_id])
            energies, words = [], []
            for symbol in target:
                embedded = model.target_embedding(previous)
                state = model.step(previous, state).state
                top = state.step_state.decoder.layers[-1][0]
                query = state.step_state.decoder.layers[0][0] + top if decoder.get("residual") else top
                energies.append(shift.energies(query.unsqueeze(1), state.source_state.decoder.prepared_terms[0])[0, 0])
                features = [
                    writer.features(query, state.source_state.decoder.values[:, place], embedded)
                    for place in range(source.size(1))
                ]
                words.append(torch.stack([model.output.log_probs(Readout(feature))[0, symbol] for feature in features]))
                previous = symbol.unsqueeze(0)
            total -= enumerated(torch.stack(energies), torch.stack(words))
        loss = Segment(context())(model, BATCH)
    assert float(loss.total) == pytest.approx(total, abs=1e-8)
    assert loss.symbols == int(BATCH.target.mask.sum())


def test_padding_has_no_influence_and_every_parameter_learns() -> None:
    model, losses = build_model(**OPTIONS), []
    for batch in (BATCH, padded(BATCH, 3), padded(BATCH, 2, symbol=7)):
        model.zero_grad()
        loss = Segment(context())(model, batch)
        loss.total.backward()
        losses.append(loss.total.item())
    assert losses == pytest.approx([losses[0]] * 3, abs=1e-9)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_it_trains_under_autocast() -> None:
    model = build_model(**OPTIONS).float()
    exact = Segment(context())(model, BATCH).total
    with torch.autocast("cpu", torch.bfloat16):
        loss = Segment(context())(model, BATCH).total
    loss.backward()
    torch.testing.assert_close(loss, exact, rtol=0.05, atol=0.1)


@pytest.mark.parametrize(
    "changed", [{"decoder": {"attend": "before"}}, {"decoder": {"input_feeding": "context"}}, {"terms": ()}]
)
def test_a_model_that_lacks_what_it_needs_is_refused(changed: dict[str, object]) -> None:
    config = configured("segment", {**OPTIONS, **changed})
    (problem,) = checks.problems(config)
    assert str(problem).startswith("training.objective: segment requires ")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"normalizer": "sparsemax"}, "segment attends only to the position"),
        ({"score": "additive"}, "segment attends only to the position"),
        ({"terms": ["shift", "markov"]}, "segment attends only to the position"),
        ({"output": {"label_smoothing": 0.1}}, "segment does not support label smoothing"),
        ({"output": {"kind": "nce"}}, "segment requires exact probabilities"),
        ({"output": {"kind": "partitioned"}}, "segment requires exact probabilities"),
    ],
)
def test_what_it_would_pass_over_is_refused(changed: dict[str, object], words: str) -> None:
    (problem,) = checks.problems(configured("segment", {**OPTIONS, **changed}))
    assert str(problem).startswith(f"training.objective: {words}")


def test_what_only_it_can_teach_is_refused_elsewhere() -> None:
    assert not checks.problems(configured("segment", OPTIONS))
    (problem,) = checks.problems(configured("teacher_forcing", OPTIONS))
    assert str(problem) == ("training.objective: cannot train 'shift' (model.attention.terms); use segment")


def configured(objective: str, options: dict[str, Any]) -> Config:
    config = whole(settings(**options))
    training = config.training.model_copy(update={"objective": components.Spec(objective)})
    return config.model_copy(update={"training": training})


def test_the_table_names_it() -> None:
    assert OBJECTIVES["segment"] is Segment


def online(model: Seq2Seq, source: list[int]) -> tuple[list[int], list[int]]:
    """Symbols, and how many of the source had been read when each was decided."""
    steps = list(stream(AdaptivePolicy(model, [[symbol] for symbol in source], Greedy().limit, torch.device("cpu"))))
    return [step.symbol for step in steps], [step.read for step in steps]


@pytest.mark.spec("B12")
@pytest.mark.parametrize("seed", range(4))
def test_what_is_written_while_a_source_arrives_is_what_greedy_search_writes(seed: int) -> None:
    """Whoever knows the whole source is_hard the same, and has looked no further than what had been read."""
    model = build_model(**OPTIONS, spread=1.5, seed=seed)
    for source in ([4, 5, 6, 7, 8], [8], [7, 7, 5]):
        ((expected,),) = Greedy()(model, (sentences(source),))
        symbols, read = online(model, source)
        assert tuple(symbols) == expected.symbols
        places = [int(weights.argmax()) for weights in expected.attention[0][:-1]]
        assert places == sorted(places)
        short = slice(Greedy().limit.margin)  # what is longer than a translation of what has been read waits for more
        assert read[short] == [min(place + 1, len(source)) for place in places][short]
    assert online(model, []) == ([], [])

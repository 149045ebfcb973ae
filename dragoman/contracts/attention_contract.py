"""What holds for attention of any parts, and for every score."""

from collections.abc import Sequence

import torch
from torch import Tensor

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.contracts.contract import (
    Check,
    noise,
    require,
    require_close,
    require_derivative,
    require_round_trip,
    shaken,
)
from dragoman.model.attention.attention import Attention, GlobalAttention
from dragoman.model.attention.normalizers import Softmax
from dragoman.model.attention.scores import SCORES, AlignmentScore
from dragoman.model.memory import Memory
from dragoman.model.state import select_rows

SIZE, STEPS, PLACES = 3, 3, 4
MASK = torch.tensor([[True] * 4, [True] * 2 + [False] * 2, [True] + [False] * 3])
IDS = torch.tensor([[4, 5, 6, 3], [4, 3, 1, 1], [3, 1, 1, 1]])
WORDS_READ = noise(3, STEPS, SIZE, seed=5)


def memory(states: Tensor, mask: Tensor = MASK, ids: Tensor = IDS) -> Memory:
    """The encoded sources of lengths 4, 2 and 1."""
    return Memory(states, mask, ids=ids)


def queries(seed: int = 0) -> Tensor:
    """Queries (B, T, Q)."""
    return noise(3, STEPS, SIZE, seed=seed)


def states() -> Tensor:
    """Encoder states (B, S, H)."""
    return noise(3, PLACES, SIZE, seed=1)


def steps(attention: Attention, query: Tensor, source: Memory, embedded: Tensor = WORDS_READ) -> tuple[Tensor, Tensor]:
    """Contexts (B, T, C) and weights (B, T, S) of one step after the other."""
    prepared_source = attention.prepare(source)
    history = attention.start(prepared_source)
    contexts, weights = [], []
    for t in range(query.size(1)):
        output = attention(query[:, t], embedded[:, t], prepared_source, history)
        history = output.history
        contexts.append(output.context)
        weights.append(history.weights)
    return torch.stack(contexts, 1), torch.stack(weights, 1)


def check_weights(attention: Attention, *, adds_up: bool = True, everywhere: bool = True) -> None:
    """Weights are not negative, add up to 1, and are exactly 0 at padding, and nowhere else if `everywhere`."""
    context, weights = steps(attention, queries(), memory(states()))
    real = MASK.unsqueeze(1).expand_as(weights)
    require(context.shape == (3, STEPS, attention.size), f"the context has the shape {[*context.shape]}")
    require(weights.dtype == torch.float64, f"weights of {weights.dtype} from float64")
    require(weights.ge(0).all(), "some weights are negative")
    require(weights[~real].eq(0).all(), "padding gets weight")
    if adds_up:
        require_close(weights.sum(-1), torch.ones(3, STEPS).double(), "the sum of weights")
    else:
        require(weights.sum(-1).gt(0).all(), "all weights are 0")
    if everywhere:
        require(torch.equal(weights.gt(0), real), "a real position gets no weight")


def check_padding(attention: Attention) -> None:
    """Padding changes nothing, whatever stands there."""
    context, weights = steps(attention, queries(), memory(states()))
    wide = torch.cat([states(), 1e6 * noise(3, 2, SIZE)], 1)
    wide[1, 2:] = -1e6
    mask, ids = torch.cat([MASK, MASK.new_zeros(3, 2)], 1), torch.cat([IDS, IDS.new_full((3, 2), 4)], 1)
    contexts, wider = steps(attention, queries(), memory(wide, mask, ids))
    require_close(contexts, context, "the context with more padding")
    require_close(wider[..., :PLACES], weights, "the weights with more padding")
    require(wider[..., PLACES:].eq(0).all(), "padding gets weight")


def check_alone(attention: Attention) -> None:
    """A sentence alone is the sentence in its batch."""
    context, weights = steps(attention, queries(), memory(states()))
    for row in range(3):
        real, one = int(MASK[row].sum()), slice(row, row + 1)
        source = memory(states()[one, :real], MASK[one, :real], IDS[one, :real])
        contexts, alone = steps(attention, queries()[one], source, WORDS_READ[one])
        require_close(contexts[0], context[row], f"the context of sentence {row} alone")
        require_close(alone[0], weights[row, :, :real], f"the weights of sentence {row} alone")


def check_reordering(attention: Attention) -> None:
    """Rows of a sentence, which have seen different queries, keep their own history when a beam moves them."""
    source, words_of_others = memory(states()), noise(3, STEPS, SIZE, seed=6)
    _, one = steps(attention, queries(), source)
    _, other = steps(attention, queries(seed=7), source, words_of_others)
    prepared_source = attention.prepare(source)
    history = select_rows(attention.start(prepared_source), torch.tensor([0, 0, 1, 1, 2, 2]))
    first, second = (queries(), one, WORDS_READ), (queries(seed=7), other, words_of_others)
    for t in range(STEPS):
        query = torch.stack([first[0][:, t], second[0][:, t]], 1).flatten(0, 1)
        words = torch.stack([first[2][:, t], second[2][:, t]], 1).flatten(0, 1)
        output = attention(query, words, prepared_source, history)
        require_close(output.history.weights[0::2], first[1][:, t], f"the weights of a first row at step {t}")
        require_close(output.history.weights[1::2], second[1][:, t], f"the weights of a second row at step {t}")
        history = select_rows(output.history, torch.tensor([1, 0, 3, 2, 5, 4]))
        first, second = second, first


def _total(context: Tensor, weights: Tensor) -> Tensor:
    return (context * noise(3, STEPS, SIZE, seed=2)).sum() + (weights * noise(3, STEPS, PLACES, seed=3)).sum()


def check_gradients(attention: Attention) -> Tensor:
    """Every parameter gets a gradient, and padding none. Return the gradient of the states."""
    source = states().requires_grad_()
    torch.autograd.backward(_total(*steps(attention, queries().requires_grad_(), memory(source))))
    for name, parameter in attention.named_parameters():
        require(parameter.grad is not None, f"{name} gets no gradient")
    require(source.grad is not None, "encoder states get no gradient")
    gradient = source.grad if source.grad is not None else source
    require(gradient[~MASK].eq(0).all(), "padding gets a gradient")
    return gradient


def check_derivative(attention: Attention) -> None:
    """Gradients are derivatives, through all steps: also of what a later step knows of an earlier one."""
    query, source, words = queries().requires_grad_(), states().requires_grad_(), WORDS_READ.clone().requires_grad_()

    def function() -> Tensor:
        return _total(*steps(attention, query, memory(source), words))

    require_derivative(function, [query, source, words, *attention.parameters()])


def check_at_once(attention: GlobalAttention) -> None:
    """Many queries at once are one at a time."""
    _, weights = steps(attention, queries(), memory(states()))
    at_once, _ = attention.attend(queries(), attention.prepare(memory(states())))
    require_close(at_once, weights, "the weights of all steps at once")


def _attention(kind: str) -> GlobalAttention:
    """Softmax attention with a score."""
    torch.manual_seed(0)
    return shaken(GlobalAttention(components.build(SCORES, Spec(kind), SIZE, SIZE), Softmax())).eval()


def _score(kind: str, features: int = 0) -> AlignmentScore:
    return components.build(SCORES, Spec(kind), SIZE, SIZE, features)


def check_score_shape(kind: str) -> None:
    """Energies have a number for each query step and source position, in the type of the states."""
    for dtype in (torch.float32, torch.float64):
        score = _score(kind).to(dtype)
        energies = score(queries().to(dtype), score.keys(states().to(dtype), MASK))
        require(energies.shape == (3, STEPS, PLACES), f"energies have the shape {[*energies.shape]}")
        require(energies.dtype == dtype, f"energies of {energies.dtype} from {dtype}")


def check_score_features(kind: str) -> None:
    """Features of terms, such as coverage, change the energies."""
    score = shaken(_score(kind, 2))
    keys, features = score.keys(states(), MASK), noise(3, STEPS, PLACES, 2)
    one, other = (score(queries(), keys, values) for values in (features, 2 * features))
    require(one.shape == (3, STEPS, PLACES), f"energies with features have the shape {[*one.shape]}")
    require(not torch.allclose(one, other), "energies do not depend on features")


def check_score_weights(kind: str) -> None:
    """Weights are a distribution, and padding gets exactly nothing."""
    check_weights(_attention(kind))


def check_score_padding(kind: str) -> None:
    """Padding changes nothing, whatever stands there."""
    check_padding(_attention(kind))


def check_score_alone(kind: str) -> None:
    """A sentence alone is the sentence in its batch."""
    check_alone(_attention(kind))


def check_score_reordering(kind: str) -> None:
    """Rows of a beam may change places."""
    check_reordering(_attention(kind))


def check_score_gradients(kind: str) -> None:
    """Every parameter gets a gradient, and padding none."""
    check_gradients(_attention(kind))


def check_score_derivative(kind: str) -> None:
    """Gradients are derivatives in float64."""
    check_derivative(_attention(kind))


def check_score_at_once(kind: str) -> None:
    """Many queries at once are one at a time."""
    check_at_once(_attention(kind))


def check_score_round_trip(kind: str) -> None:
    """A state dict holds everything that was learned."""

    def compute(score: torch.nn.Module) -> Tensor:
        assert isinstance(score, AlignmentScore)
        energies: Tensor = score(queries(), score.keys(states(), MASK))
        return energies

    require_round_trip(lambda: _score(kind), compute)


SCORE_CHECKS: Sequence[Check] = (
    check_score_shape,
    check_score_features,
    check_score_weights,
    check_score_padding,
    check_score_alone,
    check_score_reordering,
    check_score_gradients,
    check_score_derivative,
    check_score_at_once,
    check_score_round_trip,
)

"""What holds for attention of every score with every term, normalizer and window."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest
import torch

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.contracts import attention_contract
from dragoman.contracts.attention_contract import (
    IDS,
    MASK,
    PLACES,
    SIZE,
    STEPS,
    WORDS_READ,
    memory,
    queries,
    states,
    steps,
)
from dragoman.model.attention.attention import Attention, GlobalAttention, NoAttention, PreparedSource
from dragoman.model.attention.hierarchical_attention import HierarchicalAttention
from dragoman.model.attention.normalizers import NORMALIZERS, Softmax
from dragoman.model.attention.scores import SCORES, AlignmentScore, DotScore, LinearScore, UniformScore
from dragoman.model.attention.terms.table import TERMS
from dragoman.model.attention.terms.term import TermSizes
from dragoman.model.attention.windows import WINDOWS, LocalAttention, Window
from tests.builders import shaken
from tests.covering import cases, covering
from tests.model import loops

WORDS = 7


class Variant(NamedTuple):
    """A choice of parts."""

    score: str = "additive"
    term: str = "none"
    normalizer: str = "softmax"
    window: str = "none"

    def __str__(self) -> str:
        return "-".join(self)


OPTIONS = {
    "score": list(SCORES),
    "term": ["none", "all", *TERMS],
    "normalizer": list(NORMALIZERS),
    "window": [*WINDOWS, "sentences"],
}


def possible(parts: Mapping[str, str]) -> bool:
    """No window may show nothing but what is hidden, and weights of sentences and of words are softmaxes."""
    term, window = parts.get("term", "none"), parts.get("window", "none")
    hidden = term in TERMS and (TERMS[term].is_hard or (TERMS[term].hides and window == "predictive"))
    softmax = parts.get("normalizer", "softmax") == "softmax"
    return window == "none" or not (hidden or (window == "sentences" and not softmax))


# Each part by itself, and then every two of them together.
VARIANTS = sorted(
    {Variant()._replace(**{option: value}) for option, values in OPTIONS.items() for value in values}
    | {Variant(**row) for row in covering(OPTIONS, possible)}
)
each_variant = pytest.mark.parametrize("variant", cases([variant._asdict() for variant in VARIANTS]), indirect=True)


@pytest.fixture
def variant(request: pytest.FixtureRequest) -> Variant:
    """A choice of parts from a case, which is a mapping."""
    return Variant(**request.param)


def make(variant: Variant) -> Attention:
    """The attention of these parts, every parameter moved, in evaluation mode."""
    torch.manual_seed(0)
    sizes = TermSizes(SIZE, SIZE, SIZE, WORDS)
    kinds = {"none": [], "all": [term for term in TERMS if not TERMS[term].hides]}.get(variant.term, [variant.term])
    terms = [components.build(TERMS, Spec(kind), sizes) for kind in kinds]
    score = components.build(SCORES, Spec(variant.score), SIZE, SIZE, sum(term.features for term in terms))
    whole = GlobalAttention(score, components.build(NORMALIZERS, Spec(variant.normalizer)), terms)
    if variant.window == "sentences":
        return shaken(HierarchicalAttention(whole, components.build(SCORES, Spec(variant.score), SIZE, SIZE), 5)).eval()
    options = {} if variant.window == "none" else {"width": 1}
    window = components.build(WINDOWS, Spec(variant.window, options), SIZE)
    return shaken(LocalAttention(whole, window) if isinstance(window, Window) else whole).eval()


def of(score: AlignmentScore) -> GlobalAttention:
    return GlobalAttention(score, Softmax())


@each_variant
def test_weights_are_a_distribution_and_padding_gets_exactly_nothing(variant: Variant) -> None:
    hides = variant.term in TERMS and TERMS[variant.term].hides
    attention_contract.check_weights(
        make(variant),
        adds_up=variant.window != "predictive" and variant.normalizer != "linear_chain",
        everywhere=variant.window == "none" and NORMALIZERS[variant.normalizer].everywhere and not hides,
    )


@pytest.mark.parametrize("kind", sorted(SCORES))
def test_weights_are_the_softmax_of_the_energies_and_the_context_is_their_sum_of_states(kind: str) -> None:
    attention = of(shaken(SCORES[kind](SIZE, SIZE)))
    context, weights = steps(attention, queries(), memory(states()))
    energies = attention.score(queries(), attention.score.keys(states(), MASK))
    for row in range(3):
        real = int(MASK[row].sum())
        for t in range(STEPS):
            expected = loops.softmax(loops.array(energies[row, t, :real]))
            assert weights[row, t, :real].tolist() == pytest.approx(expected.tolist(), abs=1e-12)
            mixed = loops.mix(expected, loops.array(states()[row, :real]))
            assert context[row, t].tolist() == pytest.approx(mixed.tolist(), abs=1e-12)


@each_variant
def test_padding_changes_nothing_whatever_stands_there(variant: Variant) -> None:
    attention_contract.check_padding(make(variant))


@each_variant
def test_a_row_alone_is_the_row_in_its_batch(variant: Variant) -> None:
    attention_contract.check_alone(make(variant))


@each_variant
def test_rows_of_a_sentence_keep_their_own_history_when_a_beam_moves_them(variant: Variant) -> None:
    attention_contract.check_reordering(make(variant))


@each_variant
def test_every_parameter_gets_a_gradient(variant: Variant) -> None:
    """All but the query's in `linear`: its share of the energy is the same everywhere and cancels in a distribution."""
    if variant.term in TERMS and TERMS[variant.term].is_hard:
        pytest.skip("one position is left, whatever its energy")
    attention = make(variant)
    gradient = attention_contract.check_gradients(attention)
    sparse = not NORMALIZERS[variant.normalizer].everywhere
    for name, parameter in attention.named_parameters():
        assert parameter.grad is not None
        cancels = variant.score == "linear" and variant.normalizer != "linear_chain"
        if cancels and name.endswith("score.query.weight"):
            assert parameter.grad.abs().max() < 1e-12
        elif not sparse:
            assert parameter.grad.abs().sum() > 0, name
    if variant.window == "none" and not sparse:
        assert gradient[MASK].abs().sum(-1).gt(0).all()


@each_variant
def test_gradients_are_derivatives_through_all_steps(variant: Variant) -> None:
    """Of contexts and weights, also of those that a later step knows of an earlier one."""
    attention_contract.check_derivative(make(variant))


@pytest.mark.parametrize("score", sorted(SCORES))
@pytest.mark.parametrize("normalizer", sorted(NORMALIZERS))
def test_many_queries_at_once_are_one_at_a_time(score: str, normalizer: str) -> None:
    attention = make(Variant(score, normalizer=normalizer))
    assert isinstance(attention, GlobalAttention)
    attention_contract.check_at_once(attention)


@pytest.mark.spec("A7")
def test_uniform_attention_is_the_mean_of_the_real_states() -> None:
    context, weights = steps(of(UniformScore(SIZE, SIZE)), queries(), memory(states()))
    for row, length in enumerate((4, 2, 1)):
        for t in range(STEPS):
            assert torch.allclose(context[row, t], states()[row, :length].mean(0))
            assert weights[row, t].tolist() == pytest.approx([1 / length] * length + [0] * (PLACES - length))


@pytest.mark.spec("B5")
def test_linear_attention_is_the_same_at_every_step() -> None:
    _, weights = steps(of(shaken(LinearScore(SIZE, SIZE))), queries(), memory(states()))
    assert torch.allclose(weights[:, 0], weights[:, 1])
    assert weights[0, 0].std() > 0.01


@pytest.mark.spec("B23")
def test_a_query_attends_to_any_values_through_any_keys() -> None:
    """Worked by hand: energies log 3 and 0 give weights 3/4 and 1/4 over values of another size, the third masked."""
    attention = of(DotScore(2, 2))
    query = torch.tensor([[[1.0, 0.0]]])
    keys = torch.tensor([[[float(torch.tensor(3.0).log()), 9.0], [0.0, -9.0], [50.0, 0.0]]])
    values = torch.tensor([[[4.0, 0.0, 8.0], [0.0, 4.0, 8.0], [100.0, 100.0, 100.0]]])
    weights, (context, _) = attention.attend(query, PreparedSource(keys, values, torch.tensor([[True, True, False]])))
    assert weights[0, 0].tolist() == pytest.approx([0.75, 0.25, 0.0])
    assert context[0, 0].tolist() == pytest.approx([3.0, 1.0, 8.0])


@pytest.mark.spec("B23")
def test_a_gap_in_the_mask_is_skipped() -> None:
    attention = make(Variant())
    mask = torch.tensor([[True, False, True, False]])
    context, weights = steps(attention, queries()[:1], memory(states()[:1], mask, IDS[:1]), WORDS_READ[:1])
    there = [0, 2]
    source = memory(states()[:1, there], mask[:, there], IDS[:1, there])
    contexts, alone = steps(attention, queries()[:1], source, WORDS_READ[:1])
    assert torch.allclose(contexts, context)
    assert torch.allclose(alone, weights[..., there])


@pytest.mark.spec("A1")
def test_no_attention_gives_contexts_of_size_0_and_weights_of_0() -> None:
    context, weights = steps(NoAttention(), queries(), memory(states()))
    assert context.shape == (3, STEPS, 0)
    assert weights.eq(0).all()


@pytest.mark.parametrize("kind", sorted(SCORES))
def test_under_autocast_a_source_is_rounded_once_and_not_at_every_step(kind: str) -> None:
    attention = make(Variant(kind)).float()
    source = memory(states().float())
    exact, _ = steps(attention, queries().float(), source, WORDS_READ.float())
    with torch.autocast("cpu", torch.bfloat16):
        assert attention.prepare(source).values.dtype is torch.bfloat16
        context, _ = steps(attention, queries().float(), source, WORDS_READ.float())
    torch.testing.assert_close(context.float(), exact, rtol=0.05, atol=0.05)

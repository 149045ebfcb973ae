"""The decoder of self-attention: its equations, its steps, what it cannot do."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.configuration.components import Spec, find_problems
from dragoman.errors import UserError
from dragoman.model.attention.attention import Attention, GlobalAttention, NoAttention
from dragoman.model.attention.normalizers import Softmax
from dragoman.model.attention.scores import SCORES, DotScore
from dragoman.model.attention.sources.combination import Combination, OneSource
from dragoman.model.attention.terms.term import AttentionTerm, TermInput, TermOutput, TermSizes
from dragoman.model.attention.windows import LocalAttention, Monotonic
from dragoman.model.decoder.decoder import DecoderState
from dragoman.model.decoder.table import DECODERS
from dragoman.model.decoder.transformer_decoder import AUTOREGRESSIONS, SelfAttentionDecoder
from dragoman.model.int8 import Int8
from dragoman.model.linear import use_backend
from dragoman.model.output.output import Readout
from dragoman.model.positions import POSITIONS, PositionsKind
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.state import select_rows
from dragoman.model.transformer_layer import ACTIVATIONS, NORMS
from tests import covering
from tests.builders import BATCH, SIZE, build_model, noise, tile
from tests.model import loops, transformer

SELF: dict[str, Any] = {"kind": "self_attention", "size": 8, "layers": 2, "heads": 2}
STEPS = BATCH.target.ids.size(1)


def model_of(score: Any = "scaled_dot", encoder: dict[str, Any] | None = None, **options: Any) -> Seq2Seq:
    """A model whose decoder is one of self-attention."""
    return build_model(score=score, bridge="none", encoder=encoder, decoder={**SELF, **options}, spread=0.3)


def decoder_of(model: Seq2Seq) -> SelfAttentionDecoder:
    assert isinstance(model.decoder, SelfAttentionDecoder)
    return model.decoder


def read(model: Seq2Seq) -> Tensor:
    """What the decoder reads at each step."""
    ids = BATCH.target.ids
    return model.target_embedding(torch.cat([torch.full_like(ids[:, :1], model.start_id), ids[:, :-1]], 1))


@pytest.mark.spec("A12")
@pytest.mark.parametrize("positions", sorted(POSITIONS))
@pytest.mark.parametrize(("score", "energies"), [("scaled_dot", transformer.scaled_dot), ("additive", loops.additive)])
def test_the_decoder_is_its_equations(score: str, energies: transformer.Energies, positions: PositionsKind) -> None:
    """Over a whole reference; the weights are the mean of the last layer's heads."""
    model = model_of(score, positions=positions)
    (memory,) = model.encode(BATCH.sources)
    unrolled = model(BATCH)
    for row, embedded in enumerate(read(model)):
        states = memory.states[row, memory.mask[row]]
        features, weights = transformer.decoder(
            loops.numbers(model.decoder),
            loops.array(embedded),
            loops.array(states),
            2,
            2,
            energies,
            transformer.Variant(positions),
        )
        torch.testing.assert_close(unrolled.features[row], torch.tensor(features), rtol=0, atol=1e-9)
        seen, padding = unrolled.weights[row].split([len(states), unrolled.weights.size(2) - len(states)], 1)
        torch.testing.assert_close(seen, torch.tensor(weights), rtol=0, atol=1e-9)
        assert padding.eq(0).all()


def possible(row: covering.Row) -> bool:
    """Whether a recurrence is without positions of queries and keys."""
    return row.get("autoregression", "self_attention") == "self_attention" or row.get("positions") not in (
        "rotary",
        "relative",
    )


VARIANTS = covering.covering(
    {
        "autoregression": list(AUTOREGRESSIONS),
        "positions": list(POSITIONS),
        "activation": list(ACTIVATIONS),
        "norm": ["before", "after"],
        "final_norm": [None, True, False],
        "norm_epsilon": [1e-6, 1e-3],
        "scale": [True, False],
        "embedding_norm": [True, False],
        "bias": [True, False],
        "norm_kind": list(NORMS),
        "gated": [False, True],
        "head_size": [None, 6],
        "alignment_layer": [None, 1],
        "alignment_head": [None, 1, 2],
    },
    possible,
)


@pytest.mark.spec("J1")
@pytest.mark.spec("J2")
@pytest.mark.spec("J3")
@pytest.mark.spec("J13")
@pytest.mark.parametrize("options", covering.cases(VARIANTS))
def test_every_variant_of_the_decoder_is_its_equations(options: dict[str, Any]) -> None:
    """Over a whole reference, and step by step."""
    model = model_of("scaled_dot", **options)
    (memory,) = model.encode(BATCH.sources)
    variant = transformer.Variant(**{name: value for name, value in options.items() if name != "bias"})
    unrolled, p = model(BATCH), loops.numbers(model.decoder)
    for row, embedded in enumerate(read(model)):
        states = loops.array(memory.states[row, memory.mask[row]])
        wanted, weights = transformer.decoder(p, loops.array(embedded), states, 2, 2, transformer.scaled_dot, variant)
        torch.testing.assert_close(unrolled.features[row], torch.tensor(wanted), rtol=0, atol=1e-9)
        seen = unrolled.weights[row, :, : len(states)]
        torch.testing.assert_close(seen, torch.tensor(weights), rtol=0, atol=1e-9)
    state = model.decoder_state(model.begin(BATCH.sources))
    for t, embedded in enumerate(read(model).unbind(1)):
        features, _, state = model.decoder.step(embedded, state)
        torch.testing.assert_close(features, unrolled.features[:, t], rtol=0, atol=1e-9)
    assert ("cross.query.bias" in dict(decoder_of(model).layers[0].named_parameters())) == options["bias"]


@pytest.mark.spec("J3")
@pytest.mark.parametrize("kind", ["ssru", "sru"])
def test_the_state_of_a_recurrence_is_one_vector(kind: str) -> None:
    """However many symbols have been read."""
    model = model_of(autoregression=kind, positions="marian")
    state = model.decoder_state(model.begin(BATCH.sources))
    for embedded in read(model).unbind(1):
        state = model.decoder.step(embedded, state).state
        assert state.step_state[1].cell.shape == (3, 8)
    assert state.step_state[0].symbols.tolist() == [STEPS] * 3


@pytest.mark.parametrize("kind", ["ssru", "sru"])
def test_every_parameter_of_a_recurrence_has_its_derivative(kind: str) -> None:
    model = model_of(autoregression=kind, positions="none")
    block = decoder_of(model).layers[0].attention
    states = noise(2, 4, 8).requires_grad_()

    def outputs(states: Tensor, *parameters: Tensor) -> Tensor:
        names = [name for name, _ in block.named_parameters()]
        arguments = (states, None, None, block.start(states))
        result: Tensor = torch.func.functional_call(block, dict(zip(names, parameters, strict=True)), arguments)[0]
        return result

    assert torch.autograd.gradcheck(outputs, (states, *block.parameters()))


@pytest.mark.parametrize("kind", ["ssru", "sru"])
def test_a_recurrence_has_nothing_to_rotate(kind: str) -> None:
    with pytest.raises(UserError, match=f"autoregression: {kind} has no queries and keys; set positions: none"):
        model_of(autoregression=kind)


@pytest.mark.spec("A12")
def test_later_symbols_do_not_influence_earlier_features() -> None:
    """And every earlier one does."""
    model = model_of()
    decoder, state = decoder_of(model), model.decoder_state(model.begin(BATCH.sources))
    embedded = noise(3, STEPS, SIZE)
    before = decoder.unroll(embedded, state).features
    for t in range(STEPS):
        changed = embedded.clone()
        changed[:, t] += 1.0
        after = decoder.unroll(changed, state).features
        assert torch.equal(after[:, :t], before[:, :t])
        assert (after[:, t:] - before[:, t:]).abs().amax(-1).gt(1e-6).all()


@pytest.mark.spec("A12")
@pytest.mark.parametrize("positions", sorted(POSITIONS))
@pytest.mark.parametrize("score", sorted(SCORES))
def test_unrolling_is_stepping(score: str, positions: PositionsKind) -> None:
    model = model_of(score, positions=positions)
    unrolled, state = model(BATCH), model.decoder_state(model.begin(BATCH.sources))
    for t, embedded in enumerate(read(model).unbind(1)):
        features, weights, state = model.decoder.step(embedded, state)
        torch.testing.assert_close(features, unrolled.features[:, t], rtol=0, atol=1e-9)
        torch.testing.assert_close(weights, unrolled.weights[:, t], rtol=0, atol=1e-9)


def test_a_reference_can_go_on_where_another_ended() -> None:
    model = model_of()
    embedded, state = read(model), model.decoder_state(model.begin(BATCH.sources))
    whole = model.decoder.unroll(embedded, state)
    for now in embedded[:, :2].unbind(1):
        state = model.decoder.step(now, state).state
    rest = model.decoder.unroll(embedded[:, 2:], state)
    assert torch.allclose(rest.features, whole.features[:, 2:])
    assert torch.allclose(rest.weights, whole.weights[:, 2:])


def reordered(state: DecoderState, rows: list[int], sentences: list[int] | None = None) -> DecoderState:
    """As `Seq2Seq.reorder` does with the decoder's part."""
    source_state = state.source_state if sentences is None else select_rows(state.source_state, torch.tensor(sentences))
    return state._replace(step_state=select_rows(state.step_state, torch.tensor(rows)), source_state=source_state)


def test_rows_of_a_sentence_keep_their_own_past_when_a_beam_moves_them() -> None:
    """Two rows a sentence, which read different symbols, change places after each step; then sentences leave."""
    model = model_of("additive")
    start = model.decoder_state(model.begin(BATCH.sources))
    one, other = noise(3, STEPS, SIZE, seed=1), noise(3, STEPS, SIZE, seed=2)
    wanted = [model.decoder.unroll(embedded, start) for embedded in (one, other)]
    both = start._replace(step_state=tile(start.step_state, 2))
    together = model.decoder.unroll(torch.stack([one, other], 1).flatten(0, 1), both)
    assert torch.allclose(together.features[0::2], wanted[0].features)
    assert torch.allclose(together.weights[1::2], wanted[1].weights)
    state, order = both, [0, 1]
    for t in range(STEPS):
        inputs = [(one, other)[order[row]][:, t] for row in range(2)]
        step = model.decoder.step(torch.stack(inputs, 1).flatten(0, 1), state)
        for row in range(2):
            assert torch.allclose(step.features[row::2], wanted[order[row]].features[:, t])
        state, order = reordered(step.state, [1, 0, 3, 2, 5, 4]), order[::-1]
    left = reordered(both, [4, 5], [2])
    step = model.decoder.step(torch.stack([one[2, 0], other[2, 0]]), left)
    assert torch.allclose(step.features[0], wanted[0].features[2, 0])


def test_a_step_leaves_the_state_it_was_given_alone() -> None:
    model = model_of()
    state = model.begin(BATCH.sources)
    one = model.step(torch.tensor([4, 5, 6]), state)
    model.step(torch.tensor([7, 7, 7]), one.state)
    assert torch.equal(model.step(torch.tensor([4, 5, 6]), state).features, one.features)
    assert state.step_state.decoder[0].keys.size(2) == 0
    assert one.state.step_state.decoder[1].values.shape == (3, 2, 1, 4)


def test_features_have_the_size_of_the_embeddings_or_their_own() -> None:
    assert model_of().decoder.features_size == SIZE
    assert model_of(readout_size=3)(BATCH).features.shape == (3, STEPS, 3)
    same = decoder_of(model_of(size=SIZE))
    assert list(same.features.parameters()) == []
    tied = build_model(bridge="none", decoder=SELF, embedding={"tie": "all"})
    assert tied.output.weight is tied.target_embedding.table


def test_steps_drop_in_training_alone() -> None:
    plain, dropping = model_of(), model_of(dropout=0.5)
    state = dropping.begin(BATCH.sources)
    symbols = torch.tensor([4, 5, 6])
    assert torch.equal(plain.step(symbols, plain.begin(BATCH.sources)).features, dropping.step(symbols, state).features)
    dropping.train()
    assert not torch.equal(dropping.step(symbols, state).features, dropping.step(symbols, state).features)


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
def test_trains_in_either_precision(kind: torch.dtype) -> None:
    """Three steps down the gradient, also where products are in bfloat16, which come near."""
    losses = []
    for low in (False, kind is torch.bfloat16):
        model = model_of(encoder=SELF, dropout=0.0).train()
        model = model.float() if kind is torch.bfloat16 else model
        real, totals = BATCH.target.mask, []
        for _ in range(4):
            with torch.autocast("cpu", torch.bfloat16, enabled=low):
                loss = model.output.loss(Readout(model(BATCH).features[real]), BATCH.target.ids[real]).total
            totals.append(loss.item())
            gradients = torch.autograd.grad(loss, list(model.parameters()))
            with torch.no_grad():
                for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                    parameter.sub_(0.02 * gradient)
        assert totals[-1] < totals[0]
        losses.append(totals[0])
    assert losses[1] == pytest.approx(losses[0], rel=0.03)


def test_steps_under_autocast_come_near() -> None:
    model = model_of(encoder=SELF).float()
    wanted = model(BATCH).features
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        state = model.decoder_state(model.begin(BATCH.sources))
        for t, embedded in enumerate(read(model).unbind(1)):
            features, _, state = model.decoder.step(embedded, state)
            torch.testing.assert_close(features.float(), wanted[:, t], rtol=0.1, atol=0.15)
    assert state.step_state[0].keys.dtype is torch.bfloat16


def test_8_bit_integers_come_near() -> None:
    model = model_of(encoder=SELF).float()
    way = Int8(model)
    with torch.no_grad():
        plain = model.score(BATCH).log_probs
        with use_backend(way):
            rounded = model.score(BATCH).log_probs
    assert len(way.rounded) == 2 * 4 + 2 * 8 + 4  # layers of the encoder and the decoder, entries, features, output
    assert 0 < (plain - rounded).abs().max() < 0.5


class Earlier(AttentionTerm):
    """A prior of nothing."""

    def __init__(self) -> None:
        super().__init__(TermSizes(1, 1, 1, 1), 0)

    def start(self, weights: Tensor, prepared: Any) -> Any:
        return ()

    def forward(self, moment: TermInput, prepared: Any, carried: Any) -> TermOutput:
        return TermOutput(())


def windowed(query_size: int, state_size: int) -> Attention:
    return LocalAttention(GlobalAttention(DotScore(query_size, state_size), Softmax()), Monotonic(query_size))


def remembering(query_size: int, state_size: int) -> Attention:
    return GlobalAttention(DotScore(query_size, state_size), Softmax(), [Earlier()])


def absent(query_size: int, state_size: int) -> Attention:
    return NoAttention()


@pytest.mark.parametrize("attention", [windowed, remembering, absent])
def test_what_asks_for_the_step_before_is_refused(attention: Callable[[int, int], Attention]) -> None:
    def attend_to(query_size: int, state_sizes: tuple[int, ...]) -> Combination:
        return OneSource(attention(query_size, *state_sizes))

    with pytest.raises(ValueError, match=r"a score other than none, and no terms, window or sentences"):
        SelfAttentionDecoder(4, (4,), attend_to, size=8, heads=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attend": "before"}, "unknown key"),
        ({"layer": 2}, "did you mean 'layers'"),
        (
            {"positions": "sinus"},
            "expected one of rotary, learned, sinusoidal, sinusoidal_halves, marian, fairseq, relative, none",
        ),
        ({"hidden": 0}, "at least 1"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], message: str) -> None:
    (problem,) = find_problems(DECODERS, Spec("self_attention", options), ("model", "decoder"))
    assert problem.path == ("model", "decoder", *options)
    assert message in problem.message


@pytest.mark.parametrize(("option", "parts"), [("alignment_layer", "layers"), ("alignment_head", "heads")])
def test_a_layer_or_head_that_is_not_there_is_refused(option: str, parts: str) -> None:
    options: dict[str, Any] = {"layers": 2, "heads": 2, option: 3}
    with pytest.raises(UserError, match=f"{option} 3 requires as many {parts}, and there are 2"):
        model_of(**options)

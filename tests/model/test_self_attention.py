"""Self-attention, its positions, and the encoder made of them."""

import itertools
from typing import Any

import pytest
import torch

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.model import build
from dragoman.model.encoder.table import ENCODERS
from dragoman.model.encoder.transformer_encoder import SelfAttentionEncoder
from dragoman.model.positions import (
    LONGEST,
    POSITIONS,
    Biases,
    HeadSizes,
    Learned,
    PositionsKind,
    RelativeBias,
    Rotary,
    Rotations,
    rotate_pairs,
)
from dragoman.model.self_attention import SelfAttention
from dragoman.model.transformer_layer import ACTIVATIONS, NORMS
from tests import covering
from tests.builders import noise, settings, shaken, whole
from tests.model import loops, transformer

SIZE, HEADS, INPUTS = 8, 2, 6
MASK = torch.tensor([[True] * 4, [True] * 2 + [False] * 2])
WHOLE = torch.ones(1, 4, dtype=torch.bool)


def make(**options: Any) -> SelfAttentionEncoder:
    torch.manual_seed(0)
    encoder = SelfAttentionEncoder(INPUTS, **{"size": SIZE, "heads": HEADS, "layers": 2, **options})
    return shaken(encoder, spread=0.3).eval()


@pytest.mark.spec("A12")
@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_is_the_scaled_dot_product_of_each_head(causal: bool) -> None:
    attention = shaken(SelfAttention(SIZE, HEADS))
    x = noise(1, 4, SIZE)
    seen = torch.ones(4, 4, dtype=torch.bool).tril() if causal else None
    outputs, past = attention(x, None, seen)
    wanted = transformer.self_attention(loops.numbers(attention), loops.array(x[0]), HEADS, rotary=False, causal=causal)
    torch.testing.assert_close(outputs[0], torch.tensor(wanted), rtol=0, atol=1e-12)
    assert past.keys.shape == past.values.shape == (1, HEADS, 4, SIZE // HEADS)


@pytest.mark.spec("A12")
def test_the_past_comes_first() -> None:
    """Two symbols, then two more that attend to all four, as the last two of four do."""
    attention = shaken(SelfAttention(SIZE, HEADS))
    x = noise(2, 4, SIZE)
    at_once, _ = attention(x, None)
    _, past = attention(x[:, :2], None)
    outputs, _ = attention(x[:, 2:], None, None, past)
    assert torch.allclose(outputs, at_once[:, 2:])


@pytest.mark.spec("A12")
def test_rotary_positions_turn_pairs_and_energies_depend_on_the_distance_alone() -> None:
    rotary = Rotary(INPUTS, HeadSizes(6))
    query, key = noise(1, 1, 5, 6), noise(1, 1, 5, 6, seed=1)
    energies = []
    for first in (0, 7):
        rotations = rotary.relations(noise(1, 5, INPUTS), torch.arange(first, first + 5), first + 5)
        assert isinstance(rotations, Rotations)
        one, other = rotate_pairs(query, rotations), rotate_pairs(key, rotations)
        for t in range(5):
            wanted = transformer.rotated(loops.array(query[0, 0, t]), first + t)
            assert one[0, 0, t].tolist() == pytest.approx(wanted.tolist(), abs=1e-12)
        energies.append(one @ other.transpose(2, 3))
    assert torch.allclose(energies[0], energies[1])
    assert not torch.allclose(energies[0], query @ key.transpose(2, 3))


@pytest.mark.spec("A12")
@pytest.mark.parametrize("positions", sorted(POSITIONS))
@pytest.mark.parametrize("size", [INPUTS, SIZE])
def test_the_encoder_is_its_equations(positions: PositionsKind, size: int) -> None:
    heads = 2 if size == SIZE else 3
    encoder = make(positions=positions, size=size, heads=heads, hidden=5)
    embedded = noise(1, 4, INPUTS)
    memory = encoder(embedded, WHOLE)
    p = loops.numbers(encoder)
    variant = transformer.Variant(positions)
    wanted = transformer.encoder(p, loops.array(embedded[0]), 2, heads, variant)
    torch.testing.assert_close(memory.states[0], torch.tensor(wanted), rtol=0, atol=1e-9)
    assert memory.final == ()
    assert encoder.state_shape == (0, size, 0)


VARIANTS = covering.covering(
    {
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
        "size": [INPUTS, SIZE],
    }
)


@pytest.mark.spec("J1")
@pytest.mark.spec("J2")
@pytest.mark.spec("J13")
@pytest.mark.parametrize("options", covering.cases(VARIANTS))
def test_every_variant_of_the_encoder_is_its_equations(options: dict[str, Any]) -> None:
    heads = 3 if options["size"] == INPUTS else 2
    encoder, embedded = make(**options, heads=heads, hidden=5), noise(1, 4, INPUTS)
    rest = {name: value for name, value in options.items() if name not in ("bias", "size")}
    wanted = transformer.encoder(
        loops.numbers(encoder), loops.array(embedded[0]), 2, heads, transformer.Variant(**rest)
    )
    states = encoder(embedded, WHOLE).states
    torch.testing.assert_close(states[0], torch.tensor(wanted), rtol=0, atol=1e-9)
    names = {name.rpartition(".")[2] for name, _ in next(iter(encoder.layers)).attention.named_parameters()}
    assert names == ({"weight", "bias"} if options["bias"] else {"weight"})


@pytest.mark.spec("J13")
@pytest.mark.parametrize("longest", [None, 100])
@pytest.mark.parametrize("causal", [False, True])
def test_distances_share_buckets(causal: bool, longest: int | None) -> None:
    """Each its own at first; then ranges that grow; one bucket for all from the distance `longest` on."""
    positions = RelativeBias(INPUTS, HeadSizes(4, 2, causal), longest)
    distances = torch.arange(-300, 300).unsqueeze(0)
    wanted = [transformer.bucket(int(distance), causal, longest or 128) for distance in distances[0]]
    assert positions.buckets(distances)[0].tolist() == wanted
    assert set(wanted) == set(range(32)) - (set() if causal else {16})
    relations = positions.relations(noise(1, 2, INPUTS), torch.tensor([3, 4]), 5)
    assert isinstance(relations, Biases)
    table = positions.table.get_parameter("table")
    for t, s in itertools.product((3, 4), range(5)):
        assert torch.equal(relations.values[:, t - 3, s], table[transformer.bucket(s - t, causal, longest or 128)])


def test_what_has_no_ranges_is_refused() -> None:
    for causal, most in ((True, 16), (False, 8)):
        with pytest.raises(ValueError, match=rf"longest {most} must be more than {most} with positions: relative"):
            RelativeBias(INPUTS, HeadSizes(4, 2, causal), most)
        RelativeBias(INPUTS, HeadSizes(4, 2, causal), most + 1)
    with pytest.raises(ValueError, match="size 8 is not divisible by 3 heads; set head_size"):
        make(heads=3)
    assert make(heads=3, head_size=2)(noise(1, 4, INPUTS), WHOLE).states.shape == (1, 4, SIZE)


@pytest.mark.spec("A12")
def test_every_symbol_attends_to_every_other() -> None:
    """Whichever changes, all states do: the first layer alone joins the ends of a sentence."""
    encoder, embedded = make(layers=1), noise(1, 4, INPUTS)
    before = encoder(embedded, WHOLE).states
    for j in range(4):
        changed = embedded.clone()
        changed[0, j] += 1
        assert (encoder(changed, WHOLE).states - before).abs().amax(-1).gt(1e-6).all()


@pytest.mark.parametrize("positions", sorted(POSITIONS))
def test_order_counts_where_there_are_positions(positions: PositionsKind) -> None:
    encoder, embedded = make(positions=positions), noise(1, 4, INPUTS)
    ahead, back = encoder(embedded, WHOLE).states, encoder(embedded.flip(1), WHOLE).states.flip(1)
    assert torch.allclose(ahead, back) == (positions == "none")


@pytest.mark.parametrize("positions", sorted(POSITIONS))
def test_padding_changes_nothing_and_a_row_alone_is_the_row_in_its_batch(positions: PositionsKind) -> None:
    encoder, embedded = make(positions=positions), noise(2, 4, INPUTS)
    states = encoder(embedded, MASK).states
    wide = torch.cat([embedded, 1e6 * noise(2, 3, INPUTS)], 1)
    wide[1, 2:] = -1e6
    wider = encoder(wide, torch.cat([MASK, MASK.new_zeros(2, 3)], 1)).states
    for row, length in enumerate((4, 2)):
        assert torch.allclose(wider[row, :length], states[row, :length])
        alone = encoder(embedded[row : row + 1, :length], MASK[row : row + 1, :length])
        assert torch.allclose(alone.states[0], states[row, :length])


@pytest.mark.parametrize("positions", sorted(POSITIONS))
def test_every_parameter_gets_a_gradient(positions: PositionsKind) -> None:
    encoder = make(positions=positions).train()
    memory = encoder(noise(2, 4, INPUTS), MASK)
    (memory.states[MASK] * noise(6, SIZE)).sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_positions_behind_the_learned_ones_share_the_last() -> None:
    positions, embedded = Learned(INPUTS, HeadSizes(INPUTS), 3), noise(1, 5, INPUTS)
    added = positions.double().place(embedded, torch.arange(5)) - embedded
    assert torch.allclose(added[0, 2], added[0, 4])
    assert not torch.allclose(added[0, 1], added[0, 2])
    learned = make(positions="learned").entry.positions
    assert isinstance(learned, Learned)
    assert learned.longest == LONGEST


def test_dropout_acts_on_what_each_sublayer_adds_in_training_alone() -> None:
    plain, dropping = make(layers=1), make(layers=1, dropout=0.999999)
    embedded = noise(1, 4, INPUTS)
    assert torch.equal(plain(embedded, WHOLE).states, dropping(embedded, WHOLE).states)
    bare, _ = dropping.entry(embedded, torch.arange(4), 4)
    torch.manual_seed(0)
    states = dropping.train()(embedded, WHOLE).states
    assert torch.allclose(states, dropping.norm(bare)), "nothing was added"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 8, "heads": 3}, "size 8 is not divisible by 3 heads"),
        ({"size": 8, "heads": 2, "positions": "marian", "longest": 9}, "longest requires positions: learned"),
        ({"size": 6, "heads": 2}, "even head size for positions: rotary, found 3"),
        ({"heads": 2, "positions": "rotary", "longest": 9}, "longest requires positions: learned"),
        ({"heads": 2, "positions": "none", "longest": 9}, "longest requires positions: learned"),
    ],
)
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_sizes_and_positions_that_do_not_fit_are_refused(kind: str, options: dict[str, Any], message: str) -> None:
    parts: dict[str, Any] = {kind: {"kind": "self_attention", **options}}
    model = settings(**parts, bridge="none" if kind == "decoder" else "mean")
    (problem,) = build.find_problems(whole(model))
    assert problem.path == ("model", kind)
    assert message in problem.message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"head": 4}, "did you mean 'heads'"),
        ({"positions": "rotari"}, "did you mean 'rotary'"),
        ({"heads": 0}, "at least 1"),
        ({"dropout": 1.0}, "less than 1"),
        ({"cell": "gru"}, "unknown key"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], message: str) -> None:
    (problem,) = components.find_problems(ENCODERS, Spec("self_attention", options), ("model", "encoder"))
    assert problem.path == ("model", "encoder", *options)
    assert message in problem.message


def test_the_table_of_encoders_names_it() -> None:
    encoder = components.build(ENCODERS, Spec("self_attention", {"size": 4, "heads": 2}), INPUTS)
    assert isinstance(encoder, SelfAttentionEncoder)
    assert len(list(encoder.layers)) == 6

"""Bridges: the decoder's first state."""

from collections.abc import Callable
from typing import Any, Literal

import pytest
import torch

from dragoman.configuration.components import Spec, find_problems
from dragoman.model.bridge import (
    BRIDGE_ACTIVATIONS,
    BRIDGES,
    Bridge,
    BridgeActivationKind,
    CopyBridge,
    FinalStateBridge,
    LayerwiseBridge,
    MeanBridge,
    NoBridge,
    ZeroBridge,
)
from dragoman.model.memory import Memory, StateShape
from tests.builders import noise, shaken
from tests.model import loops

FUNCTIONS: dict[str, Callable[[loops.Vector], loops.Vector]] = {
    "tanh": loops.tanh,
    "relu": lambda x: x * (x > 0),
    "none": lambda x: x,
}
MASK = torch.tensor([[True] * 3, [True] * 2 + [False]])


def memory(layers: int = 2, size: int = 3, components: int = 1) -> Memory:
    final = tuple(
        tuple(noise(2, size, seed=10 * layer + part) for part in range(components)) for layer in range(layers)
    )
    return Memory(noise(2, 3, size), MASK, final)


def shapes(components: int = 1, decoder_size: int = 2, decoder_layers: int = 2) -> tuple[tuple[StateShape], StateShape]:
    return (StateShape(2, 3, components),), StateShape(decoder_layers, decoder_size, components)


def projected(bridge: Bridge, number: int, vector: loops.Vector) -> loops.Vector:
    p = loops.numbers(bridge)
    return loops.times(p[f"projections.{number}.weight"], vector) + p[f"projections.{number}.bias"]


@pytest.mark.spec("A6")
@pytest.mark.parametrize("kind", [FinalStateBridge, MeanBridge])
def test_the_first_state_is_a_projection_of_one_vector_of_the_source(kind: type[Bridge]) -> None:
    """`h_0 = tanh(W z + b)` for each layer; z is the last layer's final state, or the mean of the real states."""
    bridge, source = shaken(kind(*shapes())), memory()
    layers = bridge((source,))
    for row, length in enumerate((3, 2)):
        if kind is FinalStateBridge:
            z = loops.array(source.final[-1][0][row])
        else:
            z = loops.mix([1 / length] * length, loops.array(source.states[row, :length]))
        for number, (hidden,) in enumerate(layers):
            expected = loops.tanh(projected(bridge, number, z))
            assert hidden[row].tolist() == pytest.approx(expected.tolist(), abs=1e-12)


@pytest.mark.spec("A6", "C14")
@pytest.mark.parametrize("kind", [FinalStateBridge, MeanBridge])
def test_of_several_sources_the_vectors_are_joined_in_their_order(kind: type[Bridge]) -> None:
    memories = [memory(size=size) for size in (3, 2, 4)]
    encoders = tuple(StateShape(2, size, 1) for size in (3, 2, 4))
    bridge = shaken(kind(encoders, StateShape(2, 2, 1)))
    for row, length in enumerate((3, 2)):
        if kind is FinalStateBridge:
            parts = [loops.array(source.final[-1][0][row]) for source in memories]
        else:
            parts = [loops.mix([1 / length] * length, loops.array(source.states[row, :length])) for source in memories]
        for number, (hidden,) in enumerate(bridge(tuple(memories))):
            expected = loops.tanh(projected(bridge, number, loops.join(*parts)))
            assert hidden[row].tolist() == pytest.approx(expected.tolist(), abs=1e-12)


@pytest.mark.spec("A6")
def test_an_lstm_gets_a_memory_of_its_own() -> None:
    """`c_0 = V z + d`, without the tanh."""
    bridge, source = shaken(FinalStateBridge(*shapes(components=2))), memory(components=2)
    z = loops.array(source.final[-1][0][0])
    for number, (hidden, cell) in enumerate(bridge((source,))):
        assert hidden[0].tolist() == pytest.approx(loops.tanh(projected(bridge, number, z)).tolist(), abs=1e-12)
        assert cell[0].tolist() == pytest.approx(projected(bridge, 2 + number, z).tolist(), abs=1e-12)


@pytest.mark.spec("A6")
def test_zero_starts_from_zeros() -> None:
    layers = ZeroBridge(*shapes(components=2))((memory(components=2),))
    assert [[part.shape for part in state] for state in layers] == [[(2, 2)] * 2] * 2
    assert all(part.eq(0).all() for state in layers for part in state)


@pytest.mark.spec("A6")
@pytest.mark.parametrize("components", [1, 2])
def test_copy_starts_each_layer_from_the_same_layer_of_the_encoder(components: int) -> None:
    source = memory(components=components)
    assert CopyBridge(*shapes(components, decoder_size=3))((source,)) == source.final


@pytest.mark.spec("A3", "A6")
@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize("kind", [FinalStateBridge, MeanBridge, CopyBridge])
def test_layers_first_starts_the_first_layer_alone(kind: Any, components: int) -> None:
    source = memory(components=components)
    bridge = shaken(kind(*shapes(components, decoder_size=3, decoder_layers=3), layers="first"))
    first, *upper = bridge((source,))
    assert all(part.abs().sum() > 0 for part in first)
    if kind is CopyBridge:
        assert first == source.final[-1]
    assert len(upper) == 2
    assert all(part.eq(0).all() for state in upper for part in state)
    assert len(list(bridge.parameters())) == (0 if kind is CopyBridge else 2 * components)


@pytest.mark.parametrize(
    ("encoder", "decoder", "message"),
    [
        (StateShape(1, 3, 1), StateShape(1, 2, 1), "of size 3 and the decoder 1 of size 2"),
        (StateShape(1, 3, 1), StateShape(1, 3, 2), "encoder has 1 of size 3 and the decoder 2"),
        (StateShape(1, 3, 1), StateShape(2, 3, 1), "1 layers meet 2; use layers: first"),
    ],
)
def test_copy_refuses_states_that_do_not_fit(encoder: StateShape, decoder: StateShape, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CopyBridge((encoder,), decoder)


@pytest.mark.parametrize("kind", [FinalStateBridge, CopyBridge])
def test_a_final_state_that_is_not_there_is_refused(kind: type[Bridge]) -> None:
    with pytest.raises(ValueError, match="requires an encoder with a final state; use 'mean' or 'zero'"):
        kind((StateShape(0, 3, 0),), StateShape(1, 3, 1))


def test_none_makes_no_state() -> None:
    assert NoBridge((StateShape(2, 3, 1),), StateShape(0, 3, 0))((memory(),)) == ()


@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize("kind", sorted(set(BRIDGES) - {"none"}))
def test_every_bridge(kind: str, components: int) -> None:
    """Right shapes; a row alone is the row in its batch; padding changes nothing; every parameter gets a gradient."""
    bridge = shaken(BRIDGES[kind](*shapes(components, decoder_size=3)))
    source = memory(components=components)
    layers = bridge((source,))
    assert [[part.shape for part in state] for state in layers] == [[(2, 3)] * components] * 2
    final = tuple(tuple(part[1:] for part in state) for state in source.final)
    alone = bridge((Memory(source.states[1:, :2], MASK[1:, :2], final),))
    for state, wanted in zip(alone, layers, strict=True):
        assert all(torch.allclose(part[0], vectors[1]) for part, vectors in zip(state, wanted, strict=True))
    total = sum((part * noise(2, 3, seed=n)).sum() for n, state in enumerate(layers) for part in state)
    if list(bridge.parameters()):
        total.backward()
    for name, parameter in bridge.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("kind", sorted(BRIDGES))
def test_unknown_options_are_refused(kind: str) -> None:
    (problem,) = find_problems(BRIDGES, Spec(kind, {"layer": "first"}), ("model", "bridge"))
    assert problem.path == ("model", "bridge", "layer")
    advice = {"zero": "no options", "none": "no options", "layerwise": "expected one of activation"}
    assert advice.get(kind, "did you mean 'layers'") in problem.message


@pytest.mark.spec("J7")
@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize("layers", ["all", "first"])
def test_a_shared_state_starts_all_layers_and_cells(layers: Literal["all", "first"], components: int) -> None:
    bridge, source = shaken(MeanBridge(*shapes(components), layers=layers, shared=True)), memory(components=components)
    z = loops.array(source.mean()[0])
    expected = loops.tanh(projected(bridge, 0, z)).tolist()
    for number, state in enumerate(bridge((source,))):
        assert len(state) == components
        for part in state:
            wanted = expected if number == 0 or layers == "all" else [0.0, 0.0]
            assert part[0].tolist() == pytest.approx(wanted, abs=1e-12)
    assert len(list(bridge.parameters())) == 2


@pytest.mark.spec("J12")
@pytest.mark.parametrize("activation", BRIDGE_ACTIVATIONS)
def test_a_state_is_mapped_with_another_function(activation: BridgeActivationKind) -> None:
    """`h_0 = f(W z + b)`, for all layers and for c."""
    bridge = shaken(FinalStateBridge(*shapes(2), shared=True, activation=activation))
    source = memory(components=2)
    expected = FUNCTIONS[activation](projected(bridge, 0, loops.array(source.final[-1][0][0])))
    for state in bridge((source,)):
        for part in state:
            assert part[0].tolist() == pytest.approx(expected.tolist(), abs=1e-12)


@pytest.mark.spec("J14")
@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize("activation", BRIDGE_ACTIVATIONS)
def test_layerwise_maps_each_layer_by_the_same_matrices(activation: BridgeActivationKind, components: int) -> None:
    """`h_i = f(W h_i^e + b)`, `c_i = f(V c_i^e + d)`."""
    bridge = shaken(LayerwiseBridge(*shapes(components), activation=activation))
    source, function = memory(components=components), FUNCTIONS[activation]
    for state, final in zip(bridge((source,)), source.final, strict=True):
        for number, (part, vector) in enumerate(zip(state, final, strict=True)):
            expected = function(projected(bridge, number, loops.array(vector[1])))
            assert part[1].tolist() == pytest.approx(expected.tolist(), abs=1e-12)
    assert len(list(bridge.parameters())) == 2 * components


@pytest.mark.parametrize(
    ("encoders", "message"),
    [
        ((StateShape(1, 3, 1),), "1 layers with 1 vectors meet 2 with 1; use 'final'"),
        ((StateShape(2, 3, 2),), "2 layers with 2 vectors meet 2 with 1; use 'final'"),
        ((StateShape(2, 3, 1),) * 2, "requires a single source"),
    ],
)
def test_layerwise_refuses_states_that_do_not_fit(encoders: tuple[StateShape, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LayerwiseBridge(encoders, StateShape(2, 2, 1))


@pytest.mark.spec("J10")
@pytest.mark.parametrize("kind", ["standard", "marian", "nematus"])
def test_the_product_of_a_bridge_can_be_normalized(kind: str) -> None:
    """`tanh(norm(W z, b))`."""
    bridge, source = shaken(MeanBridge(*shapes(), layer_norm=kind)), memory()
    p, z = loops.numbers(bridge), loops.array(source.mean()[0])
    for number, (hidden,) in enumerate(bridge((source,))):
        name = f"projections.{number}"
        products = loops.times(p[f"{name}.weight"], z)
        expected = loops.tanh(loops.projected(p, f"{name}.norm", kind, products, p[f"{name}.bias"]))
        assert hidden[0].tolist() == pytest.approx(expected.tolist(), abs=1e-12)

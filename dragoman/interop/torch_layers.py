"""Recurrent layers of models whose tensors have the names that torch gives them (OpenNMT-py, JoeyNMT, fairseq).

Matrices are stored as (out, in), gates in our order.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from dragoman.interop.foreign_model import Array, TensorMap
from dragoman.interop.foreign_text import RowOrder

GATES: Final = {"gru": 3, "lstm": 4}
PARTS: Final = {"weight_input": "weight_ih", "weight_hidden": "weight_hh"}
BIASES: Final = {"bias_input": "bias_ih", "bias_hidden": "bias_hh"}
ENCODER: Final = "source_encoders.0.encoder"
SCORE: Final = "decoder.attention.attention.score"
DIRECTIONS: Final = {True: "bidirectional", False: "forward"}


def attentional_model(
    cell: str, sizes: Mapping[str, int], layers: tuple[int, int], *, bidirectional: bool, feeds: bool
) -> dict[str, Any]:
    """The encoder and decoder of Luong's attentional model. `sizes` are those of a direction of the encoder, of the
    decoder, and of its features.
    """
    return {
        "encoder": {
            "kind": "rnn",
            "cell": cell,
            "size": sizes["encoder"],
            "layers": layers[0],
            "direction": DIRECTIONS[bidirectional],
        },
        "decoder": {
            "kind": "rnn",
            "cell": cell,
            "size": sizes["decoder"],
            "layers": layers[1],
            "attend": "after",
            "input_feeding": "attentional" if feeds else "none",
            "readout": "tanh",
            "readout_size": sizes["features"],
        },
    }


class TorchLayers:
    """Maps cells and linear layers."""

    def __init__(self, tensors: TensorMap) -> None:
        self.tensors = tensors

    def cell(self, ours: str, theirs: str, kind: str, inputs: int, size: int) -> None:
        """A cell; `theirs` is a name with a place for `weight_ih` and others."""
        width = GATES[kind] * size
        for (name, part), columns in zip(PARTS.items(), (inputs, size), strict=True):
            self.tensors.put(f"{ours}.{name}", self.tensors.take(theirs.format(part), (width, columns)))
        for name, part in BIASES.items():
            self.tensors.put(f"{ours}.{name}", self.tensors.take(theirs.format(part), (width,)))

    def encoder(self, theirs: str, options: Mapping[str, Any], embedding: int) -> None:
        """A stack of layers, of one direction or both."""
        suffixes = ("", "_reverse") if options["direction"] == DIRECTIONS[True] else ("",)
        for layer in range(options["layers"]):
            inputs = len(suffixes) * options["size"] if layer else embedding
            for direction, suffix in enumerate(suffixes):
                name = f"{theirs}.{{}}_l{layer}{suffix}"
                self.cell(f"{ENCODER}.layers.{layer}.{direction}", name, options["cell"], inputs, options["size"])

    def decoder(self, theirs: str, options: Mapping[str, Any], inputs: int) -> None:
        """The cells of a decoder; `theirs` has places for the layer and for the part."""
        for layer in range(options["layers"]):
            name = theirs.replace("LAYER", str(layer))
            width = options["size"] if layer else inputs
            self.cell(f"decoder.cells.{layer}", name, options["cell"], width, options["size"])

    def linear(
        self, ours: str, theirs: str, shape: tuple[int, int], *, has_bias: bool, parts: Sequence[int] = ()
    ) -> None:
        """A linear layer; a bias that the file lacks is 0. `parts` are the sizes of inputs that we have in the other
        order.
        """
        weight = self.tensors.take(f"{theirs}.weight", shape)
        if parts:
            first, second = np.split(weight, [parts[0]], 1)
            weight = np.concatenate([second, first], 1)
        self.tensors.put(f"{ours}.weight", weight)
        bias = self.tensors.take(f"{theirs}.bias", shape[:1]) if has_bias else np.zeros(shape[0])
        self.tensors.put(f"{ours}.bias", bias)

    def matrix(self, ours: str, theirs: str, shape: tuple[int, int]) -> None:
        """A linear layer that has no bias here either."""
        self.tensors.put(f"{ours}.weight", self.tensors.take(f"{theirs}.weight", shape))

    def tables(
        self,
        rows: tuple[RowOrder, RowOrder],
        embeddings: tuple[Array, Array],
        output: tuple[Array, Array | None],
    ) -> None:
        """Put the embeddings of both sides, and the matrix and bias of the output layer."""
        self.tensors.put(f"{ENCODER.removesuffix('encoder')}embedding.table", rows[0](embeddings[0]))
        self.tensors.put("inputs.embedding.table", rows[1](embeddings[1]))
        self.tensors.put("output.weight", rows[1](output[0]))
        bias = np.zeros(len(output[0]), np.float32) if output[1] is None else output[1]
        self.tensors.put("output.bias", rows[1].bias(bias))

"""Attentional models of OpenNMT-py and fairseq, whose options follow from the shapes of their tensors.

Both attend with the new state, compute `tanh(W [c; s])`, with the context first, and feed it to the next step.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dragoman.errors import UserError
from dragoman.interop.foreign_model import TensorMap
from dragoman.interop.torch_layers import GATES, SCORE, TorchLayers, attentional_model


@dataclass(frozen=True)
class Names:
    """The names of the tensors of one program."""

    source_embedding: str
    target_embedding: str
    encoder: str  # a name with a place for `weight_ih` and others
    decoder: str  # the same, with LAYER for the number of the layer
    mixture: str


class LuongModel:
    """Maps the tensors of one model."""

    def __init__(self, tensors: TensorMap, names: Names) -> None:
        self.tensors, self.names, self.layers = tensors, names, TorchLayers(tensors)
        (_, self.embedding), (_, target) = (
            self.shape(f"{name}.weight", 2) for name in (names.source_embedding, names.target_embedding)
        )
        if target != self.embedding:
            raise UserError(
                f"{tensors.path}: tensor '{names.target_embedding}.weight': expected vectors of size "
                f"{self.embedding}, as those of the source, found {target}"
            )
        self.sizes = {
            "encoder": self.shape(f"{names.encoder.format('weight_hh')}_l0", 2)[1],
            "decoder": self.shape(self._decoder_name("weight_hh", 0), 2)[1],
        }
        rows = self.shape(f"{names.encoder.format('weight_hh')}_l0", 2)[0]
        kind = next((kind for kind, gates in GATES.items() if rows == gates * self.sizes["encoder"]), None)
        if kind is None:
            raise UserError(f"{tensors.path}: expected an encoder of GRUs or LSTMs, found {rows} rows of its gates")
        self.cell = kind
        self.bidirectional = f"{names.encoder.format('weight_hh')}_l0_reverse" in tensors.tensors
        self.states = self.sizes["encoder"] * (2 if self.bidirectional else 1)

    def shape(self, name: str, dimensions: int) -> tuple[int, ...]:
        """The shape of a tensor. UserError if there is no such tensor."""
        tensor = self.tensors.tensors.get(name)
        if tensor is None or tensor.ndim != dimensions or 0 in tensor.shape:
            actual = "no such tensor" if tensor is None else tensor.shape
            raise UserError(f"{self.tensors.path}: tensor {name!r}: expected {dimensions} dimensions, found {actual}")
        return tensor.shape

    def has(self, name: str) -> bool:
        """Whether there is a tensor of this name."""
        return name in self.tensors.tensors

    def _decoder_name(self, part: str, layer: int) -> str:
        return self.names.decoder.replace("LAYER", str(layer)).format(part)

    def _count(self, pattern: str) -> int:
        """The number of layers whose names match."""
        return len({match[1] for name in self.tensors.tensors if (match := re.fullmatch(pattern, name))})

    def configuration(self, attention: Mapping[str, Any]) -> dict[str, Any]:
        """The parts of the section `model` of our configuration that follow from shapes."""
        encoder = re.escape(self.names.encoder).replace(r"\{\}", "weight_hh")
        decoder = re.escape(self._decoder_name("weight_hh", 0)).replace("0", r"(\d+)")
        counts = (self._count(rf"{encoder}_l(\d+)"), self._count(decoder))
        size = self.sizes["decoder"]
        inputs = self.shape(self._decoder_name("weight_ih", 0), 2)[1]
        sizes = {**self.sizes, "features": size}
        feeds = inputs != self.embedding
        return {
            **attentional_model(self.cell, sizes, counts, bidirectional=self.bidirectional, feeds=feeds),
            "attention": {"score": attention},
        }

    def parameters(self, model: Mapping[str, Any], *, has_bias: bool) -> None:
        """Put cells, and the mixture, which may have a bias."""
        encoder, decoder = model["encoder"], model["decoder"]
        size = decoder["size"]
        self.layers.encoder(self.names.encoder.removesuffix(".{}"), encoder, self.embedding)
        feeds = decoder["input_feeding"] == "attentional"
        self.layers.decoder(self.names.decoder, decoder, self.embedding + (size if feeds else 0))
        shape, parts = (size, self.states + size), (self.states, size)
        self.layers.linear("decoder.features.mix", self.names.mixture, shape, has_bias=has_bias, parts=parts)

    def bilinear(self, theirs: str) -> None:
        """The score `(P s) . h`, whose matrix is the transpose of ours."""
        matrix = self.tensors.take(f"{theirs}.weight", (self.states, self.sizes["decoder"]))
        self.tensors.put(f"{SCORE}.weight.weight", matrix.T)


SEARCH: Final = {"kind": "beam", "size": 5, "alpha": 1.0}  # of programs that keep none

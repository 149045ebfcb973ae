"""The parts of JoeyNMT's models: names of tensors, and keys of the configuration."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final, final

import numpy as np

from dragoman.interop.foreign_model import TensorMap
from dragoman.interop.foreign_options import ForeignOptions
from dragoman.interop.foreign_text import RowOrder
from dragoman.interop.torch_layers import ENCODER, SCORE, TorchLayers, attentional_model

ACTIVATIONS: Final = ("relu", "gelu", "swish")
BRIDGES: Final[Mapping[str, Any]] = {
    "bridge": {"kind": "final", "shared": True},
    "last": {"kind": "final", "shared": True, "activation": "none"},
    "zero": "zero",
}
SCORES: Final = ("bahdanau", "luong")
NORMS: Final = {"pre": "before", "post": "after"}
SIDES: Final = {"encoder": ENCODER, "decoder": "decoder"}  # theirs and ours
EPSILON: Final = 1e-6  # of layer norms


class JoeyModel(ABC):
    """What models of both types have in common."""

    output_size: int  # of what the output layer reads

    def __init__(self, options: ForeignOptions, tensors: TensorMap, sizes: tuple[int, int]) -> None:
        self.tensors, self.sizes, self.layers = tensors, sizes, TorchLayers(tensors)
        self.source, self.target = options.section("encoder"), options.section("decoder")
        embeddings = [side.section("embeddings") for side in (self.source, self.target)]
        self.embedding = embeddings[0].number("embedding_dim", default=64)
        if embeddings[1].number("embedding_dim", default=64) != self.embedding:
            raise embeddings[1].refuse("embedding_dim", f"the size of encoder.embeddings, {self.embedding}")
        self.scales = [section.flag("scale", False) for section in embeddings]
        self.shared, self.tied = (options.flag(f"tied_{part}", False) for part in ("embeddings", "softmax"))

    @property
    def embedding_section(self) -> dict[str, Any]:
        """The section `embedding` of our configuration."""
        tie = {(True, True): "all", (True, False): "languages", (False, True): "output"}
        return {"size": self.embedding, "tie": tie.get((self.shared, self.tied), "none")}

    def tables(self, rows: tuple[RowOrder, RowOrder]) -> None:
        """Put the embeddings and the output layer, which has no bias."""
        names = [f"{side}_embed.lut.weight" for side in ("src", "trg")]
        output = "decoder.output_layer.weight"
        shapes = [(count, self.embedding) for count in self.sizes]
        if self.shared:
            names[1] = names[0]
            self.tensors.take_shared((names[0], "trg_embed.lut.weight"), shapes[0])
        embeddings = (self.tensors.take(names[0], shapes[0]), self.tensors.take(names[1], shapes[1]))
        matrix = self.tensors.take(output, (self.sizes[1], self.output_size))
        self.layers.tables(rows, embeddings, (matrix, None))

    @abstractmethod
    def configuration(self) -> dict[str, Any]:
        """The section `model` of our configuration."""

    @abstractmethod
    def parameters(self, model: dict[str, Any]) -> None:
        """Put all but tables of symbols."""


@final
class JoeyRecurrent(JoeyModel):
    """Luong's attentional model; the same first state, from the last layer of the encoder, for all layers."""

    def configuration(self) -> dict[str, Any]:
        """The section `model` of our configuration."""
        source, target = self.source, self.target
        if any(self.scales):
            raise source.refuse("embeddings", "scale: false in a recurrent model")
        cell = source.choice("rnn_type", ("gru", "lstm"), "gru")
        target.choice("rnn_type", (cell,), "gru")
        source.expect({"bidirectional": True})
        target.expect({"activation": "tanh"})
        size = target.number("hidden_size", default=256)
        self.output_size = size
        score = target.choice("attention", SCORES, "bahdanau")
        self.score = score
        counts = (source.number("num_layers", default=1), target.number("num_layers", default=1))
        sizes = {"encoder": source.number("hidden_size", default=256), "decoder": size, "features": size}
        feeds = target.flag("input_feeding", True)
        bridge = target.choice("init_hidden", tuple(BRIDGES), "bridge")
        self.start = bridge
        if bridge == "last" and size not in (sizes["encoder"], 2 * sizes["encoder"]):
            raise target.refuse("hidden_size", f"{sizes['encoder']} or {2 * sizes['encoder']} with init_hidden: last")
        return {
            "embedding": self.embedding_section,
            **attentional_model(cell, sizes, counts, bidirectional=True, feeds=feeds),
            "bridge": BRIDGES[bridge],
            "attention": {"score": {"bahdanau": {"kind": "additive", "size": size}, "luong": "bilinear"}[score]},
        }

    def parameters(self, model: dict[str, Any]) -> None:
        """Put all but tables of symbols."""
        encoder, decoder = model["encoder"], model["decoder"]
        size, states = decoder["size"], 2 * encoder["size"]
        self.layers.encoder("encoder.rnn", encoder, self.embedding)
        feeds = decoder["input_feeding"] == "attentional"
        self.layers.decoder("decoder.rnn.{}_lLAYER", decoder, self.embedding + (size if feeds else 0))
        self.layers.linear("decoder.features.mix", "decoder.att_vector_layer", (size, size + states), has_bias=True)
        if self.start == "bridge":
            self.layers.linear("bridge.projections.0", "decoder.bridge_layer", (size, states), has_bias=True)
        if self.start == "last":  # of both directions, or the first half, which is that of the forward one
            self.tensors.put("bridge.projections.0.weight", np.eye(size, states))
            self.tensors.put("bridge.projections.0.bias", np.zeros(size))
        if self.score == "luong":
            self.layers.matrix(f"{SCORE}.weight", "decoder.attention.key_layer", (size, states))
            return
        self.layers.matrix(f"{SCORE}.query", "decoder.attention.query_layer", (size, size))
        self.layers.linear(f"{SCORE}.state", "decoder.attention.key_layer", (size, states), has_bias=False)
        self.tensors.put(f"{SCORE}.vector", self.tensors.take("decoder.attention.energy_layer.weight", (1, size))[0])


@final
class JoeyTransformer(JoeyModel):
    """Layers with norms before or after, interleaved positions, and an output layer of the same size."""

    def configuration(self) -> dict[str, Any]:
        """The section `model` of our configuration."""
        self.output_size = self.embedding
        sections = {
            name: self._side(name, side, scale)
            for (name, side), scale in zip(
                (("encoder", self.source), ("decoder", self.target)), self.scales, strict=True
            )
        }
        return {
            "embedding": self.embedding_section,
            **sections,
            "bridge": "none",
            "attention": {"score": "scaled_dot"},
        }

    def _side(self, name: str, options: ForeignOptions, scale: bool) -> dict[str, Any]:
        """A section of our configuration. Where a configuration does not say where norms are, the encoder has them
        before, and the decoder too if it ends in one (version 1).
        """
        options.expect({"alpha": 1.0, "hidden_size": self.embedding})
        has_final = f"{name}.layer_norm.weight" in self.tensors.tensors
        place = options.choice("layer_norm", tuple(NORMS), "pre" if has_final or name == "encoder" else "post")
        return {
            "kind": "self_attention",
            "size": self.embedding,
            "layers": options.number("num_layers", default=8 if name == "encoder" else 4),
            "heads": options.number("num_heads", default=4 if name == "encoder" else 8),
            "hidden": options.number("ff_size", default=2048),
            "positions": "sinusoidal",
            "bias": True,
            "activation": options.choice("activation", ACTIVATIONS, "relu"),
            "norm": NORMS[place],
            "final_norm": has_final,
            "norm_epsilon": EPSILON,
            "scale": scale,
        }

    def parameters(self, model: dict[str, Any]) -> None:
        """Put all but tables of symbols."""
        for side, ours in SIDES.items():
            self.tensors.leave_out(f"{side}.pe.pe")  # positions, which are computed
            for number in range(model[side]["layers"]):
                self._layer(f"{ours}.layers.{number}", f"{side}.layers.{number}", side, model[side]["hidden"])
            if model[side]["final_norm"]:
                self._norm(f"{ours}.norm", f"{side}.layer_norm")

    def _layer(self, ours: str, theirs: str, side: str, hidden: int) -> None:
        attention, *norms = {
            "encoder": ("src_src_att", "layer_norm", "feed_forward.layer_norm"),
            "decoder": ("trg_trg_att", "x_layer_norm", "dec_layer_norm", "feed_forward.layer_norm"),
        }[side]
        square = (self.embedding, self.embedding)
        parts = [f"{theirs}.{attention}.{part}_layer" for part in "qkv"]
        weights = [self.tensors.take(f"{part}.weight", square) for part in parts]
        biases = [self.tensors.take(f"{part}.bias", square[:1]) for part in parts]
        self.tensors.put(f"{ours}.attention.project.weight", np.concatenate(weights))
        self.tensors.put(f"{ours}.attention.project.bias", np.concatenate(biases))
        linear = {"attention.out_proj": (f"{attention}.output_layer", square)}
        linear |= {"feed_forward.0": ("feed_forward.pwff_layer.0", (hidden, self.embedding))}
        linear |= {"feed_forward.2": ("feed_forward.pwff_layer.3", (self.embedding, hidden))}
        if side == "decoder":
            names = {"query": "q_layer", "keys": "k_layer", "values": "v_layer", "out_proj": "output_layer"}
            linear |= {f"cross.{part}": (f"src_trg_att.{name}", square) for part, name in names.items()}
        for part, (name, shape) in linear.items():
            self.layers.linear(f"{ours}.{part}", f"{theirs}.{name}", shape, has_bias=True)
        for number, norm in enumerate(norms):
            self._norm(f"{ours}.norms.{number}", f"{theirs}.{norm}")

    def _norm(self, ours: str, theirs: str) -> None:
        for part in ("weight", "bias"):
            self.tensors.put(f"{ours}.{part}", self.tensors.take(f"{theirs}.{part}", (self.embedding,)))


MODELS: Final[dict[str, type[JoeyModel]]] = {"recurrent": JoeyRecurrent, "transformer": JoeyTransformer}

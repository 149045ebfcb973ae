"""T5 and mT5 of Hugging Face (Raffel et al. 2020): relative positions, norms without means, no biases.

Energies of attention are not divided by the root of the size of a head, as ours are: queries are multiplied by it. The
first version (`feed_forward_proj: relu`) ties its output layer to embeddings, and multiplies the last states by
`d_model^(-1/2)`: the weights of the last norm are.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from dragoman.data.vocabulary import BOS
from dragoman.interop.foreign_model import TensorMap
from dragoman.interop.foreign_text import RowOrder
from dragoman.interop.huggingface_file import HuggingFaceOptions
from dragoman.model.positions import BUCKETS, FARTHEST

SIDES: Final = {"encoder": "source_encoders.0.encoder", "decoder": "decoder"}  # theirs and ours
FEED_FORWARD: Final[Mapping[str, tuple[str, bool]]] = {  # our activation, and whether it is a gate
    "relu": ("relu", False),
    "gelu": ("gelu", False),
    "gated-gelu": ("gelu_tanh", True),
    "gated-silu": ("swish", True),
}


class T5Layers:
    """Maps the tensors and keys of one model."""

    def __init__(self, options: HuggingFaceOptions, tensors: TensorMap) -> None:
        self.options, self.tensors = options, tensors
        self.size, self.heads, self.head_size = (options.number(key) for key in ("d_model", "num_heads", "d_kv"))
        self.hidden = options.number("d_ff")
        self.activation, self.gated = FEED_FORWARD[options.choice("feed_forward_proj", tuple(FEED_FORWARD))]
        self.layers = {
            "encoder": options.number("num_layers"),
            "decoder": options.number("num_decoder_layers", "num_layers"),
        }
        if options.values.get("relative_attention_num_buckets", BUCKETS) != BUCKETS:
            raise options.refuse("relative_attention_num_buckets", str(BUCKETS))
        # In older files the first key stands for both; newer ones may have tied tables without a scale.
        tied = options.flag("tie_word_embeddings", True)
        self.scaled = options.flag("scale_decoder_outputs", tied)
        self.tied = tied or "lm_head.weight" not in tensors.tensors

    def configuration(self, *, shared: bool) -> dict[str, Any]:
        """The section `model` of our configuration, without what the decoder starts with."""
        epsilon = self.options.values.get("layer_norm_epsilon", 1e-6)
        if not isinstance(epsilon, float) or not 0 < epsilon <= 0.01:
            raise self.options.refuse("layer_norm_epsilon", "a small number")
        farthest = self.options.values.get("relative_attention_max_distance", FARTHEST)
        if type(farthest) is not int or not BUCKETS // 2 < farthest < 1_000_000:
            raise self.options.refuse("relative_attention_max_distance", f"a number above {BUCKETS // 2}")
        encoder, decoder = (
            {
                "kind": "self_attention",
                "size": self.size,
                "layers": self.layers[side],
                "heads": self.heads,
                "head_size": self.head_size if self.heads * self.head_size != self.size else None,
                "hidden": self.hidden,
                "positions": "relative",
                "longest": farthest,
                "activation": self.activation,
                "gated": self.gated,
                "norm": "before",
                "norm_kind": "rms",
                "norm_epsilon": epsilon,
                "scale": False,
            }
            for side in SIDES
        )
        return {
            "embedding": {"size": self.size, "tie": "all" if self.tied and shared else "languages"},
            "encoder": encoder,
            "bridge": "none",
            "attention": {"score": "scaled_dot"},
            "decoder": decoder,
        }

    def parameters(self) -> None:
        """Put all but tables of symbols."""
        for side, ours in SIDES.items():
            for number in range(self.layers[side]):
                self._layer(f"{ours}.layers.{number}", f"{side}.block.{number}.layer", side == "decoder")
            # One table for all layers
            name = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
            biases = self.tensors.take(name, (BUCKETS, self.heads))
            self.tensors.put(f"{ours}.entry.positions.table.table", biases)
            scale = self.size**-0.5 if side == "decoder" and self.scaled else 1.0
            self._norm(f"{ours}.norm", f"{side}.final_layer_norm", scale)
        self.tensors.leave_out("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight")

    def _norm(self, ours: str, theirs: str, scale: float = 1.0) -> None:
        self.tensors.put(f"{ours}.weight", scale * self.tensors.take(f"{theirs}.weight", (self.size,)))

    def _layer(self, ours: str, theirs: str, crosses: bool) -> None:
        inner, scale = self.heads * self.head_size, math.sqrt(self.head_size)
        kinds = [("attention", "SelfAttention"), *([("cross", "EncDecAttention")] if crosses else [])]
        for number, (part, name) in enumerate(kinds):
            names = (f"{theirs}.{number}.{name}.{letter}.weight" for letter in "qkv")
            query, key, value = (self.tensors.take(tensor, (inner, self.size)) for tensor in names)
            if part == "attention":
                self.tensors.put(f"{ours}.{part}.project.weight", np.concatenate([scale * query, key, value]))
            else:
                for tensor, array in (("query", scale * query), ("keys", key), ("values", value)):
                    self.tensors.put(f"{ours}.{part}.{tensor}.weight", array)
            out = self.tensors.take(f"{theirs}.{number}.{name}.o.weight", (self.size, inner))
            self.tensors.put(f"{ours}.{part}.out_proj.weight", out)
            self._norm(f"{ours}.norms.{number}", f"{theirs}.{number}.layer_norm")
        self._feed_forward(f"{ours}.feed_forward", f"{theirs}.{len(kinds)}.DenseReluDense")
        self._norm(f"{ours}.norms.{len(kinds)}", f"{theirs}.{len(kinds)}.layer_norm")

    def _feed_forward(self, ours: str, theirs: str) -> None:
        """Our biases are 0."""
        inside = {"0.gate": "wi_0", "0.value": "wi_1"} if self.gated else {"0": "wi"}
        for part, name in inside.items():
            self.tensors.put(
                f"{ours}.{part}.weight", self.tensors.take(f"{theirs}.{name}.weight", (self.hidden, self.size))
            )
            self.tensors.put(f"{ours}.{part}.bias", np.zeros(self.hidden))
        last = "1" if self.gated else "2"
        self.tensors.put(f"{ours}.{last}.weight", self.tensors.take(f"{theirs}.wo.weight", (self.size, self.hidden)))
        self.tensors.put(f"{ours}.{last}.bias", np.zeros(self.size))

    def tables(self, rows: tuple[RowOrder, RowOrder], sizes: tuple[int, int], start: int | None) -> bool:
        """Put embeddings and the output layer. The decoder starts with the vector of `start`, even if it is zero."""
        names = ("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
        shape = (sizes[0], self.size)
        shared = self.tensors.take_shared((*names, *(("lm_head.weight",) if self.tied else ())), shape)
        table = rows[0](shared)
        table[BOS] = shared[start]
        for name in ("source_encoders.0.embedding.table", "inputs.embedding.table"):
            self.tensors.put(name, table)
        weight = table if self.tied else rows[1](self.tensors.take("lm_head.weight", shape))
        self.tensors.put("output.weight", weight)
        self.tensors.put("output.bias", rows[1].bias(np.zeros(sizes[1], np.float32)))
        return False

"""Layers of Hugging Face's descendants of fairseq: MarianMT, M2M100, NLLB, BART, mBART.

Their tensors have the same names; they differ in positions, norms and scale. Matrices are stored as (out, in).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from dragoman.data.vocabulary import BOS
from dragoman.interop.foreign_model import Array, TensorMap
from dragoman.interop.foreign_text import RowOrder
from dragoman.interop.huggingface_file import HuggingFaceOptions
from dragoman.model.transformer_layer import NormPlace

ACTIVATIONS: Final = {"swish": "swish", "silu": "swish", "relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh"}
SIDES: Final = {"encoder": "source_encoders.0.encoder", "decoder": "decoder"}  # theirs and ours
LEARNED_OFFSET: Final = 2  # rows before the first position: fairseq counts positions from the number of `<pad>` on


@dataclass(frozen=True)
class Architecture:
    """How models of one type differ from others. Configurations of older versions have the keys of `expected`."""

    program: str
    positions: str
    norm: NormPlace
    epsilon: float = 1e-5
    embedding_norm: bool = False
    output_bias: bool = True
    scale: bool = False
    expected: Mapping[str, bool] = field(default_factory=dict)


class EncoderDecoder:
    """Maps the tensors and keys of one model."""

    def __init__(self, options: HuggingFaceOptions, tensors: TensorMap, architecture: Architecture) -> None:
        self.options, self.tensors, self.architecture = options, tensors, architecture
        self.size = options.number("d_model")
        self.shared = options.flag("share_encoder_decoder_embeddings", True)
        self.tied = options.flag("tie_word_embeddings", True)
        options.expect(architecture.expected)

    def configuration(self, *, shared: bool) -> dict[str, Any]:
        """The section `model` of our configuration, without what the decoder starts with. `shared`: our tables of both
        sides have the same rows.
        """
        architecture, options = self.architecture, self.options
        activation = ACTIVATIONS[options.choice("activation_function", tuple(ACTIVATIONS))]
        encoder, decoder = (
            {
                "kind": "self_attention",
                "size": self.size,
                "layers": options.number(f"{side}_layers"),
                "heads": options.number(f"{side}_attention_heads"),
                "hidden": options.number(f"{side}_ffn_dim"),
                "positions": architecture.positions,
                **({"longest": options.number("max_position_embeddings")} if self.learned else {}),
                "bias": True,
                "activation": activation,
                "norm": architecture.norm,
                "norm_epsilon": architecture.epsilon,
                "scale": options.flag("scale_embedding", architecture.scale),
                "embedding_norm": architecture.embedding_norm,
            }
            for side in SIDES
        )
        tie = {(True, True): "all", (True, False): "languages", (False, True): "output"}
        return {
            "embedding": {"size": self.size, "tie": tie.get((self.shared and shared, self.tied), "none")},
            "encoder": encoder,
            "bridge": "none",
            "attention": {"score": "scaled_dot"},
            "decoder": decoder,
        }

    @property
    def learned(self) -> bool:
        """Whether positions are tensors of the file."""
        return self.architecture.positions == "learned"

    def parameters(self) -> None:
        """Put all but tables of symbols."""
        for side, ours in SIDES.items():
            theirs, hidden = f"model.{side}", self.options.number(f"{side}_ffn_dim")
            for number in range(self.options.number(f"{side}_layers")):
                self._layer(f"{ours}.layers.{number}", f"{theirs}.layers.{number}", hidden)
                if side == "decoder":
                    self._cross(f"{ours}.layers.{number}", f"{theirs}.layers.{number}")
            if self.architecture.norm == "before":
                self._norm(f"{ours}.norm", f"{theirs}.layer_norm")
            if self.architecture.embedding_norm:
                self._norm(f"{ours}.entry.norm", f"{theirs}.layernorm_embedding")
            self._positions(f"{ours}.entry.positions.table.table", f"{theirs}.embed_positions")

    def _positions(self, ours: str, theirs: str) -> None:
        """Learned ones; those that are computed, as older versions also wrote, are left out."""
        if not self.learned:
            self.tensors.leave_out(f"{theirs}.weight", f"{theirs}.weights")
            return
        rows = self.options.number("max_position_embeddings")
        table = self.tensors.take(f"{theirs}.weight", (rows + LEARNED_OFFSET, self.size))
        self.tensors.put(ours, table[LEARNED_OFFSET:])

    def _linear(self, ours: str, theirs: Sequence[str], rows: int, columns: int) -> None:
        """One of our linear layers from matrices (rows, columns) of theirs, below each other."""
        weights = [self.tensors.take(f"{name}.weight", (rows, columns)) for name in theirs]
        self.tensors.put(f"{ours}.weight", np.concatenate(weights))
        biases = [self.tensors.take(f"{name}.bias", (rows,)) for name in theirs]
        self.tensors.put(f"{ours}.bias", np.concatenate(biases))

    def _norm(self, ours: str, theirs: str) -> None:
        for part in ("weight", "bias"):
            self.tensors.put(f"{ours}.{part}", self.tensors.take(f"{theirs}.{part}", (self.size,)))

    def _layer(self, ours: str, theirs: str, hidden: int) -> None:
        """What layers of encoders and decoders have in common; the norm of a feed-forward network is the last."""
        last = 2 if ours.startswith(SIDES["decoder"]) else 1
        parts = [f"{theirs}.self_attn.{part}_proj" for part in "qkv"]
        self._linear(f"{ours}.attention.project", parts, self.size, self.size)
        self._linear(f"{ours}.attention.out_proj", [f"{theirs}.self_attn.out_proj"], self.size, self.size)
        self._linear(f"{ours}.feed_forward.0", [f"{theirs}.fc1"], hidden, self.size)
        self._linear(f"{ours}.feed_forward.2", [f"{theirs}.fc2"], self.size, hidden)
        self._norm(f"{ours}.norms.0", f"{theirs}.self_attn_layer_norm")
        self._norm(f"{ours}.norms.{last}", f"{theirs}.final_layer_norm")

    def _cross(self, ours: str, theirs: str) -> None:
        """Attention to the source."""
        for part, name in (("query", "q_proj"), ("keys", "k_proj"), ("values", "v_proj"), ("out_proj", "out_proj")):
            self._linear(f"{ours}.cross.{part}", [f"{theirs}.encoder_attn.{name}"], self.size, self.size)
        self._norm(f"{ours}.norms.1", f"{theirs}.encoder_attn_layer_norm")

    def tables(self, rows: tuple[RowOrder, RowOrder], sizes: tuple[int, int], start: int | None) -> bool:
        """Put embeddings and the output layer; return whether the decoder starts from a zero vector. `start` is the
        number of the symbol whose vector becomes that of `<s>`, if there is one.
        """
        source, target = self._embeddings(sizes)
        tables = [order(table) for order, table in zip(rows, (source, target), strict=True)]
        if start is not None:
            for table in tables if self.shared else tables[1:]:
                table[BOS] = target[start]
        self.tensors.put("source_encoders.0.embedding.table", tables[0])
        self.tensors.put("inputs.embedding.table", tables[1])
        weight = tables[1] if self.tied else rows[1](self.tensors.take("lm_head.weight", (sizes[1], self.size)))
        self.tensors.put("output.weight", weight)
        bias = np.zeros(sizes[1], np.float32)
        if self.architecture.output_bias:
            bias = self.tensors.take("final_logits_bias", (1, sizes[1]))[0]
        self.tensors.put("output.bias", rows[1].bias(bias))
        return start is not None and not target[start].any()

    def _embeddings(self, sizes: tuple[int, int]) -> tuple[Array, Array]:
        """The tables of both sides. Of those that are tied, a file has one or several."""
        own = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
        head = ("lm_head.weight",) if self.tied else ()
        if self.shared:
            if sizes[0] != sizes[1]:
                raise self.options.refuse("decoder_vocab_size", f"vocab_size, {sizes[0]}")
            table = self.tensors.take_shared(("model.shared.weight", *own, *head), (sizes[0], self.size))
            return table, table
        source = self.tensors.take(own[0], (sizes[0], self.size))
        return source, self.tensors.take_shared((own[1], *head), (sizes[1], self.size))

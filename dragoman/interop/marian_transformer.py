"""Marian's `type: transformer`, with self-attention or a recurrence in its decoder (OPUS-MT, Firefox).

A matrix is stored as (in, out), a bias as (1, out), a table of embeddings as (symbols, size). Layers count from 1.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from dragoman.errors import UserError
from dragoman.interop.foreign_model import Array, TensorMap
from dragoman.interop.foreign_text import RowOrder
from dragoman.interop.marian_options import MarianOptions

EPSILON: Final = 1e-6  # of a layer norm
ACTIVATIONS: Final = {"relu": "relu", "swish": "swish", "gelu": "gelu"}
AUTOREGRESSIONS: Final = {"self-attention": "self_attention", "rnn": ""}
CELLS: Final = {"ssru": "f", "sru": "fr"}  # with the letters of their gates
# Options that change the model, with the values that are supported.
SUPPORTED: Final[Mapping[str, tuple[Any, ...]]] = {
    "transformer-ffn-depth": (2,),
    "transformer-decoder-ffn-depth": (0, 2),
    "transformer-decoder-dim-ffn": (0,),
    "transformer-no-projection": (False,),
    "transformer-no-bias": (False,),
    "transformer-no-affine": (False,),
    "transformer-rnn-projection": (False,),
    "transformer-disable-position-embeddings": (False,),
    "transformer-alibi-shift": (False,),
    "transformer-alibi-trainable": (False,),
    "transformer-attention-mask": ("default",),
    "transformer-pool": (False,),
    "transformer-tied-layers": ([],),
    "transformer-preprocess": ("", "n", "d", "dn", "nd"),
    "transformer-postprocess": ("a", "da", "an", "dan"),
    "transformer-postprocess-top": ("", "n", "d", "nd", "dn"),
    "transformer-postprocess-emb": ("", "d", "n", "nd", "dn"),
    "transformer-ffn-activation": tuple(ACTIVATIONS),
    "transformer-decoder-autoreg": tuple(AUTOREGRESSIONS),
}


def configuration(options: MarianOptions, tensors: Mapping[str, Array]) -> dict[str, Any]:
    """The section `model` of a model with these options. UserError names an option that is not supported."""
    options.check(SUPPORTED)
    norms = {name: "n" in options.text(f"transformer-{name}") for name in ("preprocess", "postprocess")}
    if norms["preprocess"] == norms["postprocess"]:
        raise UserError(
            f"{options.path}: expected a norm either in transformer-preprocess or in transformer-postprocess"
        )
    learned = options.flag("transformer-train-position-embeddings")
    size = options.number("dim-emb")
    part = {
        "kind": "self_attention",
        "size": size,
        "heads": options.number("transformer-heads"),
        "hidden": options.number("transformer-dim-ffn"),
        "bias": True,
        "activation": ACTIVATIONS[options.text("transformer-ffn-activation") or "swish"],
        "norm": "before" if norms["preprocess"] else "after",
        "final_norm": "n" in options.text("transformer-postprocess-top"),
        "norm_epsilon": EPSILON,
        "embedding_norm": "n" in options.text("transformer-postprocess-emb"),
        "scale": not learned,
    }
    encoder, decoder = (
        {**part, "layers": options.number(f"{side}-depth"), **_positions(side_name, learned, tensors)}
        for side, side_name in (("enc", "encoder"), ("dec", "decoder"))
    )
    # Marian reports the first head, which guided alignment trains.
    decoder |= {"alignment_head": 1, "alignment_layer": _alignment_layer(options)}
    if options.text("transformer-decoder-autoreg") == "rnn":
        options.check({"dec-cell": tuple(CELLS)})
        decoder["autoregression"] = options.text("dec-cell")
    return {
        "start_symbol": "none",
        "embedding": {"size": size, "tie": options.tie},
        "encoder": encoder,
        "bridge": "none",
        "attention": {"score": "scaled_dot"},
        "decoder": decoder,
    }


def options_of(encoder: Mapping[str, Any], decoder: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a model of these halves, the inverse of `configuration`; none for halves of another kind."""
    if "norm_epsilon" not in encoder or "norm_epsilon" not in decoder:
        return {}
    before = encoder["norm"] == "before"
    final = before if encoder["final_norm"] is None else encoder["final_norm"]
    cell = decoder["autoregression"] if decoder["autoregression"] in CELLS else ""
    activations = {ours: theirs for theirs, ours in ACTIVATIONS.items()}
    defaults = {name: values[0] for name, values in SUPPORTED.items()}
    return {
        **defaults,
        "type": "transformer",
        "enc-depth": encoder["layers"],
        "dec-depth": decoder["layers"],
        "transformer-heads": encoder["heads"],
        "transformer-dim-ffn": encoder["hidden"] or 4 * encoder["size"],
        "transformer-ffn-activation": activations.get(encoder["activation"], "relu"),
        "transformer-preprocess": "n" if before else "",
        "transformer-postprocess": "da" if before else "dan",
        "transformer-postprocess-top": "n" if final else "",
        "transformer-postprocess-emb": "nd" if encoder["embedding_norm"] else "d",
        "transformer-train-position-embeddings": encoder["positions"] == "learned",
        "transformer-decoder-autoreg": "rnn" if cell else "self-attention",
        "transformer-guided-alignment-layer": str(decoder["alignment_layer"] or "last"),
        "dec-cell": cell or "gru",
    }


def _alignment_layer(options: MarianOptions) -> int | None:
    """The layer whose attention is the alignment; None for the last."""
    name = "transformer-guided-alignment-layer"
    layer = options.values.get(name, "last")
    if layer == "last":
        return None
    if not str(layer).isdecimal() or not 1 <= int(str(layer)[:9]) <= options.number("dec-depth"):
        raise UserError(f"{options.path}: option {name}: expected last or the number of a layer, found {layer!s:.60}")
    return int(layer)


def _positions(side: str, learned: bool, tensors: Mapping[str, Array]) -> dict[str, Any]:
    if not learned:
        return {"positions": "marian"}
    table = tensors.get("Wpos", tensors.get(f"{side}_Wpos"))
    return {"positions": "learned", **({"longest": len(table)} if table is not None and table.ndim else {})}


class _Tensors:
    """Maps the tensors of one model."""

    def __init__(self, tensors: TensorMap, model: Mapping[str, Any]) -> None:
        self.tensors, self.model = tensors, model
        self.size: int = model["embedding"]["size"]
        self.before: bool = model["encoder"]["norm"] == "before"

    def linear(self, ours: str, theirs: list[tuple[str, str | None]], rows: int, columns: int) -> None:
        """One of our linear layers from matrices (rows, columns) of theirs and their biases, below each other."""
        matrices = [self.tensors.take(matrix, (rows, columns)).T for matrix, _ in theirs]
        self.tensors.put(f"{ours}.weight", np.concatenate(matrices))
        biases = [self.tensors.take(bias, (1, columns))[0] for _, bias in theirs if bias]
        if biases:
            self.tensors.put(f"{ours}.bias", np.concatenate(biases))

    def norm(self, ours: str, theirs: str, suffix: str = "") -> None:
        for part, name in (("weight", "scale"), ("bias", "bias")):
            self.tensors.put(f"{ours}.{part}", self.tensors.take(f"{theirs}_ln_{name}{suffix}", (1, self.size))[0])

    def sublayer_norm(self, ours: str, theirs: str) -> None:
        self.norm(ours, theirs, "_pre" if self.before else "")

    def attention(self, ours: str, theirs: str) -> None:
        """Self-attention, whose queries, keys and values are one product of ours."""
        self.linear(f"{ours}.project", [(f"{theirs}_W{part}", f"{theirs}_b{part}") for part in "qkv"], *self.square)
        self.linear(f"{ours}.out_proj", [(f"{theirs}_Wo", f"{theirs}_bo")], *self.square)

    @property
    def square(self) -> tuple[int, int]:
        return self.size, self.size

    def feed_forward(self, ours: str, theirs: str, hidden: int) -> None:
        self.linear(f"{ours}.0", [(f"{theirs}_W1", f"{theirs}_b1")], self.size, hidden)
        self.linear(f"{ours}.2", [(f"{theirs}_W2", f"{theirs}_b2")], hidden, self.size)

    def recurrence(self, ours: str, theirs: str, kind: str) -> None:
        """W, then the gates, whose biases alone are there."""
        parts = ["", *CELLS[kind]]
        self.linear(f"{ours}.project", [(f"{theirs}_W{part}", None) for part in parts], *self.square)
        biases = [self.tensors.take(f"{theirs}_b{gate}", (1, self.size))[0] for gate in CELLS[kind]]
        self.tensors.put(f"{ours}.bias", np.concatenate(biases))

    def entry(self, ours: str, side: str, options: Mapping[str, Any]) -> None:
        if options["positions"] == "learned":
            name = "Wpos" if "Wpos" in self.tensors.tensors else f"{side}_Wpos"
            table = self.tensors.take(name, (options["longest"], self.size))
            self.tensors.put(f"{ours}.positions.table.table", table)
        if options["embedding_norm"]:
            self.norm(f"{ours}.norm", f"{side}_emb", "_pre")

    def encoder(self) -> None:
        ours, options = "source_encoders.0.encoder", self.model["encoder"]
        self.entry(f"{ours}.entry", "encoder", options)
        for number in range(options["layers"]):
            layer, name = f"{ours}.layers.{number}", f"encoder_l{number + 1}"
            self.attention(f"{layer}.attention", f"{name}_self")
            self.feed_forward(f"{layer}.feed_forward", f"{name}_ffn", options["hidden"])
            for norm, block in enumerate(("self_Wo", "ffn_ffn")):
                self.sublayer_norm(f"{layer}.norms.{norm}", f"{name}_{block}")
        if options["final_norm"]:
            self.norm(f"{ours}.norm", "encoder_top")

    def decoder(self) -> None:
        ours, options = "decoder", self.model["decoder"]
        self.entry(f"{ours}.entry", "decoder", options)
        kind = options.get("autoregression")
        for number in range(options["layers"]):
            layer, name = f"{ours}.layers.{number}", f"decoder_l{number + 1}"
            if kind:
                self.recurrence(f"{layer}.attention", f"{name}_rnn", kind)
            else:
                self.attention(f"{layer}.attention", f"{name}_self")
            for part, letter in (("query", "q"), ("keys", "k"), ("values", "v"), ("out_proj", "o")):
                names = (f"{name}_context_W{letter}", f"{name}_context_b{letter}")
                self.linear(f"{layer}.cross.{part}", [names], *self.square)
            self.feed_forward(f"{layer}.feed_forward", f"{name}_ffn", options["hidden"])
            first = ("rnn" if self.before else "rnn_ffn") if kind else "self_Wo"
            for norm, block in enumerate((first, "context_Wo", "ffn_ffn")):
                self.sublayer_norm(f"{layer}.norms.{norm}", f"{name}_{block}")
        if options["final_norm"]:
            self.norm(f"{ours}.norm", "decoder_top")


def parameters(
    options: MarianOptions, model: Mapping[str, Any], tensors: TensorMap, rows: tuple[RowOrder, RowOrder]
) -> None:
    """Put all parameters of a model. `rows` arrange the tables of the source and of the target by our vocabularies."""
    mapped = _Tensors(tensors, model)
    mapped.encoder()
    mapped.decoder()
    options.put_tables(tensors, rows, "decoder_ff_logit_out")

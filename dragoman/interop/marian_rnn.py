"""Marian's recurrent models: `s2s`, and `nematus` and `amun`, whose tensors have the names of Nematus.

The conditional GRU, or the same with LSTMs (Sennrich et al. 2017): two cells with attention between them, deep output.
Gates are r, z, candidate in a GRU, and forget, input, candidate, output in an LSTM. Of a GRU's candidate the bias is
outside r in the cells of encoders, in the first cell of a decoder and in those of its upper layers; inside r in the
others (`final`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from dragoman.errors import UserError
from dragoman.interop.foreign_model import Array, TensorMap
from dragoman.interop.foreign_text import RowOrder
from dragoman.interop.marian_options import MarianOptions

CELLS: Final = {"gru": "gru", "gru-nematus": "gru", "lstm": "lstm"}
# Options that change the model, with the values that are supported.
SUPPORTED: Final[Mapping[str, tuple[Any, ...]]] = {
    "enc-cell": tuple(CELLS),
    "dec-cell": tuple(CELLS),
    "enc-type": ("bidirectional", "alternating"),
    "layer-normalization": (False,),
}
MATRICES: Final = ("U", "Ux", "W", "Wx", "b", "bx")


def _nematus_names() -> dict[str, str]:
    """The names of `s2s` by those of Nematus."""
    names = {
        "decoder_Wc": "decoder_cell2_W",
        "decoder_Wcx": "decoder_cell2_Wx",
        "ff_logit_b": "decoder_ff_logit_l2_b",
        "ff_logit_W": "decoder_ff_logit_l2_W",
        "ff_state_W": "decoder_ff_state_W",
        "ff_state_b": "decoder_ff_state_b",
        "Wemb_dec": "decoder_Wemb",
        "Wemb": "encoder_Wemb",
    }
    for part in MATRICES:
        names[f"decoder_{part}"] = f"decoder_cell1_{part}"
        names[f"encoder_{part}"], names[f"encoder_r_{part}"] = f"encoder_bi_{part}", f"encoder_bi_r_{part}"
        if not part.startswith("W"):
            names[f"decoder_{part}_nl"] = f"decoder_cell2_{part}"
    for number, part in enumerate(("prev", "lstm", "ctx")):
        for kind in "Wb":
            names[f"ff_logit_{part}_{kind}"] = f"decoder_ff_logit_l1_{kind}{number}"
    return names


NEMATUS: Final = _nematus_names()
LEFT_OUT: Final = ("decoder_c_tt", "uidx", "history_errs")  # of Nematus, and no weights


def rename(tensors: Mapping[str, Array]) -> dict[str, Array]:
    """The tensors of `nematus` with the names of `s2s`."""
    return {NEMATUS.get(name, name): tensor for name, tensor in tensors.items() if name not in LEFT_OUT}


def configuration(options: MarianOptions, tensors: Mapping[str, Array]) -> dict[str, Any]:
    """The section `model` of a model with these options. UserError names an option that is not supported."""
    options.check(SUPPORTED)
    size, embedding, skip = options.number("dim-rnn"), options.number("dim-emb"), options.flag("skip")
    if skip and embedding == 2 * size:
        raise UserError(f"{options.path}: option skip: expected dim-emb other than twice dim-rnn, found {embedding}")
    attention = tensors.get("decoder_U_att")
    encoder = {
        "kind": "rnn",
        "cell": CELLS[options.text("enc-cell") or "gru"],
        "size": size,
        "layers": options.number("enc-depth"),
        "residual": skip,
        "separate_stacks": True,
        "alternating": options.text("enc-type") == "alternating",
        "transitions": options.number("enc-cell-depth") - 1,
    }
    transitions = options.number("dec-cell-base-depth") - 2
    if transitions < 0:
        raise UserError(f"{options.path}: option dec-cell-base-depth: expected at least 2, found 1")
    decoder = {
        "kind": "rnn",
        "cell": CELLS[options.text("dec-cell") or "gru"],
        "size": size,
        "layers": options.number("dec-depth"),
        "attend": "between",
        "readout": "deep",
        "readout_size": embedding,
        "residual": skip,
        "transitions": transitions,
        "upper_transitions": options.number("dec-cell-high-depth") - 1,
    }
    return {
        "start_symbol": "none",
        "embedding": {"size": embedding, "tie": options.tie},
        "encoder": encoder,
        "bridge": {"kind": "mean", "shared": True},
        "attention": {"score": {"kind": "additive", "size": 2 * size if attention is None else len(attention)}},
        "decoder": decoder,
    }


def _gru_gates(tensors: TensorMap, name: str, rows: int, size: int) -> Array:
    return np.concatenate([tensors.take(name, (rows, 2 * size)), tensors.take(f"{name}x", (rows, size))], 1)


def _lstm_gates(tensors: TensorMap, name: str, rows: int, size: int) -> Array:
    forget, enter, candidate, leave = np.split(tensors.take(name, (rows, 4 * size)), 4, 1)
    return np.concatenate([enter, forget, candidate, leave], 1)


# The gates of a matrix in our order, (rows, gates), by the kind of the cell
GATES: Final[Mapping[str, Callable[[TensorMap, str, int, int], Array]]] = {"gru": _gru_gates, "lstm": _lstm_gates}
RESETTING: Final = ("gru",)  # cells with a reset gate, inside which the bias of a candidate can be


class _Tensors:
    """Maps the tensors of one model."""

    def __init__(self, tensors: TensorMap, model: Mapping[str, Any]) -> None:
        self.tensors, self.model = tensors, model
        self.size: int = model["encoder"]["size"]
        self.embedding: int = model["embedding"]["size"]

    def linear(self, ours: str, theirs: list[tuple[str, int]], columns: int, biases: list[str]) -> None:
        """One of our linear layers from matrices (rows, columns), one for each input, and the sum of their biases."""
        matrices = [self.tensors.take(name, (rows, columns)).T for name, rows in theirs]
        self.tensors.put(f"{ours}.weight", np.concatenate(matrices, 1))
        if biases:
            self.tensors.put(f"{ours}.bias", sum(self.tensors.take(bias, (1, columns))[0] for bias in biases))

    def cell(self, ours: str, theirs: str, kind: str, inputs: int, *, final: bool = False) -> None:
        """A cell, with an input of this size; 0 for a transition."""
        inside = final and kind in RESETTING
        sides = {"weight_hidden": ("U", self.size)} | ({"weight_input": ("W", inputs)} if inputs else {})
        for name, (letter, rows) in sides.items():
            self.tensors.put(f"{ours}.{name}", self._gates(theirs, letter, rows, kind).T)
        bias = self._gates(theirs, "b", 1, kind)[0]
        candidate = np.arange(len(bias)) >= 2 * self.size
        self.tensors.put(f"{ours}.bias_input", np.where(candidate, 0, bias) if inside else bias)
        self.tensors.put(f"{ours}.bias_hidden", np.where(candidate, bias, 0) if inside else 0 * bias)

    def _gates(self, theirs: str, letter: str, rows: int, kind: str) -> Array:
        """All gates of a matrix in our order, (rows, gates)."""
        return GATES[kind](self.tensors, f"{theirs}_{letter}", rows, self.size)

    def deep_cell(self, ours: str, names: list[str], kind: str, inputs: int, *, final: bool = False) -> None:
        """A cell with its transitions."""
        self.cell(f"{ours}.first" if len(names) > 1 else ours, names[0], kind, inputs, final=final)
        for number, name in enumerate(names[1:]):
            self.cell(f"{ours}.transitions.{number}", name, kind, 0, final=final)

    def encoder(self) -> None:
        options = self.model["encoder"]
        for layer in range(options["layers"]):
            inputs = self.size if layer else self.embedding
            for direction, side in enumerate(("encoder_bi", "encoder_bi_r")):
                base = f"{side}_l{layer + 1}" if layer else side
                cells = [f"{base}_cell{number}" for number in range(1, options["transitions"] + 2)]
                cells[0] = cells[0] if layer else base
                self.deep_cell(f"source_encoders.0.encoder.layers.{layer}.{direction}", cells, options["cell"], inputs)

    def decoder(self) -> None:
        options, context = self.model["decoder"], 2 * self.size
        attention: int = self.model["attention"]["score"]["size"]
        kind = options["cell"]
        self.cell("decoder.cells.0", "decoder_cell1", kind, self.embedding)
        second = [f"decoder_cell{number}" for number in range(2, options["transitions"] + 3)]
        self.deep_cell("decoder.second", second, kind, context, final=True)
        for layer in range(1, options["layers"]):
            cells = [f"decoder_l{layer + 1}_cell{number}" for number in range(1, options["upper_transitions"] + 2)]
            self.deep_cell(f"decoder.cells.{layer}", cells, kind, self.size)
        self.linear("bridge.projections.0", [("decoder_ff_state_W", context)], self.size, ["decoder_ff_state_b"])
        score = "decoder.attention.attention.score"
        self.linear(f"{score}.query", [("decoder_W_comb_att", self.size)], attention, [])
        self.linear(f"{score}.state", [("decoder_Wc_att", context)], attention, ["decoder_b_att"])
        self.tensors.put(f"{score}.vector", self.tensors.take("decoder_U_att", (attention, 1))[:, 0])
        logit = "decoder_ff_logit_l1"
        of_inputs = [(f"{logit}_W1", self.size), (f"{logit}_W2", context), (f"{logit}_W0", self.embedding)]
        self.linear("decoder.features.mix", of_inputs, self.embedding, [f"{logit}_b{number}" for number in range(3)])


def parameters(
    options: MarianOptions, model: Mapping[str, Any], tensors: TensorMap, rows: tuple[RowOrder, RowOrder]
) -> None:
    """Put all parameters of a model. `rows` arrange the tables of the source and of the target by our vocabularies."""
    mapped = _Tensors(tensors, model)
    mapped.encoder()
    mapped.decoder()
    options.put_tables(tensors, rows, "decoder_ff_logit_l2")

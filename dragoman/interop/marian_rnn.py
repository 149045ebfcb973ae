"""Marian's recurrent models: `s2s`, and `nematus` and `amun`, whose tensors have the names of Nematus.

The conditional GRU, or the same with LSTMs (Sennrich et al. 2017): two cells with attention between them, deep output.
Gates are r, z, candidate in a GRU, and forget, input, candidate, output in an LSTM. Of a GRU's candidate the bias is
outside r in the cells of encoders, in the first cell of a decoder and in those of its upper layers; inside r in the
others (`final`).
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from dragoman.errors import UserError
from dragoman.interop.foreign_model import Array, TensorMap
from dragoman.interop.foreign_text import RowOrder
from dragoman.interop.marian_norms import LOGIT, NORMS, SCORE, STATE, CellPlace
from dragoman.interop.marian_options import MarianOptions

CELLS: Final = {"gru": "gru", "gru-nematus": "gru", "lstm": "lstm"}
# Options that change the model, with the values that are supported.
SUPPORTED: Final[Mapping[str, tuple[Any, ...]]] = {
    "enc-cell": tuple(CELLS),
    "dec-cell": tuple(CELLS),
    "enc-type": ("bidirectional", "alternating"),
}
# The same of models with layer normalization, whose tensors have the names of `s2s` or of Nematus.
NORMALIZED: Final[Mapping[str, Mapping[str, tuple[Any, ...]]]] = {
    "marian": {"enc-cell": ("gru", "lstm"), "dec-cell": ("gru", "lstm")},
    "nematus": {"enc-cell": ("gru-nematus",), "dec-cell": ("gru-nematus",)},
}
OF_TYPE: Final = {"s2s": "marian", "nematus": "nematus", "amun": "nematus"}
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
            names[f"ff_logit_{part}_{kind}"] = f"{LOGIT}_{kind}{number}"
        for kind in "sb":
            names[f"ff_logit_{part}_ln_{kind}"] = f"{LOGIT}_ln_{kind}{number}"
    for name, ours in list(names.items()):
        if name.startswith(("encoder_", "decoder_")):
            names |= {f"{name}_ln{kind}": f"{ours}_ln{kind}" for kind in "sb"}
    return names | {f"ff_state_ln_{kind}": f"{STATE}_ln_{kind}" for kind in "sb"}


NEMATUS: Final = _nematus_names()
_TRANSITION = re.compile(r"(encoder|encoder_r|decoder)_(Ux?|bx?)(_nl)?_drt_(\d+)(_ln[sb])?")
LEFT_OUT: Final = ("decoder_c_tt", "uidx", "history_errs")  # of Nematus, and no weights


def rename(tensors: Mapping[str, Array]) -> dict[str, Array]:
    """The tensors of `nematus` with the names of `s2s`, vectors as matrices of one row."""
    return {
        _renamed(name): tensor[np.newaxis] if tensor.ndim == 1 else tensor
        for name, tensor in tensors.items()
        if name not in LEFT_OUT
    }


def _renamed(name: str) -> str:
    if match := _TRANSITION.fullmatch(name):
        side, part, second, number, norm = match.groups("")
        cell = {"encoder": "encoder_bi", "encoder_r": "encoder_bi_r", "decoder": "decoder"}[side]
        return f"{cell}_cell{int(number[:6]) + (2 if second else 1)}_{part}{norm}"
    return NEMATUS.get(name, name)


def configuration(options: MarianOptions, tensors: Mapping[str, Array]) -> dict[str, Any]:
    """The section `model` of a model with these options. UserError names an option that is not supported."""
    options.check(SUPPORTED)
    norm = OF_TYPE[options.text("type")] if options.flag("layer-normalization") else "none"
    options.check(NORMALIZED.get(norm, {}))
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
        "layer_norm": norm,
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
        "layer_norm": norm,
        "readout_norm": norm,
    }
    return {
        "start_symbol": "none",
        "embedding": {"size": embedding, "tie": options.tie},
        "encoder": encoder,
        "bridge": {"kind": "mean", "shared": True, "layer_norm": norm},
        "attention": {
            "score": {
                "kind": "additive",
                "size": 2 * size if attention is None else len(attention),
                "layer_norm": norm,
            }
        },
        "decoder": decoder,
    }


def options_of(encoder: Mapping[str, Any], decoder: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a model of these halves, the inverse of `configuration`; none for halves of another kind."""
    if "cell" not in encoder or "cell" not in decoder:
        return {}
    return {
        "type": "s2s",
        "layer-normalization": decoder["layer_norm"] != "none",
        "dim-rnn": encoder["size"],
        "enc-cell": encoder["cell"],
        "enc-depth": encoder["layers"],
        "enc-type": "alternating" if encoder["alternating"] else "bidirectional",
        "enc-cell-depth": 1 + encoder["transitions"],
        "dec-cell": decoder["cell"],
        "dec-depth": decoder["layers"],
        "dec-cell-base-depth": 2 + decoder["transitions"],
        "dec-cell-high-depth": 1 + decoder["upper_transitions"],
        "skip": decoder["residual"],
    }


def _gru_gates(tensors: TensorMap, name: str, rows: int, size: int) -> Array:
    return np.concatenate([tensors.take(name, (rows, 2 * size)), tensors.take(f"{name}x", (rows, size))], 1)


def _lstm_gates(tensors: TensorMap, name: str, rows: int, size: int) -> Array:
    forget, enter, candidate, leave = np.split(tensors.take(name, (rows, 4 * size)), 4, 1)
    return np.concatenate([enter, forget, candidate, leave], 1)


# The gates of a matrix in our order, (rows, gates), by the kind of the cell
GATES: Final[Mapping[str, Callable[[TensorMap, str, int, int], Array]]] = {"gru": _gru_gates, "lstm": _lstm_gates}
ORDERS: Final = {"gru": (0, 1, 2), "lstm": (1, 0, 2, 3)}  # of all gates of one tensor, by our order
RESETTING: Final = ("gru",)  # cells with a reset gate, inside which the bias of a candidate can be


class _Tensors:
    """Maps the tensors of one model, whose transitions in upper layers of a decoder add biases after norms (`outside`)
    or before.
    """

    def __init__(self, tensors: TensorMap, model: Mapping[str, Any], *, outside: bool) -> None:
        self.tensors, self.model, self.outside = tensors, model, outside
        self.size: int = model["encoder"]["size"]
        self.embedding: int = model["embedding"]["size"]
        self.norm: str = model["decoder"]["layer_norm"]
        self.norms = NORMS[self.norm](tensors, self.size)

    def linear(self, ours: str, theirs: str, rows: int, columns: int, bias: str | None) -> None:
        """One of our linear layers from a matrix (rows, columns), its bias and its norm."""
        self.tensors.put(f"{ours}.weight", self.tensors.take(theirs, (rows, columns)).T)
        if bias:
            self.tensors.put(f"{ours}.bias", self.tensors.take(bias, (1, columns))[0])
        self.norms.put_linear(ours, columns)

    def cell(self, ours: str, theirs: str, kind: str, inputs: int, *, final: bool = False) -> None:
        """A cell, with an input of this size; 0 for a transition."""
        sides = {"weight_hidden": ("U", self.size)} | ({"weight_input": ("W", inputs)} if inputs else {})
        for name, (letter, rows) in sides.items():
            self.tensors.put(f"{ours}.{name}", self._gates(theirs, letter, rows, kind).T)
        bias = self._gates(theirs, "b", 1, kind)[0]
        as_encoder = theirs.startswith("encoder") or (self.outside and not final)
        place = CellPlace(as_encoder, final, transition=not inputs)
        of_input, of_state = self.norms.split_bias(bias, place, resets=kind in RESETTING)
        self.tensors.put(f"{ours}.bias_input", of_input)
        self.tensors.put(f"{ours}.bias_hidden", of_state)
        self.norms.put_cell(ours, theirs, ORDERS[kind], place)

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
        self.linear("bridge.projections.0", f"{STATE}_W", context, self.size, f"{STATE}_b")
        self.linear(f"{SCORE}.query", "decoder_W_comb_att", self.size, attention, None)
        self.linear(f"{SCORE}.state", "decoder_Wc_att", context, attention, "decoder_b_att")
        self.tensors.put(f"{SCORE}.vector", self.tensors.take("decoder_U_att", (attention, 1))[:, 0])
        self.readout()

    def readout(self) -> None:
        """One matrix over all inputs, or one for each that is normalized."""
        inputs = ((1, self.size), (2, 2 * self.size), (0, self.embedding))
        if NORMS[self.norm].linear_names:
            for ours, (number, rows) in enumerate(inputs):
                names = (f"{LOGIT}_W{number}", rows, self.embedding, f"{LOGIT}_b{number}")
                self.linear(f"decoder.features.mix.maps.{ours}", *names)
            return
        matrices = [self.tensors.take(f"{LOGIT}_W{number}", (rows, self.embedding)).T for number, rows in inputs]
        biases = self.tensors.take_sum([f"{LOGIT}_b{number}" for number, _ in inputs], (1, self.embedding))
        self.tensors.put("decoder.features.mix.weight", np.concatenate(matrices, 1))
        self.tensors.put("decoder.features.mix.bias", biases[0])


def parameters(
    options: MarianOptions,
    model: Mapping[str, Any],
    tensors: TensorMap,
    rows: tuple[RowOrder, RowOrder],
    *,
    outside: bool = False,
) -> None:
    """Put all parameters of a model. `rows` arrange the tables of the source and of the target by our vocabularies.
    `outside`: transitions in upper layers of a decoder add biases after norms, as those of encoders do.
    """
    mapped = _Tensors(tensors, model, outside=outside)
    mapped.encoder()
    mapped.decoder()
    options.put_tables(tensors, rows, "decoder_ff_logit_l2")

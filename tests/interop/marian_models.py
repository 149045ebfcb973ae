"""Marian's models in plain numpy, one sentence at a time, sharing nothing with the code: random tensors, the files that
hold them, and log P of a translation.
"""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.model.transformer import ACTIVATIONS

Vector = npt.NDArray[np.float64]
Tensors = dict[str, npt.NDArray[np.float32]]
Options = dict[str, Any]

SIZE, HIDDEN, HEADS, LAYERS = 8, 6, 2, 2
TRANSFORMER: Options = {
    "type": "transformer",
    "dim-emb": SIZE,
    "enc-depth": LAYERS,
    "dec-depth": LAYERS,
    "transformer-heads": HEADS,
    "transformer-dim-ffn": HIDDEN,
    "transformer-ffn-activation": "relu",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-top": "",
    "transformer-postprocess-emb": "d",
    "transformer-decoder-autoreg": "self-attention",
    "tied-embeddings": False,
    "tied-embeddings-src": False,
    "tied-embeddings-all": True,
    "transformer-tied-layers": [],
    "input-types": [],
}


def sizes(options: Options) -> tuple[int, int]:
    source, target = options["dim-vocabs"]
    return source, target


class Draw:
    """Draws the tensors of a model."""

    def __init__(self, options: Options, seed: int) -> None:
        self.options = options
        self.tensors = Tensors()
        self._random = np.random.default_rng(seed)
        self.suffix = "_pre" if "n" in options["transformer-preprocess"] else ""

    def add(self, name: str, *shape: int, around: float = 0.0) -> None:
        self.tensors[name] = (around + 0.4 * self._random.standard_normal(shape)).astype(np.float32)

    def norm(self, name: str, suffix: str) -> None:
        self.add(f"{name}_ln_scale{suffix}", 1, SIZE, around=1.0)
        self.add(f"{name}_ln_bias{suffix}", 1, SIZE)

    def attention(self, name: str) -> None:
        for part in "qkvo":
            self.add(f"{name}_W{part}", SIZE, SIZE)
            self.add(f"{name}_b{part}", 1, SIZE)
        self.norm(f"{name}_Wo", self.suffix)

    def recurrence(self, name: str) -> None:
        for gate in "fr" if self.options["dec-cell"] == "sru" else "f":
            self.add(f"{name}_W{gate}", SIZE, SIZE)
            self.add(f"{name}_b{gate}", 1, SIZE)
        self.add(f"{name}_W", SIZE, SIZE)
        self.norm(name if self.suffix else f"{name}_ffn", self.suffix)

    def feed_forward(self, name: str) -> None:
        for number, (rows, columns) in enumerate(((SIZE, HIDDEN), (HIDDEN, SIZE)), start=1):
            self.add(f"{name}_W{number}", rows, columns)
            self.add(f"{name}_b{number}", 1, columns)
        self.norm(f"{name}_ffn", self.suffix)

    def side(self, name: str, depth: int) -> None:
        for layer in (f"{name}_l{number}" for number in range(1, depth + 1)):
            if name == "decoder" and self.options["transformer-decoder-autoreg"] == "rnn":
                self.recurrence(f"{layer}_rnn")
            else:
                self.attention(f"{layer}_self")
            if name == "decoder":
                self.attention(f"{layer}_context")
            self.feed_forward(f"{layer}_ffn")
        if "n" in self.options["transformer-postprocess-top"]:
            self.norm(f"{name}_top", "")
        if "n" in self.options["transformer-postprocess-emb"]:
            self.norm(f"{name}_emb", "_pre")


def tensors(options: Options, seed: int = 0) -> Tensors:
    """Random tensors with the names and shapes of a model with these options."""
    draw = Draw(options, seed)
    for side in ("encoder", "decoder"):
        draw.side(side, options[f"{side[:3]}-depth"])
    if options.get("transformer-train-position-embeddings"):
        draw.add("Wpos", 5, SIZE)
    tables(options, draw.add, "decoder_ff_logit_out")
    return draw.tensors


def tables(options: Options, add: Any, output: str) -> None:
    source, target = sizes(options)
    if options["tied-embeddings-all"] or options["tied-embeddings-src"]:
        add("Wemb", source, SIZE)
    else:
        add("encoder_Wemb", source, SIZE)
        add("decoder_Wemb", target, SIZE)
    if not (options["tied-embeddings-all"] or options["tied-embeddings"]):
        add(f"{output}_Wt", target, SIZE)
    if not options.get("output-omit-bias"):
        add(f"{output}_b", 1, target)


def write_npz(path: Path, options: Mapping[str, Any], arrays: Mapping[str, Any]) -> Path:
    """A `.npz` as Marian writes it: the options end in NULs."""
    text = json.dumps(dict(options)).encode()  # JSON is YAML
    padded = np.frombuffer(text + b"\0" * (256 - len(text) % 256), np.int8)
    return write_arrays(path, {**arrays, "special:model.yml": padded})


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> Path:
    """A `.npz` with arrays of any names."""
    np.savez(path, **arrays)
    return path


def write_bin(
    path: Path, options: Mapping[str, Any], arrays: Tensors, bits: int = 32, *, embeddings: bool = False
) -> Path:
    """A `.bin` as Marian's converter writes it; with 8 or 16 bits, matrices are integers and transposed. Firefox's
    converter makes integers of `embeddings`, too, which it does not transpose.
    """
    text = json.dumps(dict(options)).encode() + b"\0" * 3
    items = [("special:model.yml", 0x101, (len(text),), text)]
    for name, array in arrays.items():
        if bits == 32 or len(array) == 1 or (name.endswith("Wemb") and not embeddings):
            items.append((name, 0x404, array.shape, array.astype("<f4").tobytes()))
        else:
            numbers, scale = rounded(array, bits)
            kind = {8: 0x10001, 16: 0x10002}[bits]
            ordered = numbers if name.endswith("Wemb") else numbers.T
            items.append((name, kind, array.shape, ordered.tobytes() + np.float32(scale).tobytes()))
    encoded = [item[0].encode() + b"\0" for item in items]
    data = struct.pack("<2Q", 1, len(items))
    for spelling, (_, kind, shape, values) in zip(encoded, items, strict=True):
        data += struct.pack("<4Q", len(spelling), kind, len(shape), len(values))
    data += b"".join(encoded) + b"".join(struct.pack(f"<{len(item[2])}i", *item[2]) for item in items)
    padding = -(len(data) + 8) % 256
    path.write_bytes(data + struct.pack("<Q", padding) + b"\0" * padding + b"".join(item[3] for item in items))
    return path


def rounded(array: npt.NDArray[np.float32], bits: int) -> tuple[npt.NDArray[Any], float]:
    """The integers of a matrix, and what it was multiplied by."""
    scale = 127 / float(np.abs(array).max()) if bits == 8 else 1024.0
    return np.rint(array * np.float32(scale)).astype({8: np.int8, 16: np.int16}[bits]), scale


def layer_norm(x: Vector, scale: Vector, bias: Vector, epsilon: float) -> Vector:
    centered = x - x.mean(-1, keepdims=True)
    normalized: Vector = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + epsilon) * scale + bias
    return normalized


def log_softmax(x: Vector) -> Vector:
    shifted = x - x.max(-1, keepdims=True)
    logs: Vector = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return logs


def sigmoid(x: Vector) -> Vector:
    probabilities: Vector = 1 / (1 + np.exp(-x))
    return probabilities


class Transformer:
    """The equations of one model."""

    epsilon = 1e-6
    start = 0.0  # the numbers of the vector that the decoder starts with

    def __init__(self, options: Options, arrays: Tensors) -> None:
        self.options = options
        self.w = {name: array.astype(np.float64) for name, array in arrays.items()}
        self.before = "n" in options["transformer-preprocess"]

    def norm(self, name: str, x: Vector, suffix: str) -> Vector:
        return layer_norm(x, self.w[f"{name}_ln_scale{suffix}"], self.w[f"{name}_ln_bias{suffix}"], self.epsilon)

    def linear(self, name: str, part: str, x: Vector) -> Vector:
        product: Vector = x @ self.w[f"{name}_W{part}"] + self.w[f"{name}_b{part}"]
        return product

    def enter(self, norm: str, x: Vector) -> Vector:
        return self.norm(norm, x, "_pre") if self.before else x

    def leave(self, norm: str, x: Vector, output: Vector) -> Vector:
        return x + output if self.before else self.norm(norm, x + output, "")

    def attention(self, name: str, x: Vector, states: Vector | None, causal: bool = False) -> Vector:
        read = self.enter(f"{name}_Wo", x)
        states = read if states is None else states
        query, key, value = (
            self.linear(name, part, of) for part, of in zip("qkv", (read, states, states), strict=True)
        )
        heads = []
        for cut in np.split(np.arange(SIZE), HEADS):
            energies = query[:, cut] @ key[:, cut].T / np.sqrt(len(cut))
            if causal:
                energies = np.where(np.tri(*energies.shape) > 0, energies, -1e9)
            heads.append(np.exp(log_softmax(energies)) @ value[:, cut])
        return self.leave(f"{name}_Wo", x, self.linear(name, "o", np.concatenate(heads, 1)))

    def recurrence(self, name: str, x: Vector) -> Vector:
        norm = name if self.before else f"{name}_ffn"
        cell, outputs = np.zeros(SIZE), []
        for vector in self.enter(norm, x):
            forget = sigmoid(self.linear(name, "f", vector[None])[0])
            cell = forget * cell + (1 - forget) * (vector @ self.w[f"{name}_W"])
            output = np.maximum(cell, 0)
            if self.options["dec-cell"] == "sru":
                reset = sigmoid(self.linear(name, "r", vector[None])[0])
                output = reset * np.tanh(cell) + (1 - reset) * vector
            outputs.append(output)
        return self.leave(norm, x, np.array(outputs))

    def feed_forward(self, name: str, x: Vector) -> Vector:
        act = np.vectorize(ACTIVATIONS[self.options["transformer-ffn-activation"]])
        inner = act(self.linear(name, "1", self.enter(f"{name}_ffn", x)))
        return self.leave(f"{name}_ffn", x, self.linear(name, "2", inner))

    def entry(self, side: str, embedded: Vector) -> Vector:
        steps = np.arange(len(embedded))
        if self.options.get("transformer-train-position-embeddings"):
            x = embedded + self.w["Wpos"][steps.clip(max=4)]
        else:
            angles = self.angles(len(steps))
            x = np.sqrt(SIZE) * embedded + np.concatenate([np.sin(angles), np.cos(angles)], 1)
        return self.norm(f"{side}_emb", x, "_pre") if "n" in self.options["transformer-postprocess-emb"] else x

    def angles(self, steps: int) -> Vector:
        angles: Vector = np.arange(steps)[:, None] * 10000.0 ** (-np.arange(SIZE // 2) / (SIZE // 2 - 1))
        return angles

    def top(self, side: str, x: Vector) -> Vector:
        return self.norm(f"{side}_top", x, "") if "n" in self.options["transformer-postprocess-top"] else x

    def log_probs(self, source: list[int], target: list[int]) -> Vector:
        """log P of each target symbol; both sentences end in the end symbol."""
        w = self.w
        states = self.entry("encoder", w.get("Wemb", w.get("encoder_Wemb"))[source])  # type: ignore[index]
        for layer in (f"encoder_l{number}" for number in range(1, self.options["enc-depth"] + 1)):
            states = self.feed_forward(f"{layer}_ffn", self.attention(f"{layer}_self", states, None))
        states = self.top("encoder", states)
        embeddings: Vector = w.get("Wemb", w.get("decoder_Wemb"))  # type: ignore[assignment]
        x = self.entry("decoder", np.concatenate([np.full((1, SIZE), self.start), embeddings[target[:-1]]]))
        for layer in (f"decoder_l{number}" for number in range(1, self.options["dec-depth"] + 1)):
            if self.options["transformer-decoder-autoreg"] == "rnn":
                x = self.recurrence(f"{layer}_rnn", x)
            else:
                x = self.attention(f"{layer}_self", x, None, causal=True)
            x = self.feed_forward(f"{layer}_ffn", self.attention(f"{layer}_context", x, states))
        tied = self.options["tied-embeddings-all"] or self.options["tied-embeddings"]
        matrix = embeddings if tied else w["decoder_ff_logit_out_Wt"]
        bias = 0.0 if self.options.get("output-omit-bias") else w["decoder_ff_logit_out_b"]
        logs = log_softmax(self.top("decoder", x) @ matrix.T + bias)
        picked: Vector = logs[np.arange(len(target)), target]
        return picked


S2S: Options = {
    "type": "s2s",
    "dim-emb": SIZE,
    "dim-rnn": 5,
    "enc-depth": 1,
    "dec-depth": 1,
    "enc-type": "bidirectional",
    "enc-cell": "gru",
    "dec-cell": "gru",
    "enc-cell-depth": 1,
    "dec-cell-base-depth": 2,
    "dec-cell-high-depth": 1,
    "skip": False,
    "layer-normalization": False,
    "tied-embeddings": False,
    "tied-embeddings-src": False,
    "tied-embeddings-all": False,
    "input-types": [],
}
ATTENTION = 6


# The gain of each linear layer's norm, and with Nematus its bias.
NORMS: dict[str, dict[str, tuple[str, ...]]] = {
    "s2s": {
        "ff_state": ("ff_state_gamma",),
        "Wc_att": ("att_gamma1",),
        "W_comb_att": ("att_gamma2",),
        **{f"ff_logit_l1{number}": (f"ff_logit_l1_gamma{number}",) for number in range(3)},
    },
    "nematus": {
        "ff_state": ("ff_state_ln_s", "ff_state_ln_b"),
        "Wc_att": ("Wc_att_lns", "Wc_att_lnb"),
        "W_comb_att": ("W_comb_att_lns", "W_comb_att_lnb"),
        **{f"ff_logit_l1{n}": (f"ff_logit_l1_ln_s{n}", f"ff_logit_l1_ln_b{n}") for n in range(3)},
    },
}


def cell_shapes(options: Options, kind: str, inputs: int) -> dict[str, tuple[int, int]]:
    """The suffixes and shapes of the tensors of a cell."""
    size, shapes = options["dim-rnn"], {}
    for letter, rows in {"U": size, "b": 1, **({"W": inputs} if inputs else {})}.items():
        shapes[letter] = (rows, (4 if kind == "lstm" else 2) * size)
        if kind == "gru":
            shapes[f"{letter}x"] = (rows, size)
    return shapes | {suffix: (1, width) for suffix, width in cell_norms(options, kind, bool(inputs)).items()}


def cell_norms(options: Options, kind: str, has_input: bool) -> dict[str, int]:
    """The suffixes and widths of the norms of a cell."""
    size, sides = options["dim-rnn"], {"U": "gamma2", **({"W": "gamma1"} if has_input else {})}
    if not options["layer-normalization"]:
        return {}
    if options["type"] == "s2s":
        return dict.fromkeys(sides.values(), (4 if kind == "lstm" else 3) * size)
    widths = {f"{letter}{matrix}": width for letter in sides for matrix, width in (("", 2 * size), ("x", size))}
    return {f"{matrix}_{part}": width for matrix, width in widths.items() for part in ("lns", "lnb")}


def linear_norms(options: Options) -> dict[str, int]:
    """The names and widths of the norms of linear layers."""
    if not options["layer-normalization"]:
        return {}
    widths = {"ff_state": options["dim-rnn"], "Wc_att": ATTENTION, "W_comb_att": ATTENTION}
    widths |= {f"ff_logit_l1{number}": SIZE for number in range(3)}
    return {f"decoder_{name}": width for part, width in widths.items() for name in NORMS[options["type"]][part]}


def recurrent_tensors(options: Options, seed: int = 0) -> Tensors:
    """The same of a recurrent model, with the names of `s2s`."""
    draw, size = np.random.default_rng(seed), options["dim-rnn"]
    arrays = Tensors()

    def add(name: str, *shape: int) -> None:
        arrays[name] = (0.5 * draw.standard_normal(shape)).astype(np.float32)

    def cell(name: str, kind: str, inputs: int) -> None:
        for suffix, shape in cell_shapes(options, kind, inputs).items():
            add(f"{name}_{suffix}", *shape)

    def deep(names: list[str], kind: str, inputs: int) -> None:
        for number, name in enumerate(names):
            cell(name, kind, inputs if number == 0 else 0)

    for side in ("encoder_bi", "encoder_bi_r"):
        for names, layer in encoder_cells(options, side):
            deep(names, options["enc-cell"], size if layer else SIZE)
    for names, inputs in decoder_cells(options):
        deep(names, options["dec-cell"], inputs)
    shapes = {
        "decoder_ff_state_W": (2 * size, size),
        "decoder_ff_state_b": (1, size),
        "decoder_W_comb_att": (size, ATTENTION),
        "decoder_Wc_att": (2 * size, ATTENTION),
        "decoder_b_att": (1, ATTENTION),
        "decoder_U_att": (ATTENTION, 1),
    }
    for number, rows in enumerate((SIZE, size, 2 * size)):
        shapes |= {f"decoder_ff_logit_l1_W{number}": (rows, SIZE), f"decoder_ff_logit_l1_b{number}": (1, SIZE)}
    shapes |= {name: (1, width) for name, width in linear_norms(options).items()}
    for name, shape in shapes.items():
        add(name, *shape)
    tables(options, add, "decoder_ff_logit_l2")
    return arrays


def encoder_cells(options: Options, side: str) -> list[tuple[list[str], int]]:
    """The names of the cells of each layer of one direction, and the layer."""
    layers = []
    for layer in range(options["enc-depth"]):
        base = f"{side}_l{layer + 1}" if layer else side
        cells = [f"{base}_cell{number}" for number in range(1, options["enc-cell-depth"] + 1)]
        layers.append(([base, *cells[1:]] if not layer else cells, layer))
    return layers


def decoder_cells(options: Options) -> list[tuple[list[str], int]]:
    """The names of the cells of the decoder: before the attention, after it, of upper layers; and their inputs."""
    size = options["dim-rnn"]
    second = [f"decoder_cell{number}" for number in range(2, options["dec-cell-base-depth"] + 1)]
    upper = [
        ([f"decoder_l{layer}_cell{number}" for number in range(1, options["dec-cell-high-depth"] + 1)], size)
        for layer in range(2, options["dec-depth"] + 1)
    ]
    return [(["decoder_cell1"], SIZE), (second, 2 * size), *upper]


class Recurrent:
    """The equations of one recurrent model."""

    def __init__(self, options: Options, arrays: Tensors) -> None:
        self.options, self.size = options, options["dim-rnn"]
        self.w = {name: array.astype(np.float64) for name, array in arrays.items()}
        self.normalized = options["layer-normalization"]

    def product(self, part: str, products: Vector, bias: Vector | float) -> Vector:
        """A product with its bias, normalized if the model does."""
        if not self.normalized:
            return products + bias
        gain, *shift = (self.w[f"decoder_{name}"][0] for name in NORMS[self.options["type"]][part])
        if shift:
            return layer_norm(products + bias, gain, shift[0], 1e-5)
        return layer_norm(products, gain, np.asarray(bias), 1e-9)

    def normalized_cell(self, name: str, x: Vector | None, hidden: Vector, final: bool) -> Vector:
        """The new state of a normalized GRU, as Marian's `GRU` and `GRUNematus` compute it."""
        w, size = self.w, self.size
        b, bx = w[f"{name}_b"][0], w[f"{name}_bx"][0]
        outside = np.zeros(3 * size)  # what is added when gates are computed

        def both(letter: str, vector: Vector, bias: bool) -> Vector:
            parts = []
            for matrix, added in ((letter, b), (f"{letter}x", bx)):
                sums = vector @ w[f"{name}_{matrix}"] + (added if bias else 0)
                parts.append(layer_norm(sums, w[f"{name}_{matrix}_lns"][0], w[f"{name}_{matrix}_lnb"][0], 1e-5))
            return np.concatenate(parts)

        if self.options["type"] == "s2s":
            u = layer_norm(
                hidden @ np.concatenate([w[f"{name}_U"], w[f"{name}_Ux"]], 1), w[f"{name}_gamma2"][0], outside, 1e-9
            )
            read = outside
            if x is not None:
                both_w = np.concatenate([w[f"{name}_W"], w[f"{name}_Wx"]], 1)
                read = layer_norm(x @ both_w, w[f"{name}_gamma1"][0], outside, 1e-9)
            outside = np.concatenate([b, bx])
        elif name.startswith("encoder") and x is None:
            u, read, outside = both("U", hidden, False), outside, np.concatenate([b, bx])
        elif x is None:
            u, read = both("U", hidden, True), outside
        else:
            u, read = both("U", hidden, final), both("W", x, not final)
        gates = read + u + outside
        reset, keep = sigmoid(gates[:size]), sigmoid(gates[size : 2 * size])
        wx, ux, added = (part[2 * size :] for part in (read, u, outside))
        new = np.tanh(wx + reset * (ux + added)) if final else np.tanh(wx + reset * ux + added)
        state: Vector = (1 - keep) * new + keep * hidden
        return state

    def cell(self, name: str, x: Vector | None, state: tuple[Vector, Vector], final: bool) -> tuple[Vector, Vector]:
        hidden, memory = state
        kind = self.options["dec-cell" if name.startswith("decoder") else "enc-cell"]

        if self.normalized and kind != "lstm":
            return self.normalized_cell(name, x, hidden, final), memory

        def products(suffix: str) -> tuple[Vector | float, Vector, Vector]:
            w = 0.0 if x is None else x @ self.w[f"{name}_W{suffix}"]
            return w, hidden @ self.w[f"{name}_U{suffix}"], self.w[f"{name}_b{suffix}"][0]

        w, u, b = products("")
        if kind == "lstm":
            if self.normalized:
                w = 0.0 if x is None else layer_norm(np.asarray(w), self.w[f"{name}_gamma1"][0], 0 * b, 1e-9)
                u = layer_norm(u, self.w[f"{name}_gamma2"][0], 0 * b, 1e-9)
            forget, enter, candidate, leave = np.split(w + u + b, 4)
            memory = sigmoid(forget) * memory + sigmoid(enter) * np.tanh(candidate)
            return sigmoid(leave) * np.tanh(memory), memory
        reset, keep = np.split(sigmoid(w + u + b), 2)
        wx, ux, bx = products("x")
        new = np.tanh(wx + reset * (ux + bx)) if final else np.tanh(wx + reset * ux + bx)
        return (1 - keep) * new + keep * hidden, memory

    def deep(
        self, names: list[str], x: Vector, state: tuple[Vector, Vector], final: bool = False
    ) -> tuple[Vector, Vector]:
        for number, name in enumerate(names):
            state = self.cell(name, x if number == 0 else None, state, final)
        return state

    def encode(self, embedded: Vector) -> Vector:
        tops = []
        for backward, side in ((False, "encoder_bi"), (True, "encoder_bi_r")):
            inputs = embedded
            for names, layer in encoder_cells(self.options, side):
                turned = backward != (self.options["enc-type"] == "alternating" and layer % 2 == 1)
                state, outputs = (np.zeros(self.size), np.zeros(self.size)), []
                for x in inputs[::-1] if turned else inputs:
                    state = self.deep(names, x, state)
                    outputs.append(state[0])
                states = np.array(outputs[::-1] if turned else outputs)
                inputs = states + inputs if self.options["skip"] and layer else states
            tops.append(inputs)
        return np.concatenate(tops, 1)

    def log_probs(self, source: list[int], target: list[int]) -> Vector:
        """log P of each target symbol; both sentences end in the end symbol."""
        w = self.w
        shared = "Wemb" in w
        states = self.encode(w["Wemb" if shared else "encoder_Wemb"][source])
        embeddings = w["Wemb" if shared else "decoder_Wemb"]
        first, second, *upper = [names for names, _ in decoder_cells(self.options)]
        start = np.tanh(self.product("ff_state", states.mean(0) @ w["decoder_ff_state_W"], w["decoder_ff_state_b"][0]))
        layers = [(start, start)] * (1 + len(upper))
        keys = self.product("Wc_att", states @ w["decoder_Wc_att"], w["decoder_b_att"][0])
        tied = self.options["tied-embeddings-all"] or self.options["tied-embeddings"]
        matrix = embeddings if tied else w["decoder_ff_logit_l2_Wt"]
        previous, logs = np.zeros(SIZE), []
        for symbol in target:
            middle = self.deep(first, previous, layers[0])
            query = self.product("W_comb_att", middle[0] @ w["decoder_W_comb_att"], 0.0)
            energies = (np.tanh(keys + query) @ w["decoder_U_att"])[:, 0]
            context = np.exp(log_softmax(energies)) @ states
            layers[0] = self.deep(second, context, middle, final=True)
            output = layers[0][0]
            for number, names in enumerate(upper, start=1):
                layers[number] = self.deep(names, output, layers[number])
                output = layers[number][0] + (output if self.options["skip"] else 0)
            inner = sum(
                self.product(
                    f"ff_logit_l1{number}",
                    x @ w[f"decoder_ff_logit_l1_W{number}"],
                    w[f"decoder_ff_logit_l1_b{number}"][0],
                )
                for number, x in enumerate((previous, output, context))
            )
            logs.append(log_softmax(np.tanh(inner) @ matrix.T + w["decoder_ff_logit_l2_b"][0])[symbol])
            previous = embeddings[symbol]
        return np.array(logs)

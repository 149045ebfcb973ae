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


def recurrent_tensors(options: Options, seed: int = 0) -> Tensors:
    """The same of a recurrent model, with the names of `s2s`."""
    draw, size = np.random.default_rng(seed), options["dim-rnn"]
    arrays = Tensors()

    def add(name: str, *shape: int) -> None:
        arrays[name] = (0.5 * draw.standard_normal(shape)).astype(np.float32)

    def cell(name: str, kind: str, inputs: int) -> None:
        sides = {"U": size, "b": 1, **({"W": inputs} if inputs else {})}
        for letter, rows in sides.items():
            add(f"{name}_{letter}", rows, (4 if kind == "lstm" else 2) * size)
            if kind == "gru":
                add(f"{name}_{letter}x", rows, size)

    for side in ("encoder_bi", "encoder_bi_r"):
        for names, layer in encoder_cells(options, side):
            for number, name in enumerate(names):
                cell(name, options["enc-cell"], (size if layer else SIZE) if number == 0 else 0)
    for names, inputs in decoder_cells(options):
        for number, name in enumerate(names):
            cell(name, options["dec-cell"], inputs if number == 0 else 0)
    add("decoder_ff_state_W", 2 * size, size)
    add("decoder_ff_state_b", 1, size)
    add("decoder_W_comb_att", size, ATTENTION)
    add("decoder_Wc_att", 2 * size, ATTENTION)
    add("decoder_b_att", 1, ATTENTION)
    add("decoder_U_att", ATTENTION, 1)
    for number, rows in enumerate((SIZE, size, 2 * size)):
        add(f"decoder_ff_logit_l1_W{number}", rows, SIZE)
        add(f"decoder_ff_logit_l1_b{number}", 1, SIZE)
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

    def cell(self, name: str, x: Vector | None, state: tuple[Vector, Vector], final: bool) -> tuple[Vector, Vector]:
        hidden, memory = state
        kind = self.options["dec-cell" if name.startswith("decoder") else "enc-cell"]

        def products(suffix: str) -> tuple[Vector | float, Vector, Vector]:
            w = 0.0 if x is None else x @ self.w[f"{name}_W{suffix}"]
            return w, hidden @ self.w[f"{name}_U{suffix}"], self.w[f"{name}_b{suffix}"][0]

        w, u, b = products("")
        if kind == "lstm":
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
        start = np.tanh(states.mean(0) @ w["decoder_ff_state_W"] + w["decoder_ff_state_b"][0])
        layers = [(start, start)] * (1 + len(upper))
        keys = states @ w["decoder_Wc_att"] + w["decoder_b_att"]
        tied = self.options["tied-embeddings-all"] or self.options["tied-embeddings"]
        matrix = embeddings if tied else w["decoder_ff_logit_l2_Wt"]
        previous, logs = np.zeros(SIZE), []
        for symbol in target:
            middle = self.deep(first, previous, layers[0])
            energies = (np.tanh(keys + middle[0] @ w["decoder_W_comb_att"]) @ w["decoder_U_att"])[:, 0]
            context = np.exp(log_softmax(energies)) @ states
            layers[0] = self.deep(second, context, middle, final=True)
            output = layers[0][0]
            for number, names in enumerate(upper, start=1):
                layers[number] = self.deep(names, output, layers[number])
                output = layers[number][0] + (output if self.options["skip"] else 0)
            inner = sum(
                x @ w[f"decoder_ff_logit_l1_W{number}"] + w[f"decoder_ff_logit_l1_b{number}"][0]
                for number, x in enumerate((previous, output, context))
            )
            logs.append(log_softmax(np.tanh(inner) @ matrix.T + w["decoder_ff_logit_l2_b"][0])[symbol])
            previous = embeddings[symbol]
        return np.array(logs)

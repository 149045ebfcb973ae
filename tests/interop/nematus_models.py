"""Deep models of Nematus' Theano version in plain numpy, one sentence at a time, with its names: random tensors, and
log P of a translation.
"""

from typing import Any

import numpy as np

from tests.interop.marian_models import SIZE, Tensors, Vector, layer_norm, log_softmax, sigmoid

DIM = 5
ATTENTION = 2 * DIM
Row = dict[str, Any]


def prefixes(side: str, depth: int) -> list[str]:
    return [side, *(f"{side}_{level}" for level in range(2, depth + 1))]


class Draw:
    """Draws the tensors of a model with these options."""

    def __init__(self, row: Row) -> None:
        self.row, self.arrays = row, Tensors()
        self._random = np.random.default_rng(0)

    def add(self, name: str, *shape: int) -> None:
        self.arrays[name] = (0.5 * self._random.standard_normal(shape)).astype(np.float32)

    def norm(self, name: str, width: int, gain: str = "lns", bias: str = "lnb") -> None:
        if self.row["layer_normalisation"]:
            self.add(f"{name}_{gain}", width)
            self.add(f"{name}_{bias}", width)

    def normed(self, name: str, *shape: int) -> None:
        self.add(name, *shape)
        self.norm(name, shape[-1])

    def gru(self, prefix: str, inputs: int, cells: int, nonlinear: str = "", letter: str = "W") -> None:
        for suffix in suffixes(cells):
            for x, width in (("", 2 * DIM), ("x", DIM)):
                self.normed(f"{prefix}_U{x}{nonlinear}{suffix}", DIM, width)
                self.add(f"{prefix}_b{x}{nonlinear}{suffix}", width)
                if not suffix:
                    self.normed(f"{prefix}_{letter}{x}", inputs, width)

    def decoder(self) -> None:
        self.gru("decoder", SIZE, 1)
        for prefix in prefixes("decoder", self.row["dec_depth"])[1:]:
            self.gru(prefix, DIM, self.row["dec_high_recurrence_transition_depth"])
        self.gru("decoder", 2 * DIM, self.row["dec_base_recurrence_transition_depth"] - 1, "_nl", "Wc")
        self.normed("decoder_W_comb_att", DIM, ATTENTION)
        self.normed("decoder_Wc_att", 2 * DIM, ATTENTION)
        self.add("decoder_b_att", ATTENTION)
        self.add("decoder_U_att", ATTENTION, 1)
        self.add("decoder_c_tt", 1)

    def linear(self, name: str, rows: int, columns: int) -> None:
        self.add(f"{name}_W", rows, columns)
        self.add(f"{name}_b", columns)
        if name != "ff_logit":
            self.norm(name, columns, "ln_s", "ln_b")


def suffixes(cells: int) -> list[str]:
    """Of the names of a cell's tensors and of those of its transitions."""
    return ["", *(f"_drt_{number}" for number in range(1, cells))]


def tensors(row: Row, count: int) -> Tensors:
    """Random tensors of a model with these options."""
    draw = Draw(row)
    for side in ("encoder", "encoder_r"):
        for level, prefix in enumerate(prefixes(side, row["enc_depth"])):
            draw.gru(prefix, DIM if level else SIZE, row["enc_recurrence_transition_depth"])
    draw.decoder()
    draw.linear("ff_state", 2 * DIM, DIM)
    for part, rows in (("lstm", DIM), ("prev", SIZE), ("ctx", 2 * DIM)):
        draw.linear(f"ff_logit_{part}", rows, SIZE)
    draw.linear("ff_logit", SIZE, count)
    draw.add("Wemb", count, SIZE)
    draw.add("Wemb_dec", count, SIZE)
    return draw.arrays


class Deep:
    """The equations of one model."""

    def __init__(self, row: Row, arrays: Tensors) -> None:
        self.row, self.w = row, {name: array.astype(np.float64) for name, array in arrays.items()}

    def norm(self, name: str, x: Vector) -> Vector:
        """Normalized if the model is; the norms of a feed-forward layer have other names."""
        if not self.row["layer_normalisation"]:
            return x
        gain, bias = ("_ln_s", "_ln_b") if name.startswith("ff") else ("_lns", "_lnb")
        return layer_norm(x, self.w[name + gain], self.w[name + bias], 1e-5)

    def gru(self, prefix: str, x: Vector, state: Vector, cells: int) -> Vector:
        """One step of a layer, whose transitions add biases after norms."""
        w = self.w
        for suffix in suffixes(cells):
            inputs = {}
            for part in ("", "x"):
                bias = w[f"{prefix}_b{part}{suffix}"]
                product = None if suffix else x @ w[f"{prefix}_W{part}"] + bias
                inputs[part] = bias if product is None else self.norm(f"{prefix}_W{part}", product)
            gates = sigmoid(self.norm(f"{prefix}_U{suffix}", state @ w[f"{prefix}_U{suffix}"]) + inputs[""])
            reset, keep = np.split(gates, 2)
            inner = self.norm(f"{prefix}_Ux{suffix}", state @ w[f"{prefix}_Ux{suffix}"]) * reset + inputs["x"]
            state = keep * state + (1 - keep) * np.tanh(inner)
        return state

    def second(self, context: Vector, state: Vector) -> Vector:
        """The cells after the attention, which add biases before norms."""
        w, cells = self.w, self.row["dec_base_recurrence_transition_depth"]
        for suffix in suffixes(cells - 1):
            sums = {}
            for part in ("", "x"):
                name = f"decoder_U{part}_nl{suffix}"
                sums[part] = self.norm(name, state @ w[name] + w[f"decoder_b{part}_nl{suffix}"])
            read = {
                part: 0.0 if suffix else self.norm(f"decoder_Wc{part}", context @ w[f"decoder_Wc{part}"])
                for part in sums
            }
            reset, keep = np.split(sigmoid(sums[""] + read[""]), 2)
            state = keep * state + (1 - keep) * np.tanh(sums["x"] * reset + read["x"])
        return state

    def layer(self, prefix: str, inputs: Vector) -> Vector:
        state, outputs = np.zeros(DIM), []
        for x in inputs:
            state = self.gru(prefix, x, state, self.row["enc_recurrence_transition_depth"])
            outputs.append(state)
        return np.array(outputs)

    def encode(self, embedded: Vector) -> Vector:
        """Each layer reads the one below that runs the other way."""
        forward, backward = self.layer("encoder", embedded), self.layer("encoder_r", embedded[::-1])
        for level in range(2, self.row["enc_depth"] + 1):
            from_backward, from_forward = backward[::-1], forward[::-1]
            forward = self.layer(f"encoder_{level}", from_backward) + from_backward
            backward = self.layer(f"encoder_r_{level}", from_forward) + from_forward
        return np.concatenate([forward, backward[::-1]], 1)

    def linear(self, name: str, x: Vector) -> Vector:
        return self.norm(name, x @ self.w[f"{name}_W"] + self.w[f"{name}_b"])

    def log_probs(self, source: list[int], target: list[int]) -> Vector:
        """log P of each target symbol; both sentences end in the end symbol."""
        w = self.w
        states = self.encode(w["Wemb"][source])
        start = np.tanh(self.linear("ff_state", states.mean(0)))
        layers = [start] * self.row["dec_depth"]
        keys = self.norm("decoder_Wc_att", states @ w["decoder_Wc_att"] + w["decoder_b_att"])
        previous, logs = np.zeros(SIZE), []
        for symbol in target:
            middle = self.gru("decoder", previous, layers[0], 1)
            query = self.norm("decoder_W_comb_att", middle @ w["decoder_W_comb_att"])
            energies = (np.tanh(keys + query) @ w["decoder_U_att"])[:, 0] + w["decoder_c_tt"]
            context = np.exp(log_softmax(energies)) @ states
            layers[0] = output = self.second(context, middle)
            for level in range(2, self.row["dec_depth"] + 1):
                cells = self.row["dec_high_recurrence_transition_depth"]
                layers[level - 1] = self.gru(f"decoder_{level}", output, layers[level - 1], cells)
                output = output + layers[level - 1]
            parts = (("ff_logit_lstm", output), ("ff_logit_prev", previous), ("ff_logit_ctx", context))
            inner = np.tanh(sum(self.linear(name, x) for name, x in parts))
            logs.append(log_softmax(inner @ w["ff_logit_W"] + w["ff_logit_b"])[symbol])
            previous = w["Wemb_dec"][symbol]
        return np.array(logs)

"""The printed equations as plain loops over numbers, one sentence at a time, sharing nothing with the code."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

Vector = NDArray[np.float64]


def numbers(part: nn.Module) -> dict[str, Vector]:
    """The parameters of a part by name."""
    return {name: parameter.detach().double().numpy() for name, parameter in part.named_parameters()}


def array(tensor: Tensor) -> Vector:
    return tensor.detach().double().numpy()


def dot(one: Vector, other: Vector) -> float:
    assert len(one) == len(other)
    return sum(float(a) * float(b) for a, b in zip(one, other, strict=True))


def times(matrix: Vector, vector: Vector) -> Vector:
    return np.array([dot(row, vector) for row in matrix])


def join(*vectors: Iterable[float]) -> Vector:
    return np.array([number for vector in vectors for number in vector])


def sigmoid(number: float) -> float:
    return 1.0 / (1.0 + math.exp(-number))


def tanh(vector: Vector) -> Vector:
    return np.array([math.tanh(number) for number in vector])


def softmax(energies: Iterable[float]) -> Vector:
    exponentials = [math.exp(energy) for energy in energies]
    return np.array([exponential / sum(exponentials) for exponential in exponentials])


def mix(weights: Iterable[float], values: Vector) -> Vector:
    """The weighted sum of the rows of `values`."""
    return np.array([sum(w * row[i] for w, row in zip(weights, values, strict=True)) for i in range(values.shape[1])])


def gate(p: dict[str, Vector], index: int, x: Vector, h: Vector) -> Vector:
    """`W x + b + U h + d` for the gate that is number `index` in the cell's matrices."""
    n = len(h)
    rows = range(index * n, (index + 1) * n)
    return np.array(
        [
            dot(p["weight_input"][k], x) + p["bias_input"][k] + dot(p["weight_hidden"][k], h) + p["bias_hidden"][k]
            for k in rows
        ]
    )


def tanh_rnn(p: dict[str, Vector], x: Vector, state: tuple[Vector, ...]) -> tuple[Vector, ...]:
    return (tanh(gate(p, 0, x, state[0])),)


def lstm(p: dict[str, Vector], x: Vector, state: tuple[Vector, ...]) -> tuple[Vector, ...]:
    h, c = state
    enter, forget, candidate, leave = (gate(p, index, x, h) for index in range(4))
    new_c = [sigmoid(forget[k]) * c[k] + sigmoid(enter[k]) * math.tanh(candidate[k]) for k in range(len(c))]
    new_h = [sigmoid(leave[k]) * math.tanh(new_c[k]) for k in range(len(c))]
    return np.array(new_h), np.array(new_c)


def gru(p: dict[str, Vector], x: Vector, state: tuple[Vector, ...]) -> tuple[Vector, ...]:
    """Firat and Cho as LH quotes them: `s = (1 - z) s~ + z s_prev`, `s~ = tanh(W x + r (U s_prev))`, with biases."""
    (h,) = state
    n = len(h)
    reset, keep = gate(p, 0, x, h), gate(p, 1, x, h)
    new = []
    for k in range(n):
        inside = dot(p["weight_hidden"][2 * n + k], h) + p["bias_hidden"][2 * n + k]
        outside = dot(p["weight_input"][2 * n + k], x) + p["bias_input"][2 * n + k]
        fresh = math.tanh(outside + sigmoid(reset[k]) * inside)
        new.append((1 - sigmoid(keep[k])) * fresh + sigmoid(keep[k]) * h[k])
    return (np.array(new),)


def gru_an(p: dict[str, Vector], x: Vector, state: tuple[Vector, ...]) -> tuple[Vector, ...]:
    """AN as printed: `s = (1 - z) s_prev + z s~`, `s~ = tanh(W x + U (r s_prev))`, with biases."""
    (h,) = state
    n = len(h)
    reset, bring = gate(p, 0, x, h), gate(p, 1, x, h)
    rested = np.array([sigmoid(reset[k]) * h[k] for k in range(n)])
    fresh = tanh(gate(p, 2, x, rested))
    return (np.array([(1 - sigmoid(bring[k])) * h[k] + sigmoid(bring[k]) * fresh[k] for k in range(n)]),)


def layer_norm(numbers: Vector, gain: Vector, epsilon: float) -> Vector:
    mean = sum(numbers) / len(numbers)
    variance = sum((number - mean) ** 2 for number in numbers) / len(numbers)
    return np.array([g * (x - mean) / math.sqrt(variance + epsilon) for g, x in zip(gain, numbers, strict=True)])


def projected(
    p: dict[str, Vector], norm: str, kind: str, products: Vector, bias: Vector, widths: tuple[int, ...] = ()
) -> Vector:
    """`LN(W x) g + b`, or Nematus' `LN(W x + b) g + a` for each of its matrices, which have these widths."""
    if kind in ("standard", "marian"):
        return layer_norm(products, p[f"{norm}.norm.weight"], {"standard": 1e-5, "marian": 1e-9}[kind]) + bias
    parts, first = [], 0
    for number, width in enumerate(widths or (len(products),)):
        numbers = products[first : first + width] + bias[first : first + width]
        gain, shift = p[f"{norm}.norms.{number}.weight"], p[f"{norm}.norms.{number}.bias"]
        parts.append(layer_norm(numbers, gain, 1e-5) + shift)
        first += width
    return join(*parts)


def normalized_cell(
    cell: str, kind: str, p: dict[str, Vector], x: Vector, state: tuple[Vector, ...]
) -> tuple[Vector, ...]:
    """A cell whose products are normalized before they are added; with `standard` also an LSTM's c."""
    h, n = state[0], len(state[0])
    widths = {"rnn": (n,), "lstm": (4 * n,), "gru": (2 * n, n), "gru_an": (2 * n, n)}[cell]
    read = projected(p, "norm_input", kind, times(p["weight_input"], x), p["bias_input"], widths)
    hidden, bias = p["weight_hidden"], p["bias_hidden"]
    if cell == "gru_an":
        gates = read[: 2 * n] + projected(p, "norm_hidden", kind, times(hidden[: 2 * n], h), bias[: 2 * n])
        rested = np.array([sigmoid(gates[k]) * h[k] for k in range(n)])
        fresh = read[2 * n :] + projected(p, "norm_candidate", kind, times(hidden[2 * n :], rested), bias[2 * n :])
        bring = [sigmoid(gates[n + k]) for k in range(n)]
        return (np.array([(1 - bring[k]) * h[k] + bring[k] * math.tanh(fresh[k]) for k in range(n)]),)
    recurred = projected(p, "norm_hidden", kind, times(hidden, h), bias, widths)
    gates = read + recurred
    if cell == "rnn":
        return (tanh(gates),)
    if cell == "gru":
        fresh = tanh(read[2 * n :] + np.array([sigmoid(gates[k]) for k in range(n)]) * recurred[2 * n :])
        keep = [sigmoid(gates[n + k]) for k in range(n)]
        return (np.array([(1 - keep[k]) * fresh[k] + keep[k] * h[k] for k in range(n)]),)
    enter, forget, candidate, leave = (gates[part * n : (part + 1) * n] for part in range(4))
    memory = np.array(
        [sigmoid(forget[k]) * state[1][k] + sigmoid(enter[k]) * math.tanh(candidate[k]) for k in range(n)]
    )
    shown = memory
    if kind == "standard":
        shown = layer_norm(memory, p["norm_memory.weight"], 1e-5) + p["norm_memory.bias"]
    return np.array([sigmoid(leave[k]) * math.tanh(shown[k]) for k in range(n)]), memory


CELLS = {"rnn": tanh_rnn, "lstm": lstm, "gru": gru, "gru_an": gru_an}


def zeros(kind: str, size: int) -> tuple[Vector, ...]:
    return (np.zeros(size),) * (2 if kind == "lstm" else 1)


def read(kind: str, p: dict[str, Vector], inputs: list[Vector], size: int) -> tuple[list[Vector], tuple[Vector, ...]]:
    """A cell over a sentence from zeros: the state h after each symbol, and all of the last state."""
    state, outputs = zeros(kind, size), []
    for x in inputs:
        state = CELLS[kind](p, x, state)
        outputs.append(state[0])
    return outputs, state


def additive(p: dict[str, Vector], query: Vector, states: Vector) -> Vector:
    """`v^T tanh(W s + U h_j + b)` for each j."""
    energies = []
    for h in states:
        inside = times(p["query.weight"], query) + times(p["state.weight"], h) + p["state.bias"]
        energies.append(dot(p["vector"], tanh(inside)))
    return np.array(energies)


def convolved(kernel: Vector, bias: Vector | None, rows: Vector) -> Vector:
    """Over one sentence; the kernel (O, I, w) reaches floor((w - 1) / 2) to the left and floor(w / 2) to the right."""
    size, _, width = kernel.shape
    outputs = np.zeros((len(rows), size))
    for j in range(len(rows)):
        for o in range(size):
            for k in range(width):
                place = j + k - (width - 1) // 2
                if 0 <= place < len(rows):
                    outputs[j, o] += dot(kernel[o, :, k], rows[place])
            outputs[j, o] += 0.0 if bias is None else float(bias[o])
    return outputs


def mixture(p: dict[str, Vector], *parts: Vector) -> Vector:
    """`tanh(W [parts] + b)` of the features `tanh` and `deep`."""
    return tanh(times(p["mix.weight"], join(*parts)) + p["mix.bias"])

"""The Transformer's equations as plain loops over numbers, one sentence at a time, sharing nothing with the code."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tests.model import loops
from tests.model.loops import Vector

Energies = Callable[[dict[str, Vector], Vector, Vector], Vector]  # parameters, query, keys


ACTIVATIONS: dict[str, Callable[[float], float]] = {
    "relu": lambda x: max(0.0, x),
    "swish": lambda x: x / (1 + math.exp(-x)),
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "gelu_sigmoid": lambda x: x / (1 + math.exp(-1.702 * x)),
}


@dataclass(frozen=True)
class Variant:
    """The options of the layers that change the equations, as the constructors have them."""

    positions: str = "rotary"
    activation: str = "relu"
    norm: str = "before"
    final_norm: bool | None = None
    norm_epsilon: float = 1e-5
    scale: bool = True
    embedding_norm: bool = False
    norm_kind: str = "layer"
    gated: bool = False
    head_size: int | None = None
    autoregression: str = "self_attention"
    alignment_layer: int | None = None
    alignment_head: int | None = None

    @property
    def rotary(self) -> bool:
        return self.positions == "rotary"

    @property
    def relative(self) -> bool:
        return self.positions == "relative"


PLAIN = Variant()


def under(p: dict[str, Vector], prefix: str) -> dict[str, Vector]:
    """The parameters below a name."""
    return {name.removeprefix(prefix): value for name, value in p.items() if name.startswith(prefix)}


def scaled_dot(p: dict[str, Vector], query: Vector, keys: Vector) -> Vector:
    return np.array([loops.dot(query, key) / math.sqrt(len(key)) for key in keys])


def rotated(vector: Vector, place: int) -> Vector:
    """Pair i of the numbers rotated by `place 10000^(-2i / d)`."""
    vectors = []
    for i in range(len(vector) // 2):
        angle = place * 10000 ** (-2 * i / len(vector))
        a, b = vector[2 * i], vector[2 * i + 1]
        vectors += [a * math.cos(angle) - b * math.sin(angle), a * math.sin(angle) + b * math.cos(angle)]
    return np.array(vectors)


def bucket(distance: int, causal: bool, longest: int = 128) -> int:
    """Of a key so many places after its query: 32 for earlier ones, or 16 for each direction."""
    count = 32 if causal else 16
    back = max(-distance, 0) if causal else abs(distance)
    if back >= count // 2:
        share = np.float32(np.log(np.float32(back / (count // 2)))) / np.float32(math.log(longest / (count // 2)))
        back = min(count // 2 + int(np.float32(share * np.float32(count // 2))), count - 1)
    return back + (count if not causal and distance > 0 else 0)


def heads(
    queries: Vector,
    keys: Vector,
    values: Vector,
    count: int,
    p: dict[str, Vector],
    energies: Energies,
    causal: bool,
    reported: int | None = None,
    biases: Vector | None = None,
) -> tuple[Vector, Vector]:
    """What each query reads, head beside head, and the mean of the heads' weights, or those of the head that is
    `reported` (from 1); `causal` hides later keys. `biases` have a row for each bucket of distances.
    """
    size = queries.shape[1] // count
    read, weights = [], []
    for t, query in enumerate(queries):
        parts, total = [], np.zeros(len(keys))
        for head in range(count):
            cut = slice(head * size, (head + 1) * size)
            until = t + 1 if causal else len(keys)
            energy = energies(p, query[cut], keys[:until, cut])
            if biases is not None:
                energy = energy + [biases[bucket(j - t, causal), head] for j in range(until)]
            chosen = loops.softmax(energy)
            parts.append(loops.mix(chosen, values[:until, cut]))
            share = 1 / count if reported is None else float(head + 1 == reported)
            total[:until] += share * chosen
        read.append(loops.join(*parts))
        weights.append(total)
    return np.array(read), np.array(weights)


def multiply_rows(matrix: Vector, vectors: Vector) -> Vector:
    return np.array([loops.times(matrix, vector) for vector in vectors])


def self_attention(
    p: dict[str, Vector], x: Vector, count: int, *, rotary: bool, causal: bool, biases: Vector | None = None
) -> Vector:
    queries, keys, values = np.split(biased(p, "project", x), 3, axis=1)
    if rotary:
        size = queries.shape[1] // count
        queries, keys = (
            np.array(
                [loops.join(*(rotated(part, t) for part in row.reshape(count, size))) for t, row in enumerate(rows)]
            )
            for rows in (queries, keys)
        )
    read, _ = heads(queries, keys, values, count, p, scaled_dot, causal, biases=biases)
    return biased(p, "out_proj", read)


def biased(p: dict[str, Vector], name: str, vectors: Vector) -> Vector:
    """`W x + b`, without b where there is none."""
    return multiply_rows(p[f"{name}.weight"], vectors) + p.get(f"{name}.bias", np.zeros(1))


def recurrence(p: dict[str, Vector], x: Vector, kind: str) -> Vector:
    """`c = f c + (1 - f) W x`, then `relu(c)` (ssru) or `r tanh(c) + (1 - r) x` (sru)."""
    size = x.shape[1]
    matrices, biases = np.split(p["project.weight"], len(p["project.weight"]) // size), p["bias"]
    outputs, cell = [], np.zeros(size)
    for vector in x:
        candidate, forget = loops.times(matrices[0], vector), loops.times(matrices[1], vector) + biases[:size]
        kept = [1 / (1 + math.exp(-f)) for f in forget]
        cell = np.array([f * c + (1 - f) * w for f, c, w in zip(kept, cell, candidate, strict=True)])
        if kind == "ssru":
            outputs.append([max(0.0, c) for c in cell])
        else:
            reset = [1 / (1 + math.exp(-r)) for r in loops.times(matrices[2], vector) + biases[size:]]
            outputs.append([r * math.tanh(c) + (1 - r) * v for r, c, v in zip(reset, cell, vector, strict=True)])
    return np.array(outputs)


def norm(p: dict[str, Vector], x: Vector, epsilon: float = 1e-5) -> Vector:
    """Each vector less its mean, over its deviation, times g, plus b; without b, over the root of its mean square."""
    rows = []
    for vector in x:
        if "bias" not in p:
            root = math.sqrt(sum(number**2 for number in vector) / len(vector) + epsilon)
            rows.append([number / root * g for number, g in zip(vector, p["weight"], strict=True)])
            continue
        mean = sum(vector) / len(vector)
        deviation = math.sqrt(sum((number - mean) ** 2 for number in vector) / len(vector) + epsilon)
        rows.append([(n - mean) / deviation * g + b for n, g, b in zip(vector, p["weight"], p["bias"], strict=True)])
    return np.array(rows)


def feed_forward(p: dict[str, Vector], x: Vector, activation: str = "relu") -> Vector:
    if "0.gate.weight" in p:
        gates = [[ACTIVATIONS[activation](number) for number in row] for row in biased(p, "0.gate", x)]
        return biased(p, "1", np.array(gates) * biased(p, "0.value", x))
    inner = [[ACTIVATIONS[activation](number) for number in row] for row in biased(p, "0", x)]
    return biased(p, "2", np.array(inner))


def waves(kind: str, place: int, size: int) -> list[float]:
    """The vector of a position."""
    slowest = size - 2 if kind in ("marian", "fairseq") else size
    place += 2 if kind == "fairseq" else 0
    angles = [place * 10000 ** (-2 * i / slowest) for i in range(size // 2)]
    if kind == "sinusoidal":
        return [wave(angle) for angle in angles for wave in (math.sin, math.cos)]
    return [wave(angle) for wave in (math.sin, math.cos) for angle in angles]


def entry(p: dict[str, Vector], embedded: Vector, variant: Variant = PLAIN) -> Vector:
    """`sqrt(E) E y_t + P_t`, normalized, and projected where there is a matrix for it."""
    size = embedded.shape[1]
    x = embedded * math.sqrt(size) if variant.scale else embedded
    if variant.positions == "learned":
        x = x + p["positions.table.table"][: len(x)]
    elif variant.positions not in ("rotary", "relative", "none"):
        x = x + np.array([waves(variant.positions, place, size) for place in range(len(x))])
    x = norm(under(p, "norm."), x, variant.norm_epsilon) if variant.embedding_norm else x
    return multiply_rows(p["project.weight"], x) if "project.weight" in p else x


def sublayer(p: dict[str, Vector], number: int, x: Vector, f: Callable[[Vector], Vector], variant: Variant) -> Vector:
    """`x + f(norm(x))` or `norm(x + f(x))`."""
    q = under(p, f"norms.{number}.")
    if variant.norm == "before":
        return x + f(norm(q, x, variant.norm_epsilon))
    return norm(q, x + f(x), variant.norm_epsilon)


def top(p: dict[str, Vector], x: Vector, variant: Variant) -> Vector:
    wanted = variant.norm == "before" if variant.final_norm is None else variant.final_norm
    return norm(under(p, "norm."), x, variant.norm_epsilon) if wanted else x


def encoder(p: dict[str, Vector], embedded: Vector, layers: int, count: int, variant: Variant = PLAIN) -> Vector:
    x = entry(under(p, "entry."), embedded, variant)
    biases = p["entry.positions.table.table"] if variant.relative else None
    for number in range(layers):
        q = under(p, f"layers.{number}.")
        attend = partial(
            self_attention, under(q, "attention."), count=count, rotary=variant.rotary, causal=False, biases=biases
        )
        x = sublayer(q, 0, x, attend, variant)
        x = sublayer(q, 1, x, partial(feed_forward, under(q, "feed_forward."), activation=variant.activation), variant)
    return top(p, x, variant)


def decoder(
    p: dict[str, Vector],
    embedded: Vector,
    states: Vector,
    layers: int,
    count: int,
    energies: Energies,
    variant: Variant = PLAIN,
) -> tuple[Vector, Vector]:
    """Features and weights of all steps."""
    x, weights = entry(under(p, "entry."), embedded, variant), np.zeros(0)

    def so_far(q: dict[str, Vector], read: Vector) -> Vector:
        if variant.autoregression == "self_attention":
            biases = p["entry.positions.table.table"] if variant.relative else None
            return self_attention(q, read, count, rotary=variant.rotary, causal=True, biases=biases)
        return recurrence(q, read, variant.autoregression)

    def source(cross: dict[str, Vector], number: int, read: Vector) -> Vector:
        nonlocal weights
        queries, score = biased(cross, "query", read), under(cross, "attention.score.")
        keys, values = biased(cross, "keys", states), biased(cross, "values", states)
        looked, shares = heads(queries, keys, values, count, score, energies, False, variant.alignment_head)
        if number + 1 == (variant.alignment_layer or layers):
            weights = shares
        return biased(cross, "out_proj", looked)

    for number in range(layers):
        q = under(p, f"layers.{number}.")
        x = sublayer(q, 0, x, partial(so_far, under(q, "attention.")), variant)
        x = sublayer(q, 1, x, partial(source, under(q, "cross."), number), variant)
        x = sublayer(q, 2, x, partial(feed_forward, under(q, "feed_forward."), activation=variant.activation), variant)
    features = top(p, x, variant)
    if "features.weight" in p:
        features = biased(p, "features", features)
    return features, weights

"""The Transformer's equations as plain loops over numbers, one sentence at a time, sharing nothing with the code."""

import math
from collections.abc import Callable

import numpy as np

from tests.model import loops
from tests.model.loops import Vector

Energies = Callable[[dict[str, Vector], Vector, Vector], Vector]  # parameters, query, keys


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


def heads(
    queries: Vector, keys: Vector, values: Vector, count: int, p: dict[str, Vector], energies: Energies, causal: bool
) -> tuple[Vector, Vector]:
    """What each query reads, head beside head, and the mean of the heads' weights; `causal` hides later keys."""
    size = queries.shape[1] // count
    read, weights = [], []
    for t, query in enumerate(queries):
        parts, total = [], np.zeros(len(keys))
        for head in range(count):
            cut = slice(head * size, (head + 1) * size)
            until = t + 1 if causal else len(keys)
            chosen = loops.softmax(energies(p, query[cut], keys[:until, cut]))
            parts.append(loops.mix(chosen, values[:until, cut]))
            total[:until] += chosen / count
        read.append(loops.join(*parts))
        weights.append(total)
    return np.array(read), np.array(weights)


def multiply_rows(matrix: Vector, vectors: Vector) -> Vector:
    return np.array([loops.times(matrix, vector) for vector in vectors])


def self_attention(p: dict[str, Vector], x: Vector, count: int, *, rotary: bool, causal: bool) -> Vector:
    queries, keys, values = (multiply_rows(matrix, x) for matrix in np.split(p["project.weight"], 3))
    if rotary:
        size = x.shape[1] // count
        queries, keys = (
            np.array(
                [loops.join(*(rotated(part, t) for part in row.reshape(count, size))) for t, row in enumerate(rows)]
            )
            for rows in (queries, keys)
        )
    read, _ = heads(queries, keys, values, count, p, scaled_dot, causal)
    return multiply_rows(p["out_proj.weight"], read)


def norm(p: dict[str, Vector], x: Vector) -> Vector:
    """Each vector less its mean, over its deviation, times g, plus b."""
    rows = []
    for vector in x:
        mean = sum(vector) / len(vector)
        deviation = math.sqrt(sum((number - mean) ** 2 for number in vector) / len(vector) + 1e-5)
        rows.append([(n - mean) / deviation * g + b for n, g, b in zip(vector, p["weight"], p["bias"], strict=True)])
    return np.array(rows)


def feed_forward(p: dict[str, Vector], x: Vector) -> Vector:
    inner = [[max(0.0, number) for number in row] for row in multiply_rows(p["0.weight"], x) + p["0.bias"]]
    return multiply_rows(p["2.weight"], np.array(inner)) + p["2.bias"]


def entry(p: dict[str, Vector], embedded: Vector) -> Vector:
    """`sqrt(E) (E y_t + P_t)`, projected where there is a matrix for it."""
    table = p.get("positions.table.table", np.zeros_like(embedded))
    scaled = math.sqrt(embedded.shape[1]) * (embedded + table[: len(embedded)])
    return multiply_rows(p["project.weight"], scaled) if "project.weight" in p else scaled


def encoder(p: dict[str, Vector], embedded: Vector, layers: int, count: int, *, rotary: bool) -> Vector:
    x = entry(under(p, "entry."), embedded)
    for number in range(layers):
        q = under(p, f"layers.{number}.")
        read = norm(under(q, "norms.0."), x)
        x = x + self_attention(under(q, "attention."), read, count, rotary=rotary, causal=False)
        x = x + feed_forward(under(q, "feed_forward."), norm(under(q, "norms.1."), x))
    return norm(under(p, "norm."), x)


def decoder(
    p: dict[str, Vector],
    embedded: Vector,
    states: Vector,
    layers: int,
    count: int,
    energies: Energies,
    *,
    rotary: bool,
) -> tuple[Vector, Vector]:
    """Features and weights of all steps."""
    x, weights = entry(under(p, "entry."), embedded), np.zeros(0)
    for number in range(layers):
        q = under(p, f"layers.{number}.")
        read = norm(under(q, "norms.0."), x)
        x = x + self_attention(under(q, "attention."), read, count, rotary=rotary, causal=True)
        cross = under(q, "cross.")
        queries = multiply_rows(cross["query.weight"], norm(under(q, "norms.1."), x))
        keys, values = multiply_rows(cross["keys.weight"], states), multiply_rows(cross["values.weight"], states)
        looked, weights = heads(queries, keys, values, count, under(cross, "attention.score."), energies, False)
        x = x + multiply_rows(cross["out_proj.weight"], looked)
        x = x + feed_forward(under(q, "feed_forward."), norm(under(q, "norms.2."), x))
    features = norm(under(p, "norm."), x)
    if "features.weight" in p:
        features = multiply_rows(p["features.weight"], features) + p["features.bias"]
    return features, weights

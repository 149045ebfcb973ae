"""How what is seen in several sources becomes one context, LH (1)-(10) as plain loops over numbers of one sentence."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.model import loops
from tests.model.loops import Vector


class DecoderQuery(NamedTuple):
    query: Vector  # s_t
    embedded: Vector  # y_(t-1)
    before: Vector  # s_(t-1)


class Combined(NamedTuple):
    context: Vector
    weights: list[Vector]  # of each source's positions, then of a sentinel


PROJECTION = {"additive": "state", "bilinear": "weight"}  # the matrix of a score that makes keys of states


def energy(p: dict[str, Vector], score: str, own: str, shared: str, s: Vector, h: Vector) -> float:
    """(1), with a bias inside; or another score. What it makes of the query is under the name `shared`."""
    if score == "dot":
        return loops.dot(s, h)
    if score == "bilinear":
        return loops.dot(s, loops.times(p[f"{own}.weight.weight"], h))
    inside = loops.times(p[f"{shared}.query.weight"], s) + loops.times(p[f"{own}.state.weight"], h)
    return loops.dot(p[f"{shared}.vector"], loops.tanh(inside + p[f"{own}.state.bias"]))


def sentinel(p: dict[str, Vector], decoder_query: DecoderQuery) -> Vector:
    """(4): `psi = sigmoid(W_y y + W_s s_before + b)`, and `psi * s`."""
    inside = loops.times(p["sentinel.symbol.weight"], decoder_query.embedded) + p["sentinel.symbol.bias"]
    inside = inside + loops.times(p["sentinel.state.weight"], decoder_query.before)
    return np.array(
        [
            loops.sigmoid(preactivation) * number
            for preactivation, number in zip(inside, decoder_query.query, strict=True)
        ]
    )


def one(p: dict[str, Vector], score: str, k: int, s: Vector, states: Vector) -> tuple[Vector, Vector]:
    """(1)-(3): the weights and the context of source k alone."""
    own = f"attentions.{k}.score"
    weights = loops.softmax(np.array([energy(p, score, own, own, s, h) for h in states]))
    return weights, loops.mix(weights, states)


def apart(
    p: dict[str, Vector], decoder_query: DecoderQuery, sources: Sequence[Vector], kind: str, score: str = "additive"
) -> Combined:
    """`concatenation` or `sum`; a source without positions has a context of zeros."""
    parts = [
        one(p, score, k, decoder_query.query, states) if len(states) else (np.zeros(0), np.zeros(states.shape[1]))
        for k, states in enumerate(sources)
    ]
    contexts = [context for _, context in parts]
    context = loops.join(*contexts) if kind == "concatenation" else np.sum(contexts, axis=0)
    return Combined(context, [weights for weights, _ in parts])


def flat(
    p: dict[str, Vector],
    decoder_query: DecoderQuery,
    sources: Sequence[Vector],
    options: Mapping[str, Any],
    score: str = "additive",
) -> Combined:
    """(6)-(7)."""
    places = [(k, f"attentions.{k}.score", h) for k, states in enumerate(sources) for h in states]
    if options["sentinel"]:
        places.append((len(sources), "sentinel_score", sentinel(p, decoder_query)))
    shared = "attentions.0.score"
    energies = [energy(p, score, own, shared, decoder_query.query, h) + p["bias"][k] for k, own, h in places]
    weights = loops.softmax(np.array(energies))
    projected = (
        f"{own}.{PROJECTION.get(score)}" if options["share_projections"] else f"values.{k}" for k, own, _ in places
    )
    values = [loops.times(p[f"{name}.weight"], h) for name, (*_, h) in zip(projected, places, strict=True)]
    of = np.array([k for k, *_ in places])
    parts = [weights[of == k] for k in range(len(sources) + options["sentinel"])]
    return Combined(loops.mix(weights, np.array(values)), parts)


def hierarchical(
    p: dict[str, Vector],
    decoder_query: DecoderQuery,
    sources: Sequence[Vector],
    options: Mapping[str, Any],
    score: str = "additive",
) -> Combined:
    """(8)-(10), among the sources that have positions. A position's weight is that of its source times its own."""
    there = [k for k, states in enumerate(sources) if len(states)]
    by_source = {k: one(p, score, k, decoder_query.query, sources[k]) for k in there}
    if options["sentinel"]:
        by_source[len(sources)] = np.ones(1), sentinel(p, decoder_query)
    keys = [loops.times(p[f"keys.{k}.weight"], context) for k, (_, context) in by_source.items()]
    query = loops.times(p["query.weight"], decoder_query.query)
    energies = [
        loops.dot(p["vector"], loops.tanh(query + key)) + p["bias"][k] for k, key in zip(by_source, keys, strict=True)
    ]
    beta = loops.softmax(np.array(energies))
    own = "keys" if options["share_projections"] else "values"
    values = [loops.times(p[f"{own}.{k}.weight"], context) for k, (_, context) in by_source.items()]
    shares = dict(zip(by_source, beta, strict=True))
    numbers = range(len(sources) + options["sentinel"])
    parts = [shares[k] * by_source[k][0] if k in by_source else np.zeros(0) for k in numbers]
    return Combined(loops.mix(beta, np.array(values)), parts)


LOOPS = {"flat": flat, "hierarchical": hierarchical}

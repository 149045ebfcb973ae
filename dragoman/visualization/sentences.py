"""The sentences of a report: what each run made of them, as compact JSON for the page."""

import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dragoman.visualization import explained
from dragoman.visualization.explained import BeamNode, TreeLine

ATTENTION = "attention"  # the name of the first map of every sentence
DIGITS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", dtype="S1")
LEVELS = len(DIGITS) ** 2 - 1  # a weight is two digits: a step is less than 0.00025 of the range


@dataclass(frozen=True)
class ReportSentence:
    """A translated sentence: its words, the attention (target words, source words) between them, and its texts.

    `texts` has the name and the text of each source, `target_text` the translation, as they are written. `reference` is
    None if it is not known, `score` is that of the search, `alignment` and `gold` are links (source word, target word),
    the latter those that are right, `n_best` further translations with their scores. With several sources, `source` has
    the name of each before its words; `shares` are the columns that are no words: the total weight of each source, and
    further figures of the model. `pair` is the language pair of the sentence, if there are several. `values` are those
    of the measures of the report, for this sentence.

    `maps` may have other weights beside the attention, by name, each (target words, source words) without the columns
    of `shares`: what explains a word. `confidence` (target words,) is from 0 to 1. `contrast` tells why it is not the
    reference, in rows of which the first has headings; `nearest` are similar training pairs (translation, similarity,
    source); `beam` is the search.
    """

    source: Sequence[str]
    target: Sequence[str]
    reference: str | None
    attention: ArrayLike
    score: float
    gold: Collection[tuple[int, int]] | None = None
    n_best: Sequence[tuple[str, float]] = ()
    shares: Sequence[int] = ()
    pair: str = ""
    texts: Sequence[tuple[str, str]] = field(kw_only=True)
    target_text: str = field(kw_only=True)
    alignment: Collection[tuple[int, int]] = field(default=(), kw_only=True)
    values: Sequence[float] = field(default=(), kw_only=True)
    maps: Mapping[str, ArrayLike] = field(default_factory=dict, kw_only=True)
    confidence: Sequence[float] | None = field(default=None, kw_only=True)
    contrast: Sequence[Sequence[str]] = field(default=(), kw_only=True)
    nearest: Sequence[tuple[str, float, str]] = field(default=(), kw_only=True)
    beam: Sequence[BeamNode] = field(default=(), kw_only=True)


class SentenceMetric(NamedTuple):
    """A metric that each sentence has a value of."""

    name: str
    higher_is_better: bool


def data(runs: Sequence[tuple[str, Sequence[ReportSentence]]], measures: Sequence[SentenceMetric]) -> str:
    """Return the sentences as JSON that is safe in a script element.

    What several runs made of the same sentence stands together. It is the same if its number is the same in runs with
    equal references, and else if its sources are.
    """
    entries: dict[object, dict[str, Any]] = {}
    for number, keys in enumerate(_keys([examples for _, examples in runs])):
        for key, example in zip(keys, runs[number][1], strict=True):
            entry = entries.setdefault(key, {**_shared(example), "found": []})
            entry["found"].append(_output_fields(number, example, entry))
    content = {
        "runs": [name for name, _ in runs],
        "measures": [{"name": measure.name, "higher": measure.higher_is_better} for measure in measures],
        "sentences": list(entries.values()),
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")  # the only character that could end a script element


def _keys(runs: Sequence[Sequence[ReportSentence]]) -> list[list[object]]:
    """What the sentences of each run are known by."""
    run_keys: list[list[object]] = []
    run_references: list[list[tuple[str | None, str]]] = []
    for examples in runs:
        references = [(example.reference, example.pair) for example in examples]
        if references in run_references and any(reference for reference, _ in references):
            run_keys.append(run_keys[run_references.index(references)])
        else:
            times = Counter[object]()
            keys: list[object] = []
            for example in examples:
                texts = tuple(text for _, text in example.texts)
                times[texts] += 1
                keys.append((texts, times[texts]))
            run_keys.append(keys)
        run_references.append(references)
    return run_keys


def _shared(example: ReportSentence) -> dict[str, Any]:
    """What a sentence has whatever the run."""
    return {"texts": list(map(list, example.texts)), "reference": example.reference, "pair": example.pair}


def _output_fields(run: int, example: ReportSentence, entry: Mapping[str, Any]) -> dict[str, Any]:
    """What a run made of a sentence; what may be missing is left out."""
    shape = len(example.target), len(example.source)
    fields: dict[str, Any] = {
        "run": run,
        "text": example.target_text,
        "source": list(example.source),
        "target": list(example.target),
        "score": _number(example.score),
        "values": [_number(value) for value in example.values],
        "maps": [_map(name, weights, example.shares, shape) for name, weights in _maps(example)],
    }
    further = {
        "reference": example.reference if example.reference != entry["reference"] else None,
        "pair": example.pair if example.pair != entry["pair"] else None,
        "shares": list(example.shares) or None,
        "links": sorted([int(s), int(t)] for s, t in example.alignment),
        "gold": None if example.gold is None else sorted([int(s), int(t)] for s, t in example.gold),
        "best": [[text, _number(score)] for text, score in example.n_best] or None,
        "contrast": list(map(list, example.contrast)) or None,
        "nearest": [[text, _number(score), source] for text, score, source in example.nearest] or None,
        "search": {
            "told": explained.summarize_search(example.beam),
            "tree": list(map(_branch, explained.branches(example.beam))),
        }
        if example.beam
        else None,
        "confidence": None
        if example.confidence is None
        else [_number(confidence) for confidence in example.confidence],
    }
    return fields | {name: value for name, value in further.items() if value is not None}


def _branch(branch: TreeLine) -> list[Any]:
    return [branch.depth, branch.text, branch.fate, None if branch.figure is None else _number(branch.figure)]


def _maps(example: ReportSentence) -> list[tuple[str, ArrayLike]]:
    return [(ATTENTION, example.attention), *example.maps.items()]


def _map(name: str, weights: ArrayLike, shares: Sequence[int], shape: tuple[int, int]) -> dict[str, Any]:
    """A map with its columns for `shares`, if it has none; its weights in two digits each, between the two values of
    `range`.
    """
    finite = np.nan_to_num(np.asarray(weights, dtype=np.float64), posinf=0.0, neginf=0.0)
    if finite.size and finite.shape != shape:
        whole = np.zeros(shape)
        whole[:, [column for column in range(shape[1]) if column not in shares]] = finite
        finite = whole
    low, high = min(0.0, finite.min(initial=0.0)), finite.max(initial=0.0)
    high = 1.0 if low == 0 and high <= 1 else high
    return {"name": name, "range": [_number(low), _number(high)], "weights": _packed(finite, low, high)}


def _packed(weights: NDArray[np.float64], low: float, high: float) -> str:
    levels = np.rint((weights - low) / ((high - low) or 1.0) * LEVELS).astype(np.int64)
    digits: bytes = DIGITS[np.stack(np.divmod(levels, len(DIGITS)), axis=-1)].tobytes()
    return digits.decode("ascii")


def _number(value: float) -> float | None:
    return round(float(value), 4) if math.isfinite(value) else None

"""What holds for every metric."""

import unicodedata
from collections.abc import Sequence

import numpy as np

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.contracts.contract import Check, require
from dragoman.errors import UserError
from dragoman.evaluation.metrics.metric import Metric
from dragoman.evaluation.metrics.table import METRICS

HYPOTHESES = ["the cat sat on the mat today", "a dog runs in the small park", "he reads a book in the garden"]
REFERENCES = [
    "the cat sat on the red mat today",
    "the dog runs in the park",
    "he reads a book in the garden now",
]
COMPOSED = ["les élèves étaient à la fête", "où est né le bébé"], ["les élèves étaient à l'école", "où né le bébé"]
DECOMPOSED = tuple([unicodedata.normalize("NFD", text) for text in texts] for texts in COMPOSED)
TOLERANCE = 0.2  # of a perfect score: METEOR takes something for its one chunk


def _metric(kind: str) -> Metric:
    return components.build(METRICS, Spec(kind))


def _require_better(metric: Metric, better: float, worse: float, which: str) -> None:
    wanted = "higher" if metric.higher_is_better else "lower"
    require(
        (better > worse) == metric.higher_is_better,
        f"{which}: {better} is not {wanted} than {worse}",
    )


def check_perfect(kind: str) -> None:
    """A perfect translation scores 100, or 0 if lower is better."""
    metric = _metric(kind)
    best = 100.0 if metric.higher_is_better else 0.0
    for value in (metric.corpus(HYPOTHESES, [HYPOTHESES]).value, metric.sentence(HYPOTHESES[0], HYPOTHESES[:1]).value):
        require(abs(value - best) <= TOLERANCE, f"{value}, expected {best}")


def check_references(kind: str) -> None:
    """A further reference that is like the translation can only help it."""
    metric = _metric(kind)
    alone, both = (metric.corpus(HYPOTHESES, texts).value for texts in ([REFERENCES], [REFERENCES, HYPOTHESES]))
    _require_better(metric, both, alone, "two references")


def check_better_corpus(kind: str) -> None:
    """The better corpus has the better score, and the metric can be used again."""
    metric = _metric(kind)
    better = metric.corpus([REFERENCES[0], *HYPOTHESES[1:]], [REFERENCES]).value
    worse = metric.corpus(["mat cat", "x", "garden reads"], [REFERENCES]).value
    _require_better(metric, better, worse, "corpora")
    again = metric.corpus(HYPOTHESES, [REFERENCES, REFERENCES]).signature
    require("nrefs:2" in again, f"the signature {again} does not have nrefs:2")


def check_better_sentence(kind: str) -> None:
    """The better sentence has the better score."""
    metric = _metric(kind)
    better, worse = (metric.sentence(text, REFERENCES[:1]).value for text in (REFERENCES[0], "mat cat"))
    _require_better(metric, better, worse, "sentences")


def check_normal_form(kind: str) -> None:
    """Texts are compared in NFC, whichever side is decomposed."""
    metric = _metric(kind)
    (texts, references), (decomposed, other_references) = COMPOSED, DECOMPOSED
    score = metric.corpus(texts, [references])
    for hypotheses, wanted in ((decomposed, references), (texts, other_references), (decomposed, other_references)):
        require(metric.corpus(hypotheses, [wanted]) == score, "decomposed characters change the score")


def check_counts(kind: str) -> None:
    """The score of any part of a corpus is computed from the sum of its sentences' counts."""
    metric = _metric(kind)
    counts = metric.counts(HYPOTHESES, [REFERENCES])
    require(len(counts) == len(HYPOTHESES), f"{len(counts)} rows of counts for {len(HYPOTHESES)} sentences")
    for chosen in ([0, 2], [1], [0, 1, 2, 1]):
        value = metric.value(counts[chosen].sum(axis=0).tolist())
        expected = metric.corpus([HYPOTHESES[i] for i in chosen], [[REFERENCES[i] for i in chosen]]).value
        require(np.isclose(value, expected, rtol=0, atol=1e-9), f"{value} from counts, {expected} from texts")


def check_refusals(kind: str) -> None:
    """No translations, no references, or unequal numbers of them are errors."""
    metric = _metric(kind)
    for hypotheses, references in (([], [[]]), (["a"], []), (["a", "b"], [["a", "b"], ["a"]])):
        try:
            metric.corpus(hypotheses, references)
        except UserError:
            continue
        require(False, f"scores {len(hypotheses)} translations against {[*map(len, references)]} references")


METRIC_CHECKS: Sequence[Check] = (
    check_perfect,
    check_references,
    check_better_corpus,
    check_better_sentence,
    check_normal_form,
    check_counts,
    check_refusals,
)

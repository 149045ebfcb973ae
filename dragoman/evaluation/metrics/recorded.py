"""Metrics of what other commands write, a line for each pair: word links (`align`) and log-probabilities (`score`)."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from dragoman.corpus.pharaoh import read_pharaoh
from dragoman.errors import UserError
from dragoman.evaluation.alignment import AlignmentScore, agreement
from dragoman.evaluation.metrics.metric import Counts, Metric


class AlignmentErrorRate(Metric):
    """Alignment error rate, AER (Och and Ney 2003), in percent: links, as Pharaoh lines, against gold links. Lower is
    better. With `one_based`, the gold links count words from 1.
    """

    name = "AER"
    higher_is_better = False

    def __init__(self, *, one_based: bool = False) -> None:
        self.one_based = one_based

    def counts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Float[np.ndarray, "N K"]:
        if len(references) > 1:
            raise UserError(f"{self.name}: {len(references)} files of gold links, where there can be one")
        for number, line in enumerate(hypotheses, start=1):
            read_pharaoh(line, f"line {number} of the links")
        for number, line in enumerate(references[0] if references else (), start=1):
            read_pharaoh(line, f"line {number} of the gold links", one_based=self.one_based)
        return super().counts(hypotheses, references)

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        (gold,) = references
        return agreement(read_pharaoh(hypothesis).possible, read_pharaoh(gold, one_based=self.one_based))

    def value(self, sums: Counts) -> float:
        return 100.0 * AlignmentScore.of(sums).error_rate


class Perplexity(Metric):
    """Perplexity of references, `exp(-sum log P / symbols)`, from the lines that `score` writes for them: log P in nats
    and the number of symbols, with a tab between them. Lower is better. It is comparable between models that have the
    same symbols.
    """

    name = "Perplexity"
    higher_is_better = False

    def counts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Float[np.ndarray, "N K"]:
        for number, line in enumerate(hypotheses, start=1):
            if _scored(line) is None:
                raise UserError(
                    f"line {number} of the log-probabilities: expected log P, a tab and the number of symbols"
                )
        return super().counts(hypotheses, references)

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        return _scored(hypothesis) or (0.0, 0)

    def value(self, sums: Counts) -> float:
        loss, symbols = sums
        return math.exp(min(loss / max(1, symbols), 700.0))


def _scored(line: str) -> tuple[float, int] | None:
    """The negative log-probability and the number of symbols of a line, if it has them."""
    try:
        log_prob, symbols, *_ = line.split("\t")
        return -float(log_prob), int(symbols)
    except ValueError:
        return None


RECORDED: Mapping[str, type[Metric]] = {"aer": AlignmentErrorRate, "perplexity": Perplexity}

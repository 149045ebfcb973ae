"""Metrics of what other commands write, a line for each pair: word links (`align`) and log-probabilities (`score`)."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence

from dragoman.corpus.pharaoh import read_pharaoh
from dragoman.errors import UserError
from dragoman.evaluation.alignment import AlignmentQuality, agreement
from dragoman.evaluation.metrics.metric import Counts, Metric


class StructuredLineMetric(Metric):
    """A metric of lines that have a form, which `check` and `check_references` look at."""

    higher_is_better = False

    @abstractmethod
    def check(self, line: str, where: str) -> None:
        """Raises UserError, which names where the line stands, if it has another form."""

    def check_references(self, references: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Raises UserError if the lines of these files, each with its name, cannot be compared with."""

    def check_systems(self, systems: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Raises UserError if the lines of these files, each with its name, cannot be compared with each other."""


class AlignmentErrorRate(StructuredLineMetric):
    """Alignment error rate, AER (Och and Ney 2003), in percent: links, as Pharaoh lines, against gold links. Lower is
    better. With `one_based`, the gold links count words from 1.
    """

    name = "AER"

    def __init__(self, *, one_based: bool = False) -> None:
        self.one_based = one_based

    def check(self, line: str, where: str) -> None:
        read_pharaoh(line, where)

    def check_references(self, references: Sequence[tuple[str, Sequence[str]]]) -> None:
        if len(references) > 1:
            raise UserError(f"{self.name}: {len(references)} gold alignment files, expected one")
        for name, lines in references:
            for number, line in enumerate(lines, start=1):
                read_pharaoh(line, f"{name}:{number}", one_based=self.one_based)

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        (gold,) = references
        return agreement(read_pharaoh(hypothesis).possible, read_pharaoh(gold, one_based=self.one_based))

    def value(self, sums: Counts) -> float:
        return 100.0 * AlignmentQuality.of(sums).error_rate


class Perplexity(StructuredLineMetric):
    """Perplexity of references, `exp(-sum log P / symbols)`, from the lines that `score` writes for them: log P in nats
    and the number of symbols, with a tab between them. Lower is better. It is comparable between models that have the
    same symbols.
    """

    name = "Perplexity"

    def check(self, line: str, where: str) -> None:
        if _scored(line) is None:
            raise UserError(f"{where}: expected log P, a tab and the number of symbols")

    def check_systems(self, systems: Sequence[tuple[str, Sequence[str]]]) -> None:
        (first, lines), *rest = systems
        for name, compared in rest:
            for number, pair in enumerate(zip(lines, compared, strict=True), start=1):
                symbols, other = (line.split("\t")[1] for line in pair)
                if symbols != other:
                    raise UserError(
                        f"{name}:{number}: has {other} symbols, and {first} {symbols}; perplexities are comparable "
                        "only between models with the same vocabulary"
                    )

    def _counts(self, hypothesis: str, references: Sequence[str]) -> Counts:
        return _scored(hypothesis) or (0.0, 0)

    def value(self, sums: Counts) -> float:
        loss, symbols = sums
        return math.exp(min(loss / max(1, symbols), 700.0))


def _scored(line: str) -> tuple[float, int] | None:
    """The negative log-probability and the number of symbols of a line, if it has them."""
    try:
        log_prob, symbols, *_ = line.split("\t")
        loss = -float(log_prob)
    except ValueError:
        return None
    return (loss, int(symbols)) if 0 <= loss < math.inf and symbols.isdecimal() and int(symbols) else None


RECORDED: Mapping[str, type[StructuredLineMetric]] = {"aer": AlignmentErrorRate, "perplexity": Perplexity}

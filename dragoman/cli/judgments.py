"""What `dragoman judge read` prints: tables, or JSON."""

from collections.abc import Iterator
from typing import Any

from dragoman.cli.evaluate_tables import ComparisonRow, as_object, table, written
from dragoman.cli.streams import aligned
from dragoman.evaluation.human import judgment_statistics
from dragoman.evaluation.human.forms import ERRORS, RANK, SEVERITIES, Key
from dragoman.evaluation.human.judgment_reading import Judgements


def format_judgments(key: Key, gathered: Judgements, baseline: str, *, as_json: bool) -> str:
    """Return all that the judgments of a page say."""
    if as_json:
        return written(_object(key, gathered, baseline))
    parts = [_heading(key, gathered), _means(key, gathered, baseline), _pairs(key, gathered)]
    parts += [_errors(key, gathered), _agreement(key, gathered)]
    return "\n\n".join(part for part in parts if part)


def _rows(key: Key, gathered: Judgements, baseline: str) -> list[ComparisonRow]:
    means = judgment_statistics.means(key, gathered.judgments, baseline)
    return [ComparisonRow({"system": name}, cells) for name, cells in means.items() if cells]


def _heading(key: Key, gathered: Judgements) -> str:
    by = ", ".join(f"{name} ({count:,})" for name, count in gathered.annotators.items())
    return f"{gathered.sentences:,} sentences, judged by {by}"


def _means(key: Key, gathered: Judgements, baseline: str) -> str:
    rows = _rows(key, gathered, baseline)
    penalties = ", ".join(f"{penalty} for a {severity} one" for severity, penalty in SEVERITIES.items())
    note = f"penalty: errors per translation, weighted: {penalties}; lower is better"
    return "\n".join([table(rows, "bootstrap"), *([note] if ERRORS in key.questions else [])]) if rows else ""


def _pairs(key: Key, gathered: Judgements) -> str:
    rows = [
        [first, second, str(pair.better), str(pair.equal), str(pair.worse), _probability(pair.p)]
        for pair in judgment_statistics.pairs(key, gathered.judgments)
        for first, second in [pair.systems]
    ]
    heading = ["system", "against", "better", "equal", "worse", "p"]
    note = "sentences in which it ranks better; p by the sign test"
    return f"{aligned([heading, *rows])}\n\n{note}" if rows else ""


def _probability(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _errors(key: Key, gathered: Judgements) -> str:
    rows = [
        [count["error"], count["severity"], *map(str, count["systems"].values())] for count in _counted(key, gathered)
    ]
    return aligned([["error", "severity", *key.systems], *rows]) if rows else ""


def _counted(key: Key, gathered: Judgements) -> Iterator[dict[str, Any]]:
    counts = judgment_statistics.errors(gathered.judgments)
    for category in key.categories:
        for severity in reversed(SEVERITIES):
            of_systems = {name: counts[category, severity, name] for name in key.systems}
            if any(of_systems.values()):
                yield {"error": category, "severity": severity, "systems": of_systems}


def _agreement(key: Key, gathered: Judgements) -> str:
    rows = [
        [f"{name} (of two)" if name == RANK else name, "-" if value is None else f"{value:.2f}"]
        for name, value in judgment_statistics.agreement(key, gathered.judgments).items()
    ]
    note = "Krippendorff's alpha: 1 is agreement, 0 chance, - without a difference"
    return f"{aligned([['agreement', 'alpha'], *rows])}\n\n{note}" if rows else ""


def _object(key: Key, gathered: Judgements, baseline: str) -> dict[str, Any]:
    return {
        "page": key.page,
        "annotators": gathered.annotators,
        "sentences": gathered.sentences,
        "systems": [as_object(row) for row in _rows(key, gathered, baseline)],
        "pairs": [
            {
                "systems": list(pair.systems),
                "better": pair.better,
                "equal": pair.equal,
                "worse": pair.worse,
                "p_value": pair.p,
            }
            for pair in judgment_statistics.pairs(key, gathered.judgments)
        ],
        "errors": list(_counted(key, gathered)),
        "agreement": judgment_statistics.agreement(key, gathered.judgments),
    }

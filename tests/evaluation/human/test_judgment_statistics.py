"""A better system is found, a person differs from a machine, and small cases are as worked out by hand."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from dragoman.evaluation.human import judgment_statistics
from dragoman.evaluation.human.blinding import blind
from dragoman.evaluation.human.forms import ERRORS, QUESTIONS, RANK, JudgedOutput, JudgedSentence, Key
from dragoman.evaluation.human.judgment_reading import Judgements, gather
from dragoman.evaluation.human.judgment_statistics import SystemPair
from dragoman.evaluation.significance import ComparedScore
from tests.evaluation.human.filled import fill, save

pytestmark = pytest.mark.spec("H10")
ALL = [*QUESTIONS, ERRORS, RANK]
QUALITY = {"old": 2.0, "new": 3.2, "reference": 4.4, "same": 2.0}


def page(systems: list[str], count: int, questions: list[str] = ALL) -> Key:
    lines = {name: [f"{name} says {number}" for number in range(count)] for name in systems}
    return blind(lines[systems[0]], lines, questions, ["grammar", "other"], sentences=None, seed=1)


def opinions(random: Random) -> Any:
    """An annotator whose answers depend on the quality of a system, and on chance."""

    def answer(item: JudgedSentence, output: JudgedOutput) -> dict[str, Any]:
        liked = {
            shown_output.id: QUALITY[shown_output.systems[0]] + random.gauss(0, 1.2) for shown_output in item.outputs
        }
        mine = liked[output.id]
        errors = [{"category": "grammar", "severity": "major", "words": [0, 1]}] * (mine < 2.5)
        return {
            "adequacy": min(5, max(1, round(mine))),
            "fluency": min(5, max(1, round(mine + random.gauss(0, 0.5)))),
            "correct": int(mine > 3),
            "human": int(mine > 3.5),
            "errors": errors,
            "rank": 1 + min(len(liked) - 1, max(0, 5 - round(mine))),
        }

    return answer


def gathered(key: Key, folder: Path, *annotators: Any) -> Judgements:
    names = [f"annotator {number}" for number in range(len(annotators))]
    saved = [fill(key, name, answer) for name, answer in zip(names, annotators, strict=True)]
    return gather(
        key, "key", [save(folder / f"{name}.json", judgments) for name, judgments in zip(names, saved, strict=True)]
    )


def test_a_better_system_is_found_and_equal_ones_are_not_told_apart(tmp_path: Path) -> None:
    key = page(["old", "new", "same", "reference"], 60)
    gathered_all = gathered(key, tmp_path, opinions(Random(1)), opinions(Random(2)))
    means = judgment_statistics.means(key, gathered_all.judgments, "old")
    assert list(means) == ["old", "new", "same", "reference"]
    names = ["adequacy", "fluency", "correct %", "human %", "penalty"]
    for number, name in enumerate(names):
        old, new, same, reference = (cells[number] for cells in means.values())
        assert isinstance(old, ComparedScore)
        assert isinstance(new, ComparedScore)
        assert isinstance(same, ComparedScore)
        assert isinstance(reference, ComparedScore)
        assert old.score.name == name
        assert old.p is None
        assert new.p is not None
        assert new.p < 0.01
        assert same.p is not None
        assert same.p > 0.05
        values = [cell.score.value for cell in (old, new, reference)]
        assert values == sorted(values, reverse=name == "penalty")
        assert old.low < old.score.value < old.high
    pairs = {pair.systems: pair for pair in judgment_statistics.pairs(key, gathered_all.judgments)}
    assert len(pairs) == 6
    assert pairs["old", "new"].worse > pairs["old", "new"].better
    assert pairs["old", "new"].p < 0.01
    assert pairs["new", "reference"].p < 0.01
    assert pairs["old", "same"].p > 0.05


def test_the_baseline_comes_first(tmp_path: Path) -> None:
    key = page(["old", "new"], 30)
    gathered_all = gathered(key, tmp_path, opinions(Random(1)))
    means = judgment_statistics.means(key, gathered_all.judgments, "new")
    assert list(means) == ["new", "old"]
    assert [isinstance(cells[0], ComparedScore) and cells[0].p is None for cells in means.values()] == [True, False]


def test_means_pairs_and_errors_by_hand(tmp_path: Path) -> None:
    """Two sentences and two annotators: too few for intervals."""
    key = page(["old", "new"], 2)
    error = {"category": "other", "severity": "critical", "words": None}
    minor = {"category": "grammar", "severity": "minor", "words": [1, 1]}

    def first(item: JudgedSentence, output: JudgedOutput) -> dict[str, Any]:
        new = output.systems == ["new"]
        ratings = {"adequacy": 5 if new else item.line, "fluency": 3, "correct": int(new), "human": int(item.line == 1)}
        return {**ratings, "rank": 1 if new else 2, "errors": [] if new else [error, minor]}

    def second(item: JudgedSentence, output: JudgedOutput) -> dict[str, Any]:
        ratings = {"adequacy": 4, "fluency": 3, "correct": 1, "human": 0}
        return {**ratings, "rank": 2 - (item.line == 1 and output.systems == ["old"]), "errors": [minor]}

    gathered_all = gathered(key, tmp_path, first, second)
    means = judgment_statistics.means(key, gathered_all.judgments, "old")
    assert [(str(cell)) for cell in means["old"]] == [
        "adequacy = 2.75 (judgments:4|annotators:2)",  # 1, 2, 4, 4
        "fluency = 3.00 (judgments:4|annotators:2)",
        "correct % = 50.00 (judgments:4|annotators:2)",
        "human % = 25.00 (judgments:4|annotators:2)",
        "penalty = 13.50 (judgments:4|annotators:2)",  # 26, 26, 1, 1
    ]
    # In the first sentence the annotators contradict each other; in the second one prefers the new system.
    assert judgment_statistics.pairs(key, gathered_all.judgments) == [SystemPair(("old", "new"), 0, 1, 1)]
    assert judgment_statistics.errors(gathered_all.judgments) == {
        ("other", "critical", "old"): 2,
        ("grammar", "minor", "old"): 4,
        ("grammar", "minor", "new"): 2,
    }
    agreement = judgment_statistics.agreement(key, gathered_all.judgments)
    assert agreement["fluency"] is None  # nothing but 3
    assert agreement["correct"] == pytest.approx(1 - 7 * 4 / (2 * 6 * 2))  # 0 1, 1 1, 0 1, 1 1
    # Of two: 1 against -1, and 1 against 0.
    assert agreement["rank"] == pytest.approx(1 - 3 * 4 / (2 * (2 * 1 + 2 * 1 + 1)))
    # Words of 4 translations of 3 words: only the second words are marked, of the old ones by both.
    assert agreement["errors"] == pytest.approx(1 - 23 * 4 / (2 * 6 * 18))


def test_annotators_agree_as_far_as_they_see_the_same(tmp_path: Path) -> None:
    key = page(["old", "new"], 40)
    same = gathered(key, tmp_path, opinions(Random(1)), opinions(Random(1)))
    assert set(judgment_statistics.agreement(key, same.judgments).values()) == {1}
    by_chance = gathered(page(["old", "same"], 40), tmp_path, opinions(Random(1)), opinions(Random(2)))
    gathered_all = judgment_statistics.agreement(page(["old", "same"], 40), by_chance.judgments)
    del gathered_all[ERRORS]  # both mark the same words, if they mark any
    assert all(value is not None and abs(value) < 0.25 for value in gathered_all.values())
    alone = gathered(key, tmp_path, opinions(Random(1)))
    assert judgment_statistics.agreement(key, alone.judgments) == {}


def test_only_what_was_asked_is_told(tmp_path: Path) -> None:
    key = page(["old", "new"], 25, [RANK])
    gathered_all = gathered(key, tmp_path, opinions(Random(1)))
    assert judgment_statistics.means(key, gathered_all.judgments, "old") == {"old": [], "new": []}
    key = page(["old", "new"], 25, ["fluency"])
    gathered_all = gathered(key, tmp_path, opinions(Random(1)))
    assert judgment_statistics.pairs(key, gathered_all.judgments) == []
    assert [len(cells) for cells in judgment_statistics.means(key, gathered_all.judgments, "old").values()] == [1, 1]

"""Judgments are read back as they were given, and impossible ones are reported in a line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import UserError
from dragoman.evaluation.human.blinding import blind
from dragoman.evaluation.human.forms import ERRORS, QUESTIONS, RANK, Key, read
from dragoman.evaluation.human.judgment_reading import gather
from tests.evaluation.human.filled import fill, save
from tests.golden import Golden

pytestmark = pytest.mark.spec("H10")


@pytest.fixture
def key() -> Key:
    lines = [f"a b c {number}" for number in range(4)]
    systems = {"x": lines, "y": [f"{line} d" for line in lines], "z": lines}
    return blind(lines, systems, [*QUESTIONS, ERRORS, RANK], ["grammar", "other"], sentences=None, seed=1)


def answers(item: Any, output: Any) -> dict[str, Any]:
    error = {"category": "grammar", "severity": "minor", "words": [1, 2]}
    by = {"adequacy": 4 if "y" in output.systems else 2, "fluency": 3, "correct": 1, "human": 0}
    return {**by, "rank": len(output.systems), "errors": [error, {**error, "words": None}]}


def test_answers_come_back_for_each_system(key: Key, tmp_path: Path) -> None:
    gathered = gather(key, "key", [save(tmp_path / "a.json", fill(key, " Anna  B ", answers))])
    assert gathered.annotators == {"Anna B": 4}
    assert gathered.unfinished == []
    for judgment in gathered.judgments:
        assert {name: answer.adequacy for name, answer in judgment.answers.items()} == {"x": 2, "y": 4, "z": 2}
        assert {name: answer.rank for name, answer in judgment.answers.items()} == {"x": 2, "y": 1, "z": 2}
        assert [error.words for error in judgment.answers["x"].errors] == [(1, 2), None]


def test_sentences_that_are_not_fully_judged_are_left_out_and_told(key: Key, tmp_path: Path, golden: Golden) -> None:
    saved = fill(key, "Ben", answers, 3)
    first, second, third = (item.id for item in key.items[:3])
    next(iter(saved["judgments"][first].values()))["fluency"] = None
    saved["judgments"][second].popitem()
    gathered = gather(key, "key", [save(tmp_path / "ben.json", saved)])
    assert [judgment.item.id for judgment in gathered.judgments] == [third]
    (unfinished,) = gathered.unfinished
    assert sorted(unfinished.lines) == sorted(item.line for item in key.items if item.id != third)
    golden(str(unfinished))
    with pytest.raises(UserError) as raised:
        gather(key, "key", [save(tmp_path / "none.json", fill(key, "Ben", answers, 0))])
    golden(str(raised.value))


def test_a_sentence_with_one_translation_needs_no_rank(tmp_path: Path) -> None:
    key = blind(["a"], {"x": ["b"], "y": ["b"]}, [RANK, "fluency"], [], sentences=None, seed=1)
    saved = fill(key, "Anna", lambda item, output: {"fluency": 5})
    assert len(gather(key, "key", [save(tmp_path / "a.json", saved)]).judgments) == 1


def changed(**values: Any) -> Callable[[Any, Key], Any]:
    return lambda saved, key: {**saved, **values}


def one(**values: Any) -> Callable[[Any, Key], Any]:
    """With other answers to the first translation of the first sentence."""

    def change(saved: Any, key: Key) -> Any:
        saved["judgments"][key.items[0].id][key.items[0].outputs[0].id] |= values
        return saved

    return change


ERROR = {"category": "other", "severity": "major", "words": [0, 1]}
FAULTS: dict[str, Callable[[Any, Key], Any]] = {
    "a different page": changed(page="0"),
    "no such sentence": changed(judgments={"0": {}}),
    "no such translation": lambda saved, key: {**saved, "judgments": {key.items[0].id: {"0": {}}}},
    "a later version": changed(version=2),
    "nobody's": changed(annotator=""),
    "no such answer": one(adequacy=6),
    "a text for a number": one(fluency="5"),
    "a rank beyond the last": one(rank=3),
    "an unknown severity": one(errors=[{**ERROR, "severity": "bad"}]),
    "an unknown category": one(errors=[{**ERROR, "category": "style"}]),
    "words that are not there": one(errors=[{**ERROR, "words": [2, 9]}]),
    "words in the wrong order": one(errors=[{**ERROR, "words": [1, 0]}]),
    "other JSON": lambda saved, key: [saved],
    "a key": lambda saved, key: key.model_dump(mode="json"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_is_told(fault: str, key: Key, tmp_path: Path, golden: Golden) -> None:
    path = save(tmp_path / "saved.json", FAULTS[fault](fill(key, "Anna", answers), key))
    with pytest.raises(UserError) as raised:
        gather(key, "page.key.json", [path])
    message = str(raised.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    golden(message)


@pytest.mark.parametrize("text", ["", "{", '{"version": 1, "version": 1}', "[" * 100_000, '{"a": NaN}', "nul\x00"])
def test_what_is_no_json_is_told(text: str, key: Key, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text, "utf-8")
    with pytest.raises(UserError, match=r"a\.json: expected judgments saved by a `dragoman judge` page") as raised:
        gather(key, "key", [tmp_path / "a.json"])
    assert "\n" not in str(raised.value)


def test_two_files_of_one_annotator_are_told(key: Key, tmp_path: Path, golden: Golden) -> None:
    one, other = (
        save(tmp_path / f"{number}.json", fill(key, name, answers)) for number, name in enumerate(("Anna", "anna "))
    )
    with pytest.raises(UserError) as raised:
        gather(key, "key", [one, other])
    golden(str(raised.value))
    with pytest.raises(UserError, match="is by Anna, like"):
        gather(key, "key", [one, one])


def test_a_key_comes_back(key: Key, tmp_path: Path) -> None:
    (tmp_path / "key.json").write_text(key.model_dump_json(), "utf-8")
    assert read(tmp_path / "key.json", Key, "a key") == key

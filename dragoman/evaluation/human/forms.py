"""The files of a human evaluation: the key of its page, and what each annotator saved."""

import json
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dragoman.configuration.messages import shown as worded
from dragoman.configuration.messages import written_by
from dragoman.errors import UserError
from dragoman.files.reading import read_lines, shown

VERSION = 1
RANK, ERRORS = "rank", "errors"
Level: TypeAlias = Literal["nominal", "ordinal", "interval"]


class Question(NamedTuple):
    """What is asked about each translation: the answers by their values, and how these are compared."""

    prompt: str
    answers: dict[int, str]
    level: Level

    @property
    def is_share(self) -> bool:
        """Whether the mean of the answers is a share, which is reported in percent."""
        return set(self.answers) == {0, 1}


QUESTIONS = {  # the scales are those of the Linguistic Data Consortium (2005)
    "adequacy": Question(
        "How much of the meaning of the source does it express?",
        {1: "none", 2: "little", 3: "much", 4: "most", 5: "all"},
        "ordinal",
    ),
    "fluency": Question(
        "How good is its language?",
        {1: "incomprehensible", 2: "disfluent", 3: "non-native", 4: "good", 5: "flawless"},
        "ordinal",
    ),
    "correct": Question("Is it correct?", {0: "no", 1: "yes"}, "nominal"),
    "human": Question("Who wrote it?", {0: "a machine", 1: "a person"}, "nominal"),
}
SEVERITIES = {"minor": 1, "major": 5, "critical": 25}  # with the penalties of the MQM scoring models (themqm.org)
Severity: TypeAlias = Literal["minor", "major", "critical"]


class _Form(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class JudgedOutput(_Form):
    """A translation of a sentence, and all systems that it is from."""

    id: str
    text: str
    systems: list[str] = Field(min_length=1)


class JudgedSentence(_Form):
    """A sentence (its line, from 1) with its different translations, in the order of the page."""

    id: str
    line: int = Field(ge=1)
    source: str
    outputs: list[JudgedOutput] = Field(min_length=1)


class Key(_Form):
    """Which translations on a page are from which systems. The reference, if there is one, is a system too."""

    version: int
    page: str
    seed: int
    systems: list[str] = Field(min_length=1)
    questions: list[str] = Field(min_length=1)
    categories: list[str]
    items: list[JudgedSentence] = Field(min_length=1)


class MarkedError(_Form):
    """An error: the first and last of the marked words (from 0), or None if something is missing."""

    category: str
    severity: Severity
    words: tuple[int, int] | None = None


class Answers(_Form):
    """What an annotator said about a translation; None for what he has not answered."""

    adequacy: int | None = Field(None, ge=1, le=5)
    fluency: int | None = Field(None, ge=1, le=5)
    correct: int | None = Field(None, ge=0, le=1)
    human: int | None = Field(None, ge=0, le=1)
    rank: int | None = Field(None, ge=1)
    errors: list[MarkedError] = []

    def answer(self, question: str) -> int | None:
        """The answer to a question that has one."""
        rating: int | None = getattr(self, question)
        return rating


class SavedAnswers(_Form):
    """What an annotator saved: his answers by the ids of sentences and translations."""

    version: int
    page: str
    annotator: str = Field(min_length=1)
    judgments: dict[str, dict[str, Answers]]


Form = TypeVar("Form", Key, SavedAnswers)


def read(path: Path, form: type[Form], what: str) -> Form:
    """Read a file of this form; `what` it should be, for the UserError about anything else."""
    try:
        value = json.loads("\n".join(read_lines(path)), object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{shown(path)}: expected {what}, as JSON ({error})") from None
    if not isinstance(value, dict) or not set(form.model_fields) <= set(value):
        raise UserError(f"{shown(path)}: expected {what}, found other JSON")
    if type(value["version"]) is not int or value["version"] != VERSION:
        raise UserError(f"{shown(path)}: {written_by(value['version'], VERSION)}")
    try:
        return form.model_validate_json(json.dumps(value))  # in JSON, strict pairs may be lists
    except ValidationError as error:
        raise UserError(f"{shown(path)}: {_problem(error)}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raises ValueError for a key that occurs twice, of which the first value would be lost."""
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)} occurs twice")
    return values


def _problem(error: ValidationError) -> str:
    """The first error: the keys that lead to it, and what was expected there."""
    first = error.errors()[0]
    expected = first["msg"].removeprefix("Input should be ").removeprefix("String should have ")
    return f"{'.'.join(map(str, first['loc']))}: expected {expected}, found {worded(first['input'])}"

"""JSON schemas held against what is written, and translations read back from it."""

import json
from collections.abc import Iterable
from typing import Any

from jsonschema import Draft202012Validator

from dragoman.translation import json_form
from dragoman.translation.result import Result


def validator(schema: str | dict[str, Any]) -> Draft202012Validator:
    """What validates by a schema, which is one itself."""
    found = json.loads(schema) if isinstance(schema, str) else schema
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


def alike(one: str, other: str) -> bool:
    """Whether lines of JSON are the same but for the last places of numbers, which depend on the rest of a batch."""
    lines, others = one.splitlines(), other.splitlines()
    return len(lines) == len(others) and all(_alike(*map(json.loads, each)) for each in zip(lines, others, strict=True))


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) < 1e-4
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)


def results(lines: Iterable[str]) -> list[Result]:
    """The translations in lines of JSON. Each fits the schema, and is written as it was read."""
    form, found = validator(json_form.schema()), []
    for line in lines:
        form.validate(json.loads(line))
        found.append(Result.from_line(line))
        assert found[-1].line() == line
    return found

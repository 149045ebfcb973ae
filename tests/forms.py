"""JSON schemas held against what is written, and translations read back from it."""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from dragoman.translation import json_schema
from dragoman.translation.result import Result


def validator(schema: str | dict[str, Any]) -> Draft202012Validator:
    """What validates by a schema, which is one itself."""
    return _validator(schema if isinstance(schema, str) else json.dumps(schema))


@cache
def _validator(schema: str) -> Draft202012Validator:
    parsed = json.loads(schema)
    Draft202012Validator.check_schema(parsed)
    return Draft202012Validator(parsed)


def alike(one: str, other: str) -> bool:
    """Whether lines of JSON are the same but for the last places of numbers, which depend on the rest of a batch."""
    lines, other_lines = one.splitlines(), other.splitlines()
    return len(lines) == len(other_lines) and all(
        _alike(*map(json.loads, line_pair)) for line_pair in zip(lines, other_lines, strict=True)
    )


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) < 1e-4
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)


@cache
def _of_results() -> Draft202012Validator:
    return validator(json_schema.schema())


def results(lines: Iterable[str]) -> list[Result]:
    """The translations in lines of JSON. Each fits the schema, and is written as it was read."""
    form, parsed = _of_results(), []
    for line in lines:
        form.validate(json.loads(line))
        parsed.append(Result.from_line(line))
        assert parsed[-1].line() == line
    return parsed

"""JSON schemas held against what is written, and translations read back from it."""

import json
from collections.abc import Iterable
from typing import Any

from jsonschema import Draft202012Validator

from dragoman import translation_form
from dragoman.result import Result


def validator(schema: str | dict[str, Any]) -> Draft202012Validator:
    """What validates by a schema, which is one itself."""
    found = json.loads(schema) if isinstance(schema, str) else schema
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


def results(lines: Iterable[str]) -> list[Result]:
    """The translations in lines of JSON. Each fits the schema, and is written as it was read."""
    form, found = validator(translation_form.schema()), []
    for line in lines:
        form.validate(json.loads(line))
        found.append(Result.from_line(line))
        assert found[-1].line() == line
    return found

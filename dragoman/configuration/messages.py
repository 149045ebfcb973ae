"""Wording of error messages: values, types and suggestions."""

import difflib
import json
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic_core import ErrorDetails

from dragoman.configuration.synonyms import own_name

MOST = 20  # names that are listed
LIMITS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}


def explain(errors: Sequence[ErrorDetails], annotation: Any, value: Any) -> list[str]:
    """pydantic's errors for a value of type `annotation`, in this project's wording."""
    if errors and all(error["type"] in LIMITS for error in errors):
        limits = [(*LIMITS[error["type"]], error["ctx"]) for error in errors]
        return [f"must be {words} {limit[key]:.15g}, found {shown(value)}" for words, key, limit in limits]
    if len(errors) == 1 and errors[0]["type"] in ("string_too_short", "too_short"):
        return ["must not be empty"]
    hint = ""
    if isinstance(value, str):
        close = _close(value, _choices(annotation))
        hint = f" (did you mean '{close}'?)" if close else ""
    elif type_text(annotation).endswith("text") and isinstance(value, int | float):
        hint = " (quote it to make it text)"
    return [f"expected {type_text(annotation)}, found {shown(value)}{hint}"]


def figure(value: float, places: int = 2) -> str:
    """A number with `places` decimals; a huge one in exponent notation."""
    return f"{value:.{places}f}" if abs(value) < 1e5 else f"{value:.1e}"


def written_by(form: Any, own: int) -> str:
    """A message that says which version wrote a file of this form, if this version reads form `own`."""
    age = ("an earlier" if form < own else "a later") if type(form) is int else "another"
    return f"written by {age} version of dragoman (in form {shown(form)}; this one reads form {own})"


def shown(value: Any) -> str:
    """A value as in YAML, on one line of at most 60 characters."""
    text = "nothing (null)" if value is None else json.dumps(value, ensure_ascii=False, default=_jsonable)
    return text if len(text) <= 60 else text[:57] + "..."


def _jsonable(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def nearest(name: str, names: Sequence[str] | Mapping[str, Any]) -> str:
    """`did you mean 'size'?`, or a list of the valid names if none is similar."""
    close, valid = _close(name, list(names)), sorted(names)
    if close:
        return f"did you mean '{close}'?"
    return "expected one of " + ", ".join(valid[:MOST]) + ", ..." * (len(valid) > MOST)


def _close(name: str, names: Sequence[str]) -> str | None:
    if synonym := own_name(name, names):
        return synonym
    lower = {str(candidate).lower(): str(candidate) for candidate in names}
    matches = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=0.6)
    return lower[matches[0]] if matches else None


def _choices(annotation: Any) -> list[str]:
    """The strings that an annotation allows, by `Literal` or `OneOf`."""
    if typing.get_origin(annotation) is Literal:
        return [choice for choice in typing.get_args(annotation) if isinstance(choice, str)]
    named: list[str] = getattr(annotation, "choices", [])
    return [*named, *(choice for part in typing.get_args(annotation) for choice in _choices(part))]


NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    types.NoneType: "null",
    Any: "any value",
}


def type_text(annotation: Any) -> str:
    """A type in words: `a whole number or null`, `one of dot, additive`. A class may have its own `expected`."""
    if annotation in NAMES:
        return NAMES[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        named = [choice for mark in arguments[1:] for choice in _choices(mark)]
        return f"one of {', '.join(named)}" if named else type_text(arguments[0])
    if origin is Literal:
        return "one of " + ", ".join(map(str, arguments))
    if origin in (typing.Union, types.UnionType):
        return " or ".join(type_text(argument) for argument in arguments)
    if origin is tuple and Ellipsis not in arguments:
        return f"a list of {len(arguments)}: " + ", ".join(map(type_text, arguments))
    if origin in (tuple, list, Sequence) and arguments:
        return f"a list, each {type_text(arguments[0])}"
    return str(getattr(annotation, "expected", getattr(annotation, "__name__", annotation)))

"""The JSON schema of a configuration, which editors read: whole, and true of what loads."""

import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman import sections, yaml
from dragoman.config import Config
from dragoman.training import checks

ROOT = Path(__file__).resolve().parents[2]
DATA = {"source": "en", "target": "de", "train": "corpus/train", "dev": "corpus/dev"}
KINDS: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}
LIMITS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, limit: value >= limit,
    "maximum": lambda value, limit: value <= limit,
    "exclusiveMinimum": lambda value, limit: value > limit,
    "exclusiveMaximum": lambda value, limit: value < limit,
    "minLength": lambda value, limit: len(value) >= limit,
    "pattern": lambda value, limit: re.search(limit, value) is not None,
    "enum": lambda value, limit: value in limit,
}
TOLD = {"title", "description", "default", "$defs"}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dragoman.schema()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Whether JSON Schema takes a value; a word of it that is not known here is an error."""
    rest = {key: each for key, each in schema.items() if key not in TOLD}
    if "$ref" in rest and not fits(value, root["$defs"][rest.pop("$ref").removeprefix("#/$defs/")], root):
        return False
    if "anyOf" in rest and not any(fits(value, each, root) for each in rest.pop("anyOf")):
        return False
    if "type" in rest:
        kind = rest.pop("type")
        if not isinstance(value, KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
            return False
    items = rest.pop("items", {})
    if not all(fits(each, items, root) for each in (value if isinstance(value, list) else ())):
        return False
    keys, more, required = rest.pop("properties", {}), rest.pop("additionalProperties", True), rest.pop("required", ())
    if isinstance(value, dict):
        if not set(required) <= set(value) or not (more or set(value) <= set(keys)):
            return False
        if not all(fits(each, keys[name], root) for name, each in value.items() if name in keys):
            return False
    return all(LIMITS[word](value, limit) for word, limit in rest.items())


def test_a_default_configuration_fits(schema: dict[str, Any]) -> None:
    config = Config.model_validate({"data": DATA})
    assert fits(sections.tree(config), schema, schema)
    assert fits(config.model_dump(mode="json"), schema, schema)


@pytest.mark.parametrize("path", sorted(ROOT.glob("configs/**/*.yaml")), ids=lambda path: path.stem)
def test_a_ready_configuration_fits(schema: dict[str, Any], path: Path) -> None:
    assert fits(yaml.read(path.read_text(encoding="utf-8"), path.name).value, schema, schema)


@pytest.mark.parametrize(
    ("values", "fit"),
    [
        ({"model": None}, True),
        ({"model": {"encoder": {"size": 3}}}, True),  # of the kind that is the default
        ({"model": {"encoder": None}}, False),
        ({"model": {"attention": {"terms": ["coverage", {"kind": "position"}]}}}, True),
        ({"model": {"attention": {"terms": "coverage"}}}, True),
        ({"model": {"attention": {"terms": [{"size": 3}]}}}, False),
        ({"model": {"encoder": 3}}, False),
        ({"modle": {}}, False),
        ({"seed": -1}, False),
        ({"data": {**DATA, "source": ["en", "fr"]}}, True),
        ({"data": {**DATA, "source": ["en", ""]}}, False),
    ],
)
def test_it_takes_what_loads_and_nothing_else(schema: dict[str, Any], values: dict[str, Any], fit: bool) -> None:
    given = {"data": DATA, **values}
    found, _ = sections.problems(Config, given)
    assert (not found) == fit
    assert fits(given, schema, schema) == fit


def test_each_key_has_its_description_and_default(schema: dict[str, Any]) -> None:
    config = Config.model_validate({"data": DATA})
    for path, text in sections.notes(Config, checks.PARTS):
        keys = schema["properties"]
        for name in path[:-1]:
            keys = schema["$defs"][keys[name]["anyOf"][0]["$ref"].removeprefix("#/$defs/")]["properties"]
        assert keys[path[-1]]["description"] == text
        if path[0] != "data":
            assert keys[path[-1]]["default"] == sections.tree(sections.at(config, path))

"""The JSON schema of a configuration, which editors read: whole, and true of what loads."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.configuration import config_file, sections, yaml_lines
from dragoman.configuration.config import Config
from dragoman.training import checks
from tests.forms import validator

ROOT = Path(__file__).resolve().parents[2]
DATA = {"source": "en", "target": "de", "train": "corpus/train", "dev": "corpus/dev"}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        json_schema = config_file.schema(checks.PARTS)
    assert json_schema.endswith("}\n")
    assert json.loads(json_schema) == dragoman.schema()
    return dragoman.schema()


def fits(value: Any, schema: dict[str, Any]) -> bool:
    return bool(validator(schema).is_valid(value))


def test_a_default_configuration_fits(schema: dict[str, Any]) -> None:
    config = Config.model_validate({"data": DATA})
    assert fits(sections.tree(config), schema)
    assert fits(config.model_dump(mode="json"), schema)


@pytest.mark.parametrize("path", sorted(ROOT.glob("configs/**/*.yaml")), ids=lambda path: path.stem)
def test_a_ready_configuration_fits(schema: dict[str, Any], path: Path) -> None:
    assert fits(yaml_lines.read(path.read_text(encoding="utf-8"), path.name).value, schema)


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
    options = {"data": DATA, **values}
    _, errors, _ = sections.validate(Config, options)
    assert (not errors) == fit
    assert fits(options, schema) == fit


def test_each_key_has_its_description_and_default(schema: dict[str, Any]) -> None:
    config = Config.model_validate({"data": DATA})
    for path, text in sections.notes(Config, checks.PARTS):
        keys = schema["properties"]
        for name in path[:-1]:
            keys = schema["$defs"][keys[name]["anyOf"][0]["$ref"].removeprefix("#/$defs/")]["properties"]
        assert keys[path[-1]]["description"] == text
        if path[0] != "data":
            assert keys[path[-1]]["default"] == sections.tree(sections.at(config, path))

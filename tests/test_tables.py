"""Names that stand both in a table and beside it are the same, in the same order."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from dragoman.cli import evaluate_options, features
from dragoman.configuration import components, sections
from dragoman.configuration.components import Spec
from dragoman.configuration.config import Config, LanguageConfig
from dragoman.configuration.sections import Section
from dragoman.corpus.images import Layer
from dragoman.evaluation import significance
from dragoman.evaluation.metrics.sacre import Tokenize
from dragoman.text.pretokenizer import PRETOKENIZERS
from dragoman.training import checks


def keys(section: type[Section], path: components.Path = ()) -> Iterator[tuple[components.Path, Any, str]]:
    """The path, the type and the description of every key that is no section itself."""
    for name, field in section.model_fields.items():
        kind: Any = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from keys(kind, (*path, name))
        else:
            yield (*path, name), kind, str(field.description)


KEYS = {path: (kind, description) for path, kind, description in keys(Config)}


def test_kinds_are_the_names_of_tables(repository: Path) -> None:
    """`OneOf(TABLE)`, and never a list of names beside it."""
    text = "".join(path.read_text("utf-8") for path in (repository / "dragoman").rglob("*.py"))
    kinds = re.findall(r"^(\w+Kind)\b(.*)$", text, re.MULTILINE)
    assert len(kinds) >= 5
    assert [name for name, rest in kinds if "OneOf(" not in rest] == []


def test_choices_are_those_of_what_takes_them() -> None:
    assert get_args(LanguageConfig.model_fields["pretokenizer"].annotation) == tuple(PRETOKENIZERS)
    assert evaluate_options.Tokenize == Tokenize
    assert evaluate_options.Test == significance.Test
    assert get_args(get_type_hints(features.FeaturesOptions)["layer"]) == get_args(Layer)


def test_every_key_that_takes_parts_has_its_table() -> None:
    assert {path for path, (kind, _) in KEYS.items() if kind is Spec or Spec in get_args(kind)} == set(checks.PARTS)


@pytest.mark.parametrize("path", checks.PARTS, ids=components.dotted)
def test_every_part_of_a_table_is_named_where_its_key_is_explained(path: components.Path) -> None:
    """And nowhere else, so that the table is the one place that knows it."""
    own = KEYS[path][1]
    assert dict(sections.notes(Config, checks.PARTS))[path] == f"{own}: {', '.join(checks.PARTS[path])}".removesuffix(
        ": "
    )
    assert dict(sections.notes(Config))[path] == own
    assert not any(f" {kind}{end}" in f" {own} " for kind in checks.PARTS[path] for end in (",", " or "))


CHOICES = [path for path, (kind, _) in KEYS.items() if get_origin(kind) is Literal]


@pytest.mark.parametrize("path", CHOICES, ids=components.dotted)
def test_every_choice_is_named_where_its_key_is_explained(path: components.Path) -> None:
    kind, description = KEYS[path]
    assert set(get_args(kind)) - set(re.findall(r"\w+", description)) == set()


KIND = re.compile(r"(.*\.)?(?<!dtype\.)kind")  # numpy's dtypes have a kind, too


def kinds_as_text(tree: ast.AST) -> Iterator[int]:
    """The lines that compare a kind, `spec.kind` or a local `kind`, by itself or in a tuple, with text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            operands = [
                item
                for operand in (node.left, *node.comparators)
                for item in (operand.elts if isinstance(operand, ast.Tuple | ast.List | ast.Set) else [operand])
            ]
            texts = (isinstance(item, ast.Constant) and isinstance(item.value, str) for item in operands)
            if any(texts) and any(KIND.fullmatch(ast.unparse(item)) for item in operands):
                yield node.lineno


@pytest.mark.slow
def test_a_kind_is_compared_with_text_in_no_place_but_the_table(repository: Path) -> None:
    """What a part is like is an attribute of its class. The kinds of tags, in `documents/`, are not parts."""
    compared = "if part.kind == 'none' or (kind, 1) != ('a', 1) or 'b' in (kind, x): pass"
    assert [*kinds_as_text(ast.parse(compared))] == [1, 1, 1]
    package = repository / "dragoman"
    paths = [path for path in package.rglob("*.py") if path.parent.name != "documents"]
    lines = [f"{path}:{line}" for path in paths for line in kinds_as_text(ast.parse(path.read_text("utf-8")))]
    assert lines == []

"""Names that stand both in a table and beside it are the same, in the same order."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

from dragoman import components
from dragoman.commands.options import Layers, Searches, Tokenisers
from dragoman.components import Spec
from dragoman.config import UNTRANSLATED, Config, LanguageConfig, TrainingConfig
from dragoman.data.images import Layer
from dragoman.evaluation.metrics import METRICS, Tokenise
from dragoman.model import build
from dragoman.model.decoder.rnn import TIMINGS, AttendKind
from dragoman.model.features import FEATURES, FeaturesKind
from dragoman.model.recurrent import CELLS, CellKind
from dragoman.model.self_attention import POSITIONS, PositionsKind
from dragoman.search.ranking import NORMALISATIONS, NormalisationKind
from dragoman.search.searches import SEARCHES
from dragoman.sections import Section
from dragoman.text.tokenise import TOKENISERS
from dragoman.training import checks

KINDS: dict[str, tuple[Any, Mapping[str, Any]]] = {
    "AttendKind": (AttendKind, TIMINGS),
    "CellKind": (CellKind, CELLS),
    "FeaturesKind": (FeaturesKind, FEATURES),
    "NormalisationKind": (NormalisationKind, NORMALISATIONS),
    "PositionsKind": (PositionsKind, POSITIONS),
}
WITHOUT_TABLE = {"FeedKind"}
TABLES: Mapping[components.Path, Mapping[str, Any]] = {
    **checks.TABLES,
    **{("model", *path): table for path, table in build.TABLES.items()},
}


def keys(section: type[Section], path: components.Path = ()) -> Iterator[tuple[components.Path, Any, str]]:
    """The path, the type and the description of every key that is no section itself."""
    for name, field in section.model_fields.items():
        kind: Any = field.annotation
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from keys(kind, (*path, name))
        else:
            yield (*path, name), kind, str(field.description)


KEYS = {path: (kind, description) for path, kind, description in keys(Config)}


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_that_may_be_written_is_one_of_its_table(name: str) -> None:
    kind, table = KINDS[name]
    assert get_args(kind) == tuple(table)


def test_no_kind_is_forgotten_here(repository: Path) -> None:
    text = "".join(path.read_text("utf-8") for path in (repository / "dragoman").rglob("*.py"))
    assert set(re.findall(r"^(\w+Kind)\b.* = Literal", text, re.MULTILINE)) == {*KINDS, *WITHOUT_TABLE}


def test_tokenisers_metrics_and_searches_are_those_of_their_tables() -> None:
    assert get_args(LanguageConfig.model_fields["tokeniser"].annotation) == tuple(TOKENISERS)
    assert get_args(TrainingConfig.model_fields["metric"].annotation) == (*METRICS, *UNTRANSLATED)
    assert [each.value for each in Searches] == list(SEARCHES)
    assert tuple(each.value for each in Tokenisers) == get_args(Tokenise)
    assert tuple(each.value for each in Layers) == get_args(Layer)


def test_every_key_that_takes_parts_has_its_table() -> None:
    assert {path for path, (kind, _) in KEYS.items() if kind is Spec or Spec in get_args(kind)} == set(TABLES)


@pytest.mark.parametrize("path", TABLES, ids=components.dotted)
def test_every_part_of_a_table_is_named_where_its_key_is_explained(path: components.Path) -> None:
    assert set(TABLES[path]) - set(re.findall(r"\w+", KEYS[path][1])) == set()


CHOICES = [path for path, (kind, _) in KEYS.items() if get_origin(kind) is Literal]


@pytest.mark.parametrize("path", CHOICES, ids=components.dotted)
def test_every_choice_is_named_where_its_key_is_explained(path: components.Path) -> None:
    kind, description = KEYS[path]
    assert set(get_args(kind)) - set(re.findall(r"\w+", description)) == set()

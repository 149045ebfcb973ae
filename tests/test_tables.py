"""Names that stand both in a table and beside it are the same, in the same order."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from typer.testing import CliRunner

from dragoman.cli import app, evaluate
from dragoman.cli.evaluate import Tokenisers
from dragoman.cli.features import Layers
from dragoman.cli.options import Searches
from dragoman.configuration import components, sections
from dragoman.configuration.components import Spec
from dragoman.configuration.config import UNTRANSLATED, Config, LanguageConfig
from dragoman.configuration.sections import Section
from dragoman.corpus.images import Layer
from dragoman.errors import UserError
from dragoman.evaluation.metrics import METRICS, Metric, Score, Tokenise
from dragoman.model.decoder.feed import FEEDS, FeedKind
from dragoman.model.decoder.timing import TIMINGS, AttendKind
from dragoman.model.features import FEATURES, FeaturesKind
from dragoman.model.recurrent import CELLS, CellKind
from dragoman.model.self_attention import POSITIONS, PositionsKind
from dragoman.model.weights import read_note
from dragoman.run import Run
from dragoman.search.ranking import NORMALISATIONS, NormalisationKind
from dragoman.search.table import SEARCHES
from dragoman.text.tokenise import TOKENISERS
from dragoman.training import checks, session
from tests import toy


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy.corpus(tmp_path_factory.mktemp("corpus"))


KINDS: dict[str, tuple[Any, Mapping[str, Any]]] = {
    "AttendKind": (AttendKind, TIMINGS),
    "CellKind": (CellKind, CELLS),
    "FeaturesKind": (FeaturesKind, FEATURES),
    "FeedKind": (FeedKind, FEEDS),
    "NormalisationKind": (NormalisationKind, NORMALISATIONS),
    "PositionsKind": (PositionsKind, POSITIONS),
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
    assert set(re.findall(r"^(\w+Kind)\b.* = Literal", text, re.MULTILINE)) == {*KINDS}


def test_tokenisers_metrics_and_searches_are_those_of_their_tables() -> None:
    assert get_args(LanguageConfig.model_fields["tokeniser"].annotation) == tuple(TOKENISERS)
    assert not set(METRICS) & set(UNTRANSLATED)
    assert [each.value for each in Searches] == list(SEARCHES)
    assert tuple(each.value for each in Tokenisers) == get_args(Tokenise)
    assert tuple(each.value for each in Layers) == get_args(Layer)


def test_every_key_that_takes_parts_has_its_table() -> None:
    assert {path for path, (kind, _) in KEYS.items() if kind is Spec or Spec in get_args(kind)} == set(checks.PARTS)


@pytest.mark.parametrize("path", checks.PARTS, ids=components.dotted)
def test_every_part_of_a_table_is_named_where_its_key_is_explained(path: components.Path) -> None:
    """And nowhere else, so that the table is the one place that knows it."""
    own = KEYS[path][1]
    assert dict(sections.notes(Config, checks.PARTS))[path] == f"{own}: {', '.join(checks.PARTS[path])}"
    assert dict(sections.notes(Config))[path] == own
    assert not any(f" {kind}{end}" in f" {own} " for kind in checks.PARTS[path] for end in (",", " or "))


def test_a_metric_is_added_by_one_entry_of_its_table(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The configuration, training, the command and its help, and what explains them know it then."""

    class Length(Metric):
        """How much longer translations are than their references, in characters."""

        higher_is_better = False

        def _score(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
            longer = sum(map(len, hypotheses)) - sum(map(len, references[0]))
            return Score("Length", float(longer), f"nrefs:{len(references)}")

    monkeypatch.setitem(METRICS, "length", Length)
    options = {"metrics": "length", "training.metric": "length", "training.steps": 2, "training.validate_every": 1}
    folder = session.train(toy.config(corpus, tmp_path / "run", options), quiet=True)
    (score,) = Run.load(folder.path).config.metrics
    assert score == Spec("length")
    rows = [json.loads(line) for line in folder.metrics.read_text("utf-8").splitlines()]
    values = {row["step"]: (row["valid/length"], row["valid/loss"]) for row in rows if "valid/length" in row}
    assert read_note(folder.weights("model-best"))["step"] == min(values, key=lambda step: values[step])
    path = tmp_path / "lines"
    path.write_text("one\ntwo\n", encoding="utf-8")
    wanted = evaluate.Options(references=[path], translations=path, metrics="length,chrf")
    evaluate.evaluate(wanted)
    assert capsys.readouterr().out.startswith("Length = 0.00 (nrefs:1)\nchrF2 = 100.00 (")
    with pytest.raises(UserError, match="--lowercase: 'length'"):
        evaluate.evaluate(wanted._replace(lowercase=True))
    assert "token_error_rate, length." in " ".join(CliRunner().invoke(app, ["evaluate", "--help"]).stdout.split())
    assert checks.schema()["properties"]["metrics"]["description"].endswith("token_error_rate, length")


CHOICES = [path for path, (kind, _) in KEYS.items() if get_origin(kind) is Literal]


@pytest.mark.parametrize("path", CHOICES, ids=components.dotted)
def test_every_choice_is_named_where_its_key_is_explained(path: components.Path) -> None:
    kind, description = KEYS[path]
    assert set(get_args(kind)) - set(re.findall(r"\w+", description)) == set()

"""Rules that are declared beside options: they are checked before a command begins, and name what there is."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, NamedTuple

import pytest
import typer
from typer.testing import CliRunner

import dragoman.cli
from dragoman.cli.option_rules import (
    Conflicts,
    Requires,
    ResumeValue,
    Rule,
    Transforms,
    _declarations,
    digests,
    is_given,
    record,
    transforms,
)
from dragoman.cli.options import command
from dragoman.translation.transforms.confidence import ConfidenceCalibration
from dragoman.translation.transforms.exact_match import ExactMatch

REASON = "it is written"


class Options(NamedTuple):
    """What the command of these tests takes."""

    words: Annotated[list[str], typer.Argument(metavar="WORD...")]
    kind: Annotated[
        str | None, typer.Option(), Requires("--other", value="special"), Conflicts("several WORDs"), ResumeValue()
    ] = None
    other: Annotated[list[str] | None, typer.Option("--other", "-o"), ResumeValue(lambda names: len(names or ()))] = (
        None
    )
    show: Annotated[bool, typer.Option("--show"), (Conflicts("--other", "--no-color", because=REASON),)] = False
    color: Annotated[bool | None, typer.Option("--color/--no-color")] = None
    width: Annotated[int, typer.Option(), Requires("--show", "--kind plain")] = 80

    @property
    def several_words(self) -> bool:
        return len(self.words) > 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a", ""),
        ("a b", ""),
        ("a --kind plain", ""),
        ("a --kind special --other x", ""),
        ("a --kind special", "--kind special requires --other"),
        ("a b --kind plain", "--kind cannot be combined with several WORDs"),
        ("a --show --color", ""),
        ("a --show --no-color", f"--show cannot be combined with --other or --no-color: {REASON}"),
        ("a --show -o x", f"--show cannot be combined with --other or --no-color: {REASON}"),
        ("a --width 80", ""),
        ("a --width 0", "--width requires --show or --kind plain"),
        ("a --width 9 --kind plain", ""),
    ],
)
def test_rules_are_checked_before_the_command(words: str, message: str) -> None:
    app, taken = typer.Typer(add_completion=False), list[Options]()

    @command(app)
    def run(options: Options) -> None:
        taken.append(options)

    outcome = CliRunner().invoke(app, words.split(), env={"COLUMNS": "200"})
    assert (outcome.exit_code, len(taken)) == ((2, 0) if message else (0, 1)), outcome.output
    assert message in outcome.stderr


def test_what_resume_compares_is_declared(tmp_path: Any) -> None:
    assert record(Options([], kind="x", other=["a", "b"])) == {"--kind": "x", "--other": 2}
    files = [tmp_path / name for name in "abc"]
    for path, text in zip(files[:2], "xy", strict=True):
        path.write_text(text)
    assert digests(None) == digests(files[2]) == []
    assert digests(files) == [*digests(files[0]), *digests(files[1])]
    assert len(set(digests(files))) == 2


def test_every_rule_names_what_the_command_has() -> None:
    checked: set[str] = set()
    for module in iter_modules(dragoman.cli.__path__, "dragoman.cli."):
        for name, options in vars(import_module(module.name)).items():
            if name.endswith("Options") and options.__module__ == module.name:
                checked.update(f"{module.name} {option}" for option in _checked(options))
    assert {"dragoman.cli.translate_options --pivot", "dragoman.cli.evaluate_options --run"} <= checked


def _checked(options: Any) -> Iterator[str]:
    """Yield the options of a command that have rules, whose others can all be looked up."""
    values = options(*[None] * len(options._fields))
    for name, (_, marks) in _declarations(options).items():
        for rule in (mark for mark in marks if isinstance(mark, Rule)):
            for other in rule.options:
                condition = other.replace("--", "").replace("-", "_").replace(" ", "_").lower()
                if not isinstance(vars(options).get(condition), property):
                    is_given(values, other)  # KeyError for a name that is not there
            yield name


class TransformOptions(NamedTuple):
    """Options that add text transforms."""

    exact: Annotated[bool, typer.Option("--exact"), Transforms("exact_match", "ExactMatch")] = False
    temperature: Annotated[float | None, typer.Option(), Transforms("confidence", "ConfidenceCalibration")] = None


def test_options_add_transforms_with_their_values() -> None:
    assert transforms(TransformOptions()) == []
    (exact,) = transforms(TransformOptions(exact=True))
    assert isinstance(exact, ExactMatch)
    (confidence,) = transforms(TransformOptions(temperature=2.0))
    assert isinstance(confidence, ConfidenceCalibration)
    assert confidence.temperature == 2.0

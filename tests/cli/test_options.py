"""What several commands take, and how a command takes many options."""

from pathlib import Path
from typing import Annotated, NamedTuple

import pytest
import typer
from typer.testing import CliRunner

from dragoman.cli.options import command, overrides

Name = Annotated[str, typer.Argument(metavar="NAME", help="Whom to greet.")]
Times = Annotated[int, typer.Option("--times", "-n", min=1, help="How often.")]
Files = Annotated[list[Path] | None, typer.Option("--file", help="Where to.")]


class Greeting(NamedTuple):
    """What the command of these tests takes."""

    name: Name
    times: Times = 1
    file: Files = None
    loud: Annotated[bool, typer.Option("--loud")] = False


@pytest.fixture
def app() -> typer.Typer:
    """A program with one command, which takes a named tuple."""
    return typer.Typer(add_completion=False)


def test_fields_of_a_named_tuple_are_parameters(app: typer.Typer) -> None:
    taken = []

    @command(app)
    def greet(options: Greeting) -> None:
        """Greet somebody."""
        taken.append(options)

    plain = typer.Typer(add_completion=False)

    @plain.command("greet")
    def _(
        name: Name, times: Times = 1, file: Files = None, loud: Annotated[bool, typer.Option("--loud")] = False
    ) -> None:
        """Greet somebody."""

    run = CliRunner()
    assert run.invoke(app, ["--help"], prog_name="x").stdout == run.invoke(plain, ["--help"], prog_name="x").stdout
    assert run.invoke(app, ["you", "-n2", "--file=a", "--file=b", "--loud"]).exit_code == 0
    assert run.invoke(app, ["you"]).exit_code == 0
    assert run.invoke(app, ["you", "--times=0"]).exit_code == 2
    greet(Greeting("me"))
    assert [options._replace(file=list(options.file or ())) for options in taken] == [
        Greeting("you", 2, [Path("a"), Path("b")], loud=True),
        Greeting("you", file=[]),
        Greeting("me", file=[]),
    ]


def test_a_command_has_the_name_and_the_settings_of_its_function(app: typer.Typer) -> None:
    command(app, hidden=True)(greet)
    command(app)(leave)
    (first, second) = app.registered_commands
    assert first.hidden
    assert not second.hidden
    assert CliRunner().invoke(app, ["leave", "you"]).stdout == "you leaves\n"


def greet(options: Greeting) -> None:
    typer.echo(f"{options.name} comes")


def leave(options: Greeting) -> None:
    typer.echo(f"{options.name} leaves")


def test_overrides_are_read_from_words() -> None:
    words = [
        "--run",
        "runs/x",
        "a.yaml",
        "--training.clip_norm",
        "-1",
        "--text.source.tokenizer={kind: bpe, vocab_size: 3}",
        "--seed=",
    ]
    assert overrides(words) == (
        Path("a.yaml"),
        {
            "run": "runs/x",
            "training.clip_norm": "-1",
            "text.source.tokenizer": "{kind: bpe, vocab_size: 3}",
            "seed": "",
        },
    )
    assert overrides(["a", "--seed=1", "--seed=2"]) == (Path("a"), {"seed": "2"})
    with pytest.raises(typer.BadParameter, match="--seed needs a value"):
        overrides(["a.yaml", "--seed", "--run=x"])

"""Every option of every command changes what comes out: it is not only accepted, it arrives."""

import shlex
from collections.abc import Iterator

import pytest
from typer.main import get_command

from dragoman.cli import app
from tests import shapes
from tests.system.options.effects import FOLDER, Effect, Exempt, Workshop
from tests.system.options.furnished import furnish
from tests.system.options.table import TABLE, WATCHED


def options() -> Iterator[tuple[str, str]]:
    """Yield all commands with each of their options."""
    pending = [("", get_command(app))]
    while pending:
        name, command = pending.pop()
        pending += [(f"{name} {word}".strip(), option) for word, option in getattr(command, "commands", {}).items()]
        if not hasattr(command, "commands"):
            options = [option.opts[0] for option in command.params if option.param_type_name == "option"]
            yield from (
                (name, option) for option in options if option != "--code"
            )  # tests/configuration/test_plugins.py


EFFECTS = {
    f"{command} {option}": effect
    for command, effects in TABLE.items()
    for option, effect in effects.items()
    if isinstance(effect, Effect)
}


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shapes are checked by other tests: it would take most of the time of these."""
    monkeypatch.setattr(shapes, "CALLS", 0)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """Runs commands in copies of a folder that was made under the same name."""
    folder = tmp_path_factory.mktemp("options") / FOLDER
    folder.mkdir()
    return Workshop(furnish(folder).rename(folder.with_name("furnished")), WATCHED)


def test_the_table_has_every_option_and_no_other() -> None:
    """A new option needs an entry: what it changes, or why that cannot be seen."""
    assert {(command, option) for command, effects in TABLE.items() for option in effects} == set(options())
    reasons = [effect.reason for effects in TABLE.values() for effect in effects.values() if isinstance(effect, Exempt)]
    assert all(reasons)


@pytest.mark.slow
@pytest.mark.parametrize("name", EFFECTS)
def test_the_value_of_an_option_changes_what_comes_out(name: str, workshop: Workshop) -> None:
    effect = EFFECTS[name]
    assert effect.value.startswith((name.rpartition(" ")[2], "--no-"))
    with_value, without = workshop.see(effect, effect.with_value), workshop.see(effect, effect.without)
    assert with_value != without
    if effect.has:
        assert effect.has in str(with_value)
        assert effect.has not in str(without)
    if effect.like:
        assert workshop.see(effect, effect.like) == with_value


@pytest.mark.slow
def test_without_another_value_nothing_else_comes_out(workshop: Workshop) -> None:
    """So that nothing but the values makes the difference."""
    commands = {effect.without for effect in EFFECTS.values() if isinstance(effect.seen, str)}
    first = {command.split()[0]: command for command in sorted(commands)}
    for words in first.values():
        before, again = workshop.done.get(tuple(shlex.split(words))) or workshop.run(words), workshop.run(words)
        assert again.outcome == before.outcome
        assert again.files == before.files

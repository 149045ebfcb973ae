"""The reference pages that `make docs` makes from the code: configuration, command line, Python interface."""

import inspect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import typer

import dragoman
from dragoman import nn
from dragoman.cli import app
from dragoman.cli.evaluate import EvaluateCommand
from dragoman.cli.options import PANEL_OF
from dragoman.configuration import components, sections, yaml_lines
from dragoman.configuration.config import Config
from dragoman.configuration.messages import type_text
from dragoman.training.checks import PARTS
from tools.settings import defined_keys, file_of
from tools.spec import PAGE, Row, read_rows

PAGES = ("configuration", "commands", "python", "modules")
VALUES = {"int": "N", "float": "X", "str": "TEXT", "path": "PATH"}  # of options that name no value
CITATIONS = "NT (74), CN 4 and the like are equations of [teaching texts](../literature.md)."


def write(folder: Path) -> None:
    """Write the pages to a folder."""
    folder.mkdir(exist_ok=True)
    for name, lines in zip(PAGES, (configuration(), commands(), python(), modules()), strict=True):
        text = "\n".join(lines) + "\n"
        path = folder / f"{name}.md"
        if not path.is_file() or path.read_text("utf-8") != text:  # an unchanged page is not built again
            path.write_text(text, encoding="utf-8")


def configuration() -> Iterator[str]:
    """Yield the lines of the page of the configuration: every key, and every kind of part with its options."""
    yield from ("# Configuration", "")
    yield "Every key of a configuration, with its type and default, and the kinds and options of parts. A part is"
    yield "named by its kind (`score: additive`), or by kind and options (`score: {kind: additive, size: 512}`)."
    yield "`dragoman init` writes a commented configuration for your files, and `dragoman debug config FILE` checks"
    yield f"one. Any key can be set on the command line (`--training.epochs 5`). {CITATIONS}"
    yield ""
    yield from _section(Config, ())


def _section(section: type[sections.Section], path: components.Path) -> Iterator[str]:
    inner = {name: kind for name, field in section.model_fields.items() if (kind := sections.find_section_type(field))}
    rows = [
        (f"[`{name}`](#{_anchor((*path, name))})" if (*path, name) in PARTS or name in inner else f"`{name}`",)
        + (
            "" if name in inner else type_text(field.annotation),
            _default(field, name in inner),
            _meaning(field.description or "", (*path, name)),
        )
        for name, field in section.model_fields.items()
    ]
    yield from _table(("key", "type", "default", "meaning"), rows)
    for name, field in section.model_fields.items():
        place = (*path, name)
        if name in inner:
            yield from (*_heading(place), inspect.getdoc(inner[name]) or "", "")
            yield from _section(inner[name], place)
        elif place in PARTS:
            yield from _parts(place, field.description or "", PARTS[place])


def _heading(place: components.Path) -> Iterator[str]:
    yield from ("", f"({_anchor(place)})=", f"{'#' * (len(place) + 1)} {components.dotted(place)}", "")


def _anchor(path: components.Path) -> str:
    return "key-" + "-".join(map(str, path)).replace("_", "-")


def _default(field: Any, is_section: bool) -> str:
    if field.is_required():
        return "required"
    return "" if is_section else f"`{yaml_lines.scalar(sections.tree(field.get_default(call_default_factory=True)))}`"


def _meaning(description: str, place: components.Path) -> str:
    links = "" if place in PARTS else _links(components.dotted(place))  # kinds have their own
    return f"{description} ({links})" if links else description


def _parts(place: components.Path, description: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the kinds that a key takes."""
    yield from (*_heading(place), f"{description[:1].upper()}{description[1:]}.", "")
    for kind, constructor in table.items():
        yield from (f"**`{kind}`**", "")
        parameters = components.option_parameters(constructor)
        yield from (_docstring(constructor, parameters) if kind != components.NONE else ["Disabled."])
        yield ""
        name = getattr(constructor, "__name__", "")
        if links := _links(f"{file_of(constructor)}: {name}", terms=True):
            yield from (f"Literature: {links}", "")
        rows = [
            (f"`{name}`", type_text(option.annotation))
            + ("required" if option.default is option.empty else f"`{yaml_lines.scalar(option.default)}`",)
            + (_links(components.dotted((*place, name))),)
            for name, option in parameters.items()
        ]
        if rows:
            columns = 4 if any(row[3] for row in rows) else 3
            header = ("option", "type", "default", "literature")
            yield from _table(header[:columns], (row[:columns] for row in rows))
            yield ""


def _docstring(constructor: Any, options: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a docstring, and the paragraphs of base classes about options that it does not name."""
    text = inspect.getdoc(constructor) or ""
    for base in inspect.getmro(constructor)[1:] if inspect.isclass(constructor) else ():
        for paragraph in inspect.cleandoc(vars(base).get("__doc__") or "").split("\n\n"):
            if any(explains(paragraph, name) and not explains(text, name) for name in options):
                text += f"\n\n{paragraph}"
    yield from text.splitlines()


def explains(text: str, option: str) -> bool:
    """Return whether a text names an option in code: in a span or in an indented formula."""
    code = re.findall(r"`([^`]+)`|^ {4}(.+)$", text, re.MULTILINE)
    return any(re.search(rf"\b{option}\b", span or formula) for span, formula in code)


@cache
def _literature() -> Mapping[str, list[Row]]:
    """Return the rows of docs/literature.md by the keys that they are about, and by `file: name` of their code."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in read_rows(PAGE.read_text("utf-8")):
        keys = [key for setting in row.settings for key in defined_keys(setting)]
        for name in dict.fromkeys([*keys, *(f"{home.file}: {name}" for home in row.homes for name in home.names)]):
            rows[name].append(row)
    return rows


def _links(name: str, terms: bool = False) -> str:
    """Return links to the rows of the literature for a key or for `file: name`, with their terms or by id alone."""
    return ", ".join(
        f"[{f'{row.id} {row.term}' if terms else row.id}](../literature.md#{row.id.lower()})"
        for row in _literature().get(name, ())
    )


def commands() -> Iterator[str]:
    """Yield the lines of the page of the commands: each with its arguments and options."""
    yield from ("# Command line", "", "All commands with their options, as `dragoman COMMAND --help` shows them.", "")
    program: Any = typer.main.get_command(app)
    for name in PANEL_OF:
        yield from _command(program.commands[name], f"dragoman {name}", 2)


def _command(command: Any, name: str, level: int) -> Iterator[str]:
    if isinstance(command, EvaluateCommand):
        command.complete_help()
    yield from (f"{'#' * level} {name}", "", inspect.cleandoc(command.help or ""), "")
    if command.epilog:
        yield from (command.epilog.replace("Example: ", "Example:\n\n```\n", 1) + "\n```", "")
    context = typer.Context(command)
    rows = (_parameter(parameter, context) for parameter in command.params)
    yield from _table(("argument or option", "default", "meaning"), rows)
    yield ""
    for part, below in getattr(command, "commands", {}).items():
        yield from _command(below, f"{name} {part}", level + 1)


def _parameter(parameter: Any, context: typer.Context) -> tuple[str, ...]:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar}`", "required" if parameter.required else "", parameter.help or ""
    value = "" if parameter.is_flag else f" {parameter.display_type_rich(context)}"
    value = re.sub("<(int|float|str|path)( range)?>", lambda kind: VALUES[kind[1]], value)
    names = ", ".join(f"`{name}{value}`" for name in [*parameter.opts, *parameter.secondary_opts])
    if limits := parameter._get_number_range_help_str():  # as typer's own help calls it
        names += f" (`{limits}`)"
    default = "" if parameter.is_flag or parameter.default in (None, "") else f"`{parameter.default}`"
    return names, "required" if parameter.required else default, parameter.help or ""


def python() -> Iterator[str]:
    """Yield the lines of the page of the Python interface."""
    yield from ("# Python API", "", "The names in `dragoman`. `dragoman.load` returns a translator:", "")
    yield from ("```python", "import dragoman", "", 'translator = dragoman.load("runs/demo/run")')
    yield from ('translation = translator.translate(["My teacher isn\'t reading the letter."])[0]',)
    yield from ("print(translation.text)", "```", "", "```{eval-rst}")
    for name in sorted(dragoman.__all__, key=str.lower):
        kind = "autoclass" if inspect.isclass(getattr(dragoman, name)) else "autofunction"
        yield f".. {kind}:: dragoman.{name}"
        if kind == "autoclass":
            inherited = "BaseException, Exception, tuple, BaseModel, Mapping, list"
            yield from ("   :members:", f"   :inherited-members: {inherited}", "   :exclude-members: model_config", "")
        yield ""
    yield "```"


def modules() -> Iterator[str]:
    """Yield the lines of the page of `dragoman.nn`: every class with its shapes."""
    yield from ("# Parts of models", "", inspect.getdoc(nn) or "", "", CITATIONS, "", "```{eval-rst}")
    for name in nn.__all__:
        kind = "autoclass" if inspect.isclass(getattr(nn, name)) else "autofunction"
        yield f".. {kind}:: dragoman.nn.{name}"
        if kind == "autoclass":
            yield from ("   :members:", "   :inherited-members: Module, ABC, Sequential, tuple", "")
        yield ""
    yield "```"


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    rows = list(rows)
    if rows:
        yield "| " + " | ".join(header) + " |"
        yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(cell.replace("\n", " ").replace("|", "\\|") for cell in row) + " |"

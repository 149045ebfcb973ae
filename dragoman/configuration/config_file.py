"""Read configurations from YAML files, and write them; all faults are reported at once, by file, line and key."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path as FilePath
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from dragoman.configuration import arguments, plugins, sections, yaml_lines
from dragoman.configuration.components import Path, Problem, dotted
from dragoman.configuration.config import Config
from dragoman.configuration.messages import shown
from dragoman.configuration.rules import contradictions, required, required_of_run
from dragoman.errors import UserError
from dragoman.files.reading import read_lines


class ConfigError(UserError):
    """All faults of a configuration, one per line."""


TITLE = "dragoman configuration"

Check = Callable[[Config], Iterable[Problem]]


def load(
    path: str | FilePath, overrides: Mapping[str, Any] = {}, checks: Sequence[Check] = (), *, of_run: bool = False
) -> Config:
    """Read a configuration from a YAML file (`-` is standard input). That `of_run` with weights needs no data.

    `overrides` sets dotted keys to values, a text as YAML; `checks` find problems that only higher layers can know.
    Raises ConfigError with all problems, UserError if the file cannot be read, or TypeError for what YAML cannot write.
    """
    document = yaml_lines.read("\n".join(read_lines(path)), "<stdin>" if str(path) == "-" else str(path))
    if document.value is None and document.faults:
        raise ConfigError(_format_problems(document, []))
    if not isinstance(document.value, dict | None):
        raise ConfigError(f"{document.name}:1: expected keys and values, found {shown(document.value)}")
    written = {key: value if isinstance(value, str) else _written(value, key) for key, value in overrides.items()}
    for key, text in sorted(written.items(), key=lambda item: item[0].count(".")):
        yaml_lines.override(document, key, text)
    values = {"data": {}, **(document.value or {})}
    config, problems, wrong = sections.validate(Config, values)
    unfit = {problem.path for problem in problems} | {fault.path for fault in document.faults}
    if unfit:
        config = sections.sound(Config, values, unfit)
    if config:
        executes = "code" in overrides or not (of_run or _is_of_run(FilePath(path)))
        problems += _load_code(config) if executes else []
        needed = required_of_run if of_run else required
        all_checks = [needed, *checks] if wrong else [needed, contradictions, *checks]
        problems += [problem for problem in _problems(config, all_checks) if not _within(problem.path, unfit)]
        problems = _drop_consequences(problems, unfit)
    if config is None or problems or document.faults:
        if config and not executes:
            problems += _unloaded_code(config)
        raise ConfigError(_format_problems(document, problems))
    return config


def _is_of_run(path: FilePath) -> bool:
    """Whether a configuration may come from somebody else: it is in a run folder, or a link into one."""
    return any(place.with_name("run.json").exists() for place in (path, path.resolve()))


def load_code(text: str) -> None:
    """Execute the files that an override of the key `code` names, as YAML. UserError if one fails."""
    value = yaml_lines.read(text, "--code").value
    plugins.load_code(map(str, value) if isinstance(value, list) else [text])


def _load_code(config: Config) -> list[Problem]:
    """Execute the code that a configuration names."""
    try:
        plugins.load_code(config.code)
    except UserError as error:
        return [Problem(("code",), str(error))]
    return []


def _unloaded_code(config: Config) -> list[Problem]:
    """Problems that may have other problems as a consequence: code that came with a run, and was not executed."""
    return [
        Problem(("code",), f"{file} was not executed, since this configuration is of a run; add --code {file}")
        for file in config.code
        if not plugins.is_loaded(file)
    ]


def _written(value: Any, key: str) -> str:
    """A plain value, Spec or section as YAML. TypeError, with the key, if it is something else."""
    return yaml_lines.scalar(_plain(sections.tree(value), key))


def _plain(value: Any, key: str) -> Any:
    """The values in this one as those of Python that YAML has: numbers of numpy and paths are none."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Real):
        return int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, FilePath):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(item, key) for item in value]
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _plain(item, key) for name, item in value.items()}
    raise arguments.unexpected(value, f"overrides: {key}", "text, numbers, true, false or null, lists or mappings")


def check(config: Config, checks: Sequence[Check], *, of_run: bool = False) -> None:
    """Check a configuration that was made in Python. That `of_run` with weights needs no data. Raises ConfigError with
    all its problems.
    """
    needed = required_of_run if of_run else required
    problems = _drop_consequences(_problems(config, [needed, contradictions, *checks]))
    if problems:
        raise ConfigError("\n".join(map(str, problems)))


def _problems(config: Config, checks: Sequence[Check]) -> list[Problem]:
    return [problem for check in checks for problem in check(config)]


def _drop_consequences(problems: list[Problem], unfit: Collection[Path] = ()) -> list[Problem]:
    """The problems without those from a comparison with a key that is wrong itself, or `unfit`."""
    invalid_paths = {*unfit, *(problem.path for problem in problems)}
    return [problem for problem in problems if not any(_is_wrong(path, invalid_paths) for path in problem.depends_on)]


def _is_wrong(path: Path, faults: set[Path]) -> bool:
    """Whether a value is wrong, a value that it is part of, or the kind of it or of one of its items."""
    kinds = {fault[:-1] for fault in faults if fault[-1:] == ("kind",)}
    items = {fault[:-1] for fault in kinds if fault and isinstance(fault[-1], int)}
    return _within(path, faults) or path in kinds | items


def _within(path: Path, paths: set[Path]) -> bool:
    return any(path[:length] in paths for length in range(len(path) + 1))


def _format_problems(document: yaml_lines.YamlDocument, problems: list[Problem]) -> str:
    """The message with a line for each fault and problem, in the order of the file, overrides last."""
    faults = list(document.faults)
    unread = {fault.path for fault in faults}
    for path, message, _ in problems:
        if path not in unread:
            existing = document.nearest(path)
            # In `score: dott`, the kind was written without a key `kind`.
            key = path[:-1] if path[-1:] == ("kind",) and path != existing else path
            faults.append(yaml_lines.YamlFault(document.places.get(existing, document.place(1)), key, message))
    lines = []
    for place, path, message in sorted(faults, key=lambda fault: fault.place):
        named = not path or place.text == f"--{dotted(path)}"
        lines.append(f"{place.text}: {message}" if named else f"{place.text}: {dotted(path)}: {message}")
    return "\n".join(lines)


def dump(config: Config) -> str:
    """The complete configuration as YAML; loading it gives an equal one."""
    return yaml_lines.write(sections.tree(config))


def commented(config: Config, tables: Mapping[Path, Mapping[str, Any]] = {}) -> str:
    """The complete configuration as YAML, with comments that explain each key and list its kinds in `tables`."""
    plugins.load_installed()
    return yaml_lines.write(sections.tree(config), dict(sections.notes(Config, tables)))


def schema(tables: Mapping[Path, Mapping[str, Any]] = {}) -> str:
    """The JSON schema of a configuration, with the kinds in `tables`, for editors that complete and check YAML."""
    plugins.load_installed()
    json_schema = {"$schema": GenerateJsonSchema.schema_dialect, **sections.schema(Config, tables), "title": TITLE}
    return json.dumps(json_schema, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

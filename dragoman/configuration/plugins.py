"""Parts from outside the package: of Python files that a user names, and of installed packages.

Such a file or module has a mapping `PARTS`, from the names in TABLES to parts by kind:
`PARTS = {"score": {"distance": DistanceScore}}`.
"""

import hashlib
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, Final, NamedTuple

from dragoman.errors import UserError, describe
from dragoman.files.reading import existing

GROUP: Final = "dragoman.parts"  # of the entry points of packages
TABLES: Final[Mapping[str, str]] = {  # the module, the table and the class of its parts, imported when needed
    "score": "dragoman.model.attention.scores:SCORES:AlignmentScore",
    "normalizer": "dragoman.model.attention.normalizers:NORMALIZERS:AttentionNormalizer",
    "window": "dragoman.model.attention.windows:WINDOWS:Reach",
    "term": "dragoman.model.attention.terms.table:TERMS:AttentionTerm",
    "combination": "dragoman.model.attention.sources.table:COMBINATIONS:Combination",
    "cell": "dragoman.model.recurrent:CELLS:Cell",
    "embedding": "dragoman.model.embedding:EMBEDDINGS:Embedding",
    "encoder": "dragoman.model.encoder.table:ENCODERS:Encoder",
    "decoder": "dragoman.model.decoder.table:DECODERS:Decoder",
    "bridge": "dragoman.model.bridge:BRIDGES:Bridge",
    "output": "dragoman.model.output.table:OUTPUTS:Output",
    "search": "dragoman.search.table:SEARCHES:Search",
    "transform": "dragoman.translation.transforms.transform_order:TRANSFORMS:TextTransform",
    "constraint": "dragoman.search.constraints:CONSTRAINTS:Constraint",
    "objective": "dragoman.training.objectives.table:OBJECTIVES:Objective",
    "penalty": "dragoman.training.objectives.penalties:PENALTIES:Penalty",
    "consistency": "dragoman.training.objectives.consistency:CONSISTENCIES:Consistency",
    "schedule": "dragoman.training.optimizer:SCHEDULES:Schedule",
    "metric": "dragoman.evaluation.metrics.table:METRICS:Metric",
    "tokenizer": "dragoman.text.words:TOKENIZERS:Tokenizer",
}


class MissingPartError(UserError):
    """A run needs a part of a plug-in that is not there."""


class Plugin(NamedTuple):
    """A file of code, with its text and SHA-256, or a package with its version; and its parts, as `score:distance`."""

    name: str
    parts: tuple[str, ...]
    version: str = ""
    path: Path | None = None
    text: bytes = b""
    sha256: str = ""

    def __str__(self) -> str:
        return f"{self.name} {self.version}".rstrip()

    @property
    def file(self) -> str:
        """The name of its copy in a run folder."""
        return f"code.{self.name.removeprefix('code.')}"

    @property
    def record(self) -> dict[str, Any]:
        """What `run.json` records of it."""
        origin = {"file": self.file, "sha256": self.sha256} if self.path else {"package": self.name}
        return {**origin, **({"version": self.version} if self.version else {}), "parts": list(self.parts)}


_loaded: dict[str, Plugin] = {}  # by the path of a file, or the name of an entry point


def loaded() -> list[Plugin]:
    """Return the plug-ins whose parts are in the tables, in the order of loading."""
    return list(_loaded.values())


def load_code(files: Iterable[str | Path]) -> None:
    """Execute these files, and add their parts to the tables; a file that was executed already is skipped unless it has
    changed. UserError if a file is missing, fails, or has no valid PARTS.
    """
    for file in files:
        path = existing(file).resolve()
        if not path.is_file():
            raise UserError(f"{file}: no such file")
        text = path.read_bytes()
        digest = hashlib.sha256(text).hexdigest()
        if digest in {plugin.sha256 for plugin in _loaded.values()}:
            continue
        module = ModuleType(f"dragoman_code_{digest[:16]}", None)
        module.__file__ = str(path)
        sys.modules[module.__name__] = module  # type hints and pickles look modules up by name
        try:
            exec(compile(text, str(path), "exec"), vars(module))
        except Exception as error:
            raise UserError(_failure(str(file), str(path), error)) from error
        parts = _checked(vars(module).get("PARTS"), str(file), _loaded.get(str(path)))
        _add(str(path), Plugin(path.name, tuple(parts), "", path, text, digest), parts)


def is_loaded(file: str | Path) -> bool:
    """Return whether this file was executed."""
    return str(existing(file).resolve()) in _loaded


def load_installed() -> None:
    """Add the parts of installed packages, those of their entry points `dragoman.parts`, to the tables. UserError that
    names the package if one fails.
    """
    for entry in entry_points(group=GROUP):
        name, version = (entry.dist.name, entry.dist.version) if entry.dist else (entry.name, "")
        if (key := f"{name}:{entry.name}") not in _loaded:
            parts = _checked(_load_entry(entry, f"{name} {version}"), f"{name} {version}")
            _add(key, Plugin(name, tuple(parts), version), parts)


def _load_entry(entry: EntryPoint, place: str) -> Any:
    try:
        value = entry.load()
    except Exception as error:
        raise UserError(
            f"{place}: the plug-in cannot be imported: {type(error).__name__}: {describe(error)}"
        ) from error
    return vars(value).get("PARTS") if isinstance(value, ModuleType) else value


def _failure(place: str, path: str, error: Exception) -> str:
    """The place in the code where it failed, and why."""
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == path]
    line = error.lineno if isinstance(error, SyntaxError) else next(reversed(lines), None)
    return f"{place}{f':{line}' if line else ''}: {type(error).__name__}: {describe(error)}"


def _checked(tables: Any, place: str, before: Plugin | None = None) -> dict[str, Any]:
    """The parts of PARTS by their names, such as `score:distance`. UserError if one cannot be added to its table."""
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        raise UserError(f'{place}: expected a mapping PARTS, such as PARTS = {{"score": {{"mine": MyScore}}}}')
    parts: dict[str, Any] = {}
    for table, kinds in tables.items():
        if table not in TABLES:
            raise UserError(f"{place}: PARTS: unknown table '{table}'; expected one of {', '.join(TABLES)}")
        base, present = base_of(table), table_of(table)
        for kind, part in kinds.items():
            name = f"{table}:{kind}"
            if not (isinstance(part, type) and issubclass(part, base)):
                raise UserError(f"{place}: PARTS: {name}: expected a subclass of {base.__module__}.{base.__name__}")
            if kind in present and not (before and name in before.parts):
                raise UserError(f"{place}: PARTS: {name}: there is a part of this name already")
            parts[name] = part
    return parts


def _add(key: str, plugin: Plugin, parts: Mapping[str, Any]) -> None:
    for name in _loaded[key].parts if key in _loaded else ():
        table, _, kind = name.partition(":")
        table_of(table).pop(kind, None)
    for name, part in parts.items():
        table, _, kind = name.partition(":")
        table_of(table)[kind] = part
    _loaded[key] = plugin


def table_of(name: str) -> dict[str, Any]:
    """Return a table by its name in TABLES."""
    module, table, _ = TABLES[name].split(":")
    parts: dict[str, Any] = getattr(import_module(module), table)
    return parts


def base_of(name: str) -> type:
    """Return the base class of the parts in a table."""
    module, _, base = TABLES[name].split(":")
    kind: type = getattr(import_module(module), base)
    return kind


def used(names: Collection[str]) -> Iterator[Plugin]:
    """Yield the loaded plug-ins with a part whose kind is among these names of a configuration."""
    for plugin in _loaded.values():
        if any(part.partition(":")[2] in names for part in plugin.parts):
            yield plugin


def require(run: Path, records: Any, names: Collection[str]) -> None:
    """Check that the parts that a run names, of the plug-ins that its `run.json` records, are in the tables. A package
    is imported for that; code that came with a run is not executed. MissingPartError that says what is missing, and how
    to give it.
    """
    for record in records if isinstance(records, list) else ():
        match record:
            case {"parts": [*parts], "file": str(file), "sha256": str(digest)}:
                same = digest in {plugin.sha256 for plugin in _loaded.values()}
                needed = [part for part in _named(parts, names) if not (same or _of_package(part))]
                if needed:
                    owners = [str(plugin.path) for plugin in _loaded.values() if {*needed} & {*plugin.parts}]
                    why = f"{owners[0]} differs from it" if owners else "it is not executed unless you name it"
                    raise MissingPartError(
                        f"{run}: needs {' and '.join(needed)} of {file}, code that came with the run; {why}: "
                        f"read it, then add --code {run / file} (in Python, code=[...])"
                    )
            case {"parts": [*parts], "package": str(package)}:
                needed = _named(parts, names)
                if needed:
                    load_installed()
                if missing := [part for part in needed if not _is_there(part)]:
                    version = record.get("version", "")
                    raise MissingPartError(
                        f"{run}: needs {' and '.join(missing)} of the package {package} {version}, which is not "
                        "installed or does not have it; install that version"
                    )


def describe_record(record: Any) -> str:
    """Return what `run.json` records of a plug-in in words."""
    match record:
        case {"file": str(file), "sha256": str(digest)}:
            return f"{file} (SHA-256 {digest})"
        case {"package": str(package)}:
            return f"{package} {record.get('version', '')}".rstrip()
    return "unknown"


def _named(parts: Iterable[Any], names: Collection[str]) -> list[str]:
    return [part for part in map(str, parts) if part.partition(":")[2] in names]


def _is_there(part: str) -> bool:
    table, _, kind = part.partition(":")
    return table in TABLES and kind in table_of(table)


def _of_package(part: str) -> bool:
    """Whether an installed package has this part, in the place of the file that had it before."""
    load_installed()
    return any(part in plugin.parts for plugin in _loaded.values() if plugin.path is None)

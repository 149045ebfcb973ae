"""Parts that the configuration names: kind and options, checked against the constructor's signature.

A table maps kinds to constructors. A constructor's positional parameters are supplied by the code that builds the part;
its keyword-only parameters, with their type hints and defaults, are the options that a user may write.
"""

import inspect
import json
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from dragoman.configuration import arguments, plugins, yaml_lines
from dragoman.configuration.messages import explain, nearest, shown, type_text
from dragoman.errors import UserError

Part = TypeVar("Part")
Path: TypeAlias = yaml_lines.Path

NONE = "none"  # the kind that stands for no part


class OneOf:
    """`Annotated[str, OneOf(TABLE)]` is the type of a name in a table; names may be added to the table later."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._table = table

    @property
    def choices(self) -> list[str]:
        return list(self._table)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(core_schema.literal_schema(self.choices))

    def _checked(self, value: object) -> object:
        if isinstance(value, str) and has_kind(self._table, value):
            return value
        raise PydanticKnownError("literal_error", {"expected": ", ".join(self.choices)})


def has_kind(table: Mapping[str, Any], kind: str) -> bool:
    """Whether a table has this kind, if need be after the parts of installed packages were added to the tables."""
    if kind not in table:
        plugins.load_installed()
    return kind in table


class Problem(NamedTuple):
    """A problem of a configuration, and the path of keys that leads to it. A problem that depends on other keys,
    `depends_on`, is not reported if one of these keys, or a value that contains it, is itself invalid.
    """

    path: Path
    message: str
    depends_on: tuple[Path, ...] = ()

    def __str__(self) -> str:
        return f"{dotted(self.path)}: {self.message}" if self.path else self.message


def dotted(path: Path) -> str:
    """The keys as a user writes them: `model.attention.score`."""
    return ".".join(map(str, path))


class ComponentOptions(Mapping[str, Any]):
    """An immutable mapping that compares and hashes by value; its lists become tuples."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = {name: freeze(value) for name, value in values.items()}

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return repr(self._values)


@dataclass(frozen=True)
class Spec:
    """The kind of a part and its options; in YAML `additive` or `{kind: additive, size: 512}`."""

    expected: ClassVar[str] = "a kind or a mapping with 'kind'"

    kind: str
    options: Mapping[str, Any] = ComponentOptions({})

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", ComponentOptions(self.options))

    @property
    def is_absent(self) -> bool:
        """Whether the kind is `none`, which every table of optional parts has."""
        return self.kind == NONE

    def __str__(self) -> str:
        return self.kind + "".join(f" {name}={value}" for name, value in self.options.items() if value is not None)

    @classmethod
    def parse(cls, value: Any) -> "Spec":
        """The Spec that a plain value describes. ValueError if the value is invalid."""
        if isinstance(value, Spec):
            return value
        if isinstance(value, str):
            return cls(value)
        if not isinstance(value, Mapping) or not isinstance(value.get("kind"), str):
            text = f"expected {cls.expected}, found {shown(value)}"
            raise PydanticCustomError("spec", "{text}", {"text": text})
        return cls(value["kind"], {name: option for name, option in value.items() if name != "kind"})

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.parse,
            serialization=core_schema.plain_serializer_function_ser_schema(plain),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        kind = {"type": "string", "description": "kind of the component"}
        described = {"description": "kind and options of the component", "properties": {"kind": kind}}
        return {"anyOf": [kind, {"type": "object", **described, "required": ["kind"]}]}


def freeze(value: Any) -> Any:
    """Convert lists to tuples, and mappings to ComponentOptions, or to Specs if they name a kind."""
    if isinstance(value, (list, tuple)):
        return tuple(freeze(item) for item in value)
    if isinstance(value, Mapping) and not isinstance(value, ComponentOptions):
        return Spec.parse(value) if isinstance(value.get("kind"), str) else ComponentOptions(value)
    return value


def plain(value: Any) -> Any:
    """The inverse of `freeze`: plain values for JSON and YAML. A Spec becomes a mapping with `kind` first."""
    if isinstance(value, Spec):
        return {"kind": value.kind, **plain(value.options)}
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def build(table: Mapping[str, Callable[..., Part]], spec: Spec, *parts: Any) -> Part:
    """Build the part that `spec` names from `parts` and its options. UserError if the kind or an option is invalid."""
    keywords, problems = _checked(table, spec, ())
    if problems:
        raise UserError("; ".join(str(problem) for problem in problems))
    return table[spec.kind](*parts, **keywords)


def read(table: Mapping[str, Callable[..., Any]], part: str | Mapping[str, Any] | Spec, path: Path = ()) -> Spec:
    """The Spec of a part that is given as its kind, as YAML such as `{kind: sample, top_p: 0.9}`, as a mapping like
    that, or as a Spec. `path` is the key or argument for which it is given. UserError if there is no such part,
    TypeError for any other type.
    """
    spec = _named(part) if isinstance(part, str) else _described(part, path)
    problems = find_problems(table, spec, path)
    if problems:
        relocated = (
            problem._replace(path=path) if problem.path == (*path, "kind") else problem for problem in problems
        )
        raise UserError("; ".join(map(str, relocated)))
    return spec


def _named(text: str) -> Spec:
    document = yaml_lines.read(text, "option")
    value = text if document.faults else document.value
    return Spec.parse(value) if isinstance(value, dict) and isinstance(value.get("kind"), str) else Spec(text)


def _described(part: Mapping[str, Any] | Spec, path: Path) -> Spec:
    arguments.checked(part, dotted(path) or "part", str, Mapping, Spec)
    try:
        return Spec.parse(part)
    except PydanticCustomError as error:
        raise UserError(str(Problem(path, error.message()))) from None


def find_problems(table: Mapping[str, Callable[..., Any]], spec: Spec, path: Path) -> list[Problem]:
    """The problems of the `spec` at `path`: an unknown kind, or otherwise those of its options."""
    return _checked(table, spec, path)[1]


def options(constructor: Callable[..., Any]) -> list[str]:
    """The names of a part's options."""
    return list(option_parameters(constructor))


def complete(table: Mapping[str, Callable[..., Any]], spec: Spec) -> Spec:
    """The same Spec with all options explicit, in the constructor's order; an invalid Spec is returned unchanged."""
    keywords, problems = _checked(table, spec, ())
    return spec if problems else Spec(spec.kind, keywords)


def _checked(table: Mapping[str, Callable[..., Any]], spec: Spec, path: Path) -> tuple[dict[str, Any], list[Problem]]:
    """Every option of the `spec` at `path`, explicit or by default, as the constructor takes it, and the problems."""
    if not has_kind(table, spec.kind):
        hint = nearest(spec.kind, table) if table else "no plug-in has one"
        return {}, [Problem((*path, "kind"), f"unknown kind '{spec.kind}', {hint}")]
    parameters = option_parameters(table[spec.kind])
    keywords = {name: parameter.default for name, parameter in parameters.items()}
    problems: list[Problem] = []
    for name, value in spec.options.items():
        if name not in parameters:
            hint = nearest(name, parameters) if parameters else f"'{spec.kind}' has no options"
            problems.append(Problem((*path, name), f"unknown key, {hint}"))
        else:
            keywords[name], messages = _validated(
                _validator(table[spec.kind], name), parameters[name].annotation, value
            )
            problems += (Problem((*path, name), message) for message in messages)
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in spec.options:
            problems.append(Problem((*path, name), f"required: {type_text(parameter.annotation)}"))
    return keywords, problems


@cache  # a search is built, and its options are checked, at each call that names one
def option_parameters(constructor: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """The keyword-only parameters with evaluated annotations (those of other parameters may not be importable)."""
    parameters = inspect.signature(constructor).parameters.values()
    keyword_only = {parameter.name: parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY}
    function = inspect.unwrap(_initializer(constructor) if inspect.isclass(constructor) else constructor)
    holder = types.SimpleNamespace(
        __annotations__={
            name: Any if parameter.annotation is parameter.empty else parameter.annotation
            for name, parameter in keyword_only.items()
        }
    )
    namespace = getattr(function, "__globals__", {})
    hints = typing.get_type_hints(holder, globalns=namespace, include_extras=True)
    return {name: parameter.replace(annotation=hints[name]) for name, parameter in keyword_only.items()}


@cache
def _validator(constructor: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The validator of a parameter's value as JSON. Cached: building it takes longer than a step of a search."""
    return TypeAdapter(option_parameters(constructor)[name].annotation).validate_json


def _initializer(part: type) -> Any:
    """The `__init__` of a class, its own or the nearest inherited one."""
    return next(vars(base)["__init__"] for base in part.__mro__ if "__init__" in vars(base))


def _validated(validate: Callable[..., Any], annotation: Any, value: Any) -> tuple[Any, list[str]]:
    """The value as the constructor takes it, and no messages; or None, and messages that say why it is invalid.

    pydantic's strict JSON mode has the rules that suit YAML: neither true nor "3" is a number, 1 is also a float, and a
    list is also a tuple. NaN and infinity are invalid.
    """
    try:
        text = json.dumps(plain(value), allow_nan=False)
        return validate(text, strict=True), []
    except ValidationError as error:
        return None, explain(error.errors(), annotation, value)
    except (TypeError, ValueError):
        return None, explain([], annotation, value)

"""Typed sections of a configuration: read from plain values with clear messages for faults, and converted back."""

import copy
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema, ErrorDetails

from dragoman.configuration import components
from dragoman.configuration.components import Path, Problem, Spec, complete, plain
from dragoman.configuration.messages import explain, nearest, shown
from dragoman.configuration.synonyms import own_name, place


class Section(BaseModel):
    """A typed mapping. A null section has all defaults, and a part without `kind` has the default kind."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        return {name: cls._with_default(name, value) for name, value in values.items()}

    @classmethod
    def _with_default(cls, name: str, value: Any) -> Any:
        field = cls.model_fields.get(name)
        if field is None:
            return value
        if value is None and find_section_type(field):
            return {}
        if isinstance(value, Mapping) and isinstance(field.default, Spec) and "kind" not in value:
            return {"kind": field.default.kind, **value}
        return tuple(value) if isinstance(value, list) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        json_schema = handler(schema)
        keys = handler.resolve_ref_schema(json_schema)["properties"]
        for name, field in cls.model_fields.items():
            if find_section_type(field):
                keys[name] = {"anyOf": [{"$ref": keys[name].pop("$ref")}, {"type": "null"}], **keys[name]}
            elif isinstance(field.default, Spec):
                for way in keys[name]["anyOf"]:
                    way.pop("required", None)  # the default's kind
        return json_schema

    @classmethod
    def model_json_schema(cls, *arguments: Any, **options: Any) -> dict[str, Any]:
        """The JSON schema for editors, with defaults written as in YAML."""
        return super().model_json_schema(*arguments, **{"schema_generator": _JsonSchema, **options})


class _JsonSchema(GenerateJsonSchema):
    def encode_default(self, dft: Any) -> Any:
        return tree(dft)


Tree = TypeVar("Tree", bound=Section)


def find_section_type(field: FieldInfo) -> type[Section] | None:
    """Return the type of the section at a key, if it is one."""
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None


def _item(field: FieldInfo) -> type[Section] | None:
    """The type of the sections in the list at a key, if it is a list of sections."""
    kinds = typing.get_args(field.annotation)
    return kinds[0] if kinds and isinstance(kinds[0], type) and issubclass(kinds[0], Section) else None


def _holder(root: type[Section], path: Path) -> tuple[type[Section], Path]:
    """The type of the innermost section on a path, and the rest of the path from a key of this section on."""
    length = 0
    while length < len(path) - 1:
        field = root.model_fields.get(str(path[length]))
        inner, item = (field and find_section_type(field)), (field and _item(field))
        below = length + (1 if inner else 2)  # skips the index of an item
        if not (inner or item) or below >= len(path):
            return root, path[length:]
        root, length = inner or item or root, below
    return root, path[-1:]


def keys_of(root: type[Section], prefix: str = "") -> Iterator[str]:
    """Yield the dotted keys of a section, and those of the sections in it."""
    for name, field in root.model_fields.items():
        yield f"{prefix}{name}"
        if inner := find_section_type(field):
            yield from keys_of(inner, f"{prefix}{name}.")


def validate(root: type[Tree], values: Mapping[str, Any]) -> tuple[Tree | None, list[Problem], bool]:
    """Validate values as a section. Return it, or None with its problems, and whether one is not an unknown key."""
    try:
        return root.model_validate(values, strict=True), [], False
    except ValidationError as error:
        groups: dict[Path, list[ErrorDetails]] = {}
        for error_details in error.errors():
            below = len(_holder(root, error_details["loc"])[1]) - 1  # indices of a list, names of types
            groups.setdefault(error_details["loc"][: len(error_details["loc"]) - below], []).append(error_details)
        problems = [
            Problem(path, text)
            for path, errors in groups.items()
            for text in _error_texts(root, path, errors, _value(values, path))
        ]
        return None, problems, any(error_details["type"] != "extra_forbidden" for error_details in error.errors())


def _value(values: Any, path: Path) -> Any:
    for name in path:
        if isinstance(values, list | tuple) and isinstance(name, int):
            values = values[name]
        else:
            values = values.get(name) if isinstance(values, Mapping) else None
    return values


def _error_texts(root: type[Section], path: Path, errors: list[ErrorDetails], value: Any) -> list[str]:
    """The messages for the errors at one key."""
    section, (name, *_) = _holder(root, path)
    field = section.model_fields.get(str(name))
    if field is None:
        synonym = own_name(str(name), section.model_fields)
        elsewhere = None if synonym else place(str(name), list(keys_of(root)))
        hint = f"did you mean '{elsewhere}'?" if elsewhere else nearest(str(name), section.model_fields)
        return [f"unknown key, {hint}"]
    if errors[0]["type"] == "missing":
        return [f"required: {field.description}"]
    inner = find_section_type(field)
    if inner is not None:
        return [f"expected the keys {', '.join(inner.model_fields)}; found {shown(value)}"]
    return explain(errors, field.annotation, value)


UNKNOWN = "?"  # placeholder for a required text


def sound(root: type[Tree], values: Mapping[str, Any], unfit: Iterable[Path]) -> Tree | None:
    """The section without the values at the unfit paths, for checks of the others; None if it is still invalid."""
    rest = copy.deepcopy(dict(values))
    for path in unfit:
        section, (name, *_) = _holder(root, path)
        holder: Any = rest
        for key in path[:-1]:
            if isinstance(holder, list):
                holder = holder[int(key)]
                continue
            inner = holder.get(str(key))
            holder[str(key)] = holder = inner if isinstance(inner, dict | list) else {}
        field = section.model_fields.get(str(name))
        holder.pop(str(path[-1]), None)
        if field is not None and field.is_required():
            holder[str(name)] = UNKNOWN
        elif field is not None and (item := _item(field)):
            needed = [key for key, inner_field in item.model_fields.items() if inner_field.is_required()]
            holder[str(name)] = [dict.fromkeys(needed, UNKNOWN)]
    try:
        return root.model_validate(rest, strict=True)
    except ValidationError:
        return None


def tree(value: Any) -> Any:
    """All values of a section as plain values for YAML, in the order of its fields."""
    if isinstance(value, Section):
        return {name: tree(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, tuple):
        return [tree(item) for item in value]
    return value.kind if isinstance(value, Spec) and not value.options else plain(value)


def texts(section: Section) -> set[str]:
    """All texts among the values of a section and of those in it, such as the kinds of parts, also of inner ones."""

    def within(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
            yield from within(item)

    return set(within(tree(section)))


def changed_values(section: Section) -> dict[str, Any]:
    """The values of a section that differ from the defaults, as plain values; inner sections with theirs alone."""
    changed: dict[str, Any] = {}
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if value != field.get_default(call_default_factory=True):
            changed[name] = changed_values(value) if isinstance(value, Section) else tree(value)
    return changed


def at(section: Section, path: Path) -> Any:
    """The value at a path."""
    value: Any = section
    for name in path:
        value = getattr(value, str(name))
    return value


def replaced(section: Tree, path: Path, new: Any) -> Tree:
    """The same section with another value at a path."""
    name, *below = map(str, path)
    if below:
        new = replaced(getattr(section, name), tuple(below), new)
    return section.model_copy(update={name: new})


def specs(section: Section, path: Path) -> dict[Path, Spec]:
    """The Specs at a path, one or a list of them, each by its own path."""
    value = at(section, path)
    return {path: value} if isinstance(value, Spec) else {(*path, n): spec for n, spec in enumerate(value)}


def part_problems(section: Section, tables: Mapping[Path, Mapping[str, Any]], prefix: Path = ()) -> list[Problem]:
    """Unknown kinds, unknown options and values of the wrong type; `prefix` is the path of the section."""
    return [
        problem
        for path, table in tables.items()
        for place, spec in specs(section, path).items()
        for problem in components.find_problems(table, spec, (*prefix, *place))
    ]


def completed(section: Tree, tables: Mapping[Path, Mapping[str, Any]]) -> Tree:
    """The same section with explicit options for the parts at these paths; `tables` map kinds to constructors."""
    for path, table in tables.items():
        full = [complete(table, spec) for spec in specs(section, path).values()]
        section = replaced(section, path, full[0] if isinstance(at(section, path), Spec) else tuple(full))
    return section


Tables = Mapping[Path, Mapping[str, Any]]  # tables of parts, by the path at which a part or a list of parts is named


def notes(
    root: type[Section], tables: Mapping[Path, Mapping[str, Any]] = {}, path: Path = ()
) -> Iterator[tuple[Path, str]]:
    """Yield the path of each key with its description, and with the kinds of parts it takes if they are in `tables`."""
    for name, field in root.model_fields.items():
        place = (*path, name)
        kinds = f": {', '.join(tables[place])}" if tables.get(place) else ""
        yield place, f"{field.description}{kinds}"
        inner = find_section_type(field)
        if inner is not None:
            yield from notes(inner, tables, place)


def schema(root: type[Section], tables: Tables) -> dict[str, Any]:
    """The JSON schema with the kinds of parts in its descriptions."""
    json_schema = root.model_json_schema()
    for path, note in notes(root, tables):
        keys = json_schema["properties"]
        for name in path[:-1]:
            section = keys[name]["anyOf"][0]["$ref"].rpartition("/")[2]
            keys = json_schema["$defs"][section]["properties"]
        keys[path[-1]]["description"] = note
    return json_schema


def differences(one: Section, other: Section, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of the keys, in these or inner sections, at which two sections of the same type differ."""
    for name in type(one).model_fields:
        here, there = getattr(one, name), getattr(other, name)
        if isinstance(here, Section):
            yield from differences(here, there, (*path, name))
        elif here != there:
            yield (*path, name)

"""Options of other programs' models, by name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.errors import UserError

MOST = 10_000_000  # a larger number is none of a model


class ForeignOptions:
    """Options of a file, or those of a section of it, whose name is `prefix`."""

    def __init__(self, path: Path, values: Mapping[str, Any], prefix: str = "") -> None:
        self.path, self.values, self.prefix = path, values, prefix

    def refuse(self, key: str, expected: str) -> UserError:
        """The error for a value."""
        return UserError(
            f"{self.path}: {self.prefix}{key}: expected {expected}, found {str(self.values.get(key))[:60]}"
        )

    def section(self, key: str) -> "ForeignOptions":
        """The options below a key; none if it is missing."""
        values = self.values.get(key, {})
        if not isinstance(values, Mapping):
            raise self.refuse(key, "keys and values")
        return ForeignOptions(self.path, values, f"{self.prefix}{key}.")

    def choice(self, key: str, values: Sequence[str], default: str | None = None) -> str:
        """One of these values."""
        value = self.values.get(key, default)
        if value not in values:
            raise self.refuse(key, " or ".join(values))
        return str(value)

    def number(self, *keys: str, least: int = 1, default: int | None = None) -> int:
        """A number, of the first of these keys that is there."""
        key = next((name for name in keys if self.values.get(name) is not None), keys[0])
        value = self.values.get(key)
        value = default if value is None else value
        if type(value) is not int or not least <= value < MOST:
            raise self.refuse(key, f"a number of at least {least}")
        return value

    def text(self, key: str, default: str) -> str:
        """A text."""
        value = self.values.get(key)
        if not isinstance(value, str | None):
            raise self.refuse(key, "text")
        return value or default

    def flag(self, key: str, default: bool) -> bool:
        """True or false; `default` if the key is missing."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.refuse(key, "true or false")
        return value

    def expect(self, values: Mapping[str, Any]) -> None:
        """UserError unless these keys have these values, where they are there."""
        for key, value in values.items():
            if (actual := self.values.get(key, value)) is not None and actual != value:
                raise self.refuse(key, str(value).lower())

"""Symbols that no text spells."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Mark:
    """A symbol that no text spells, such as an edit operation or the language to translate to.

    It never equals a string, so a text that contains its name is not mistaken for it.
    """

    name: str

    def __str__(self) -> str:
        return self.name


Symbol: TypeAlias = str | Mark

"""Symbols that no text spells."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Mark:
    """A symbol with a meaning of its own, such as an edit operation or the language to translate to.

    It is never equal to a string, so a text that spells its name is only a text.
    """

    name: str

    def __str__(self) -> str:
        return self.name


Symbol: TypeAlias = str | Mark

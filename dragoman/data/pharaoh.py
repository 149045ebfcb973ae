"""Word alignments as Pharaoh lines, `0-0 1-2`: written, read, and checked against their sentences."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, TypeAlias

from dragoman.errors import UserError
from dragoman.files import read_lines

Link: TypeAlias = tuple[int, int]  # (source word, target word), both counted from 0
Links: TypeAlias = frozenset[Link]

_LINK = re.compile(r"([0-9]{1,9})([-?])([0-9]{1,9})", re.ASCII)


class Gold(NamedTuple):
    """What a person marked for one sentence pair. A sure link is a possible one too (S is a part of P).

    `where` is the file and line that it was read from.
    """

    sure: Links
    possible: Links
    where: str = "alignment"

    def check(self, source: int, target: int) -> None:
        """UserError where a link lies beyond a sentence pair of so many words."""
        beyond = sorted((s, t) for s, t in self.possible if s >= source or t >= target)
        if beyond:
            raise UserError(
                f"{self.where}: the link {pharaoh(beyond[:1])} lies beyond the sentence pair, which has {source} and "
                f"{target} words (counted from 0)"
            )


def pharaoh(found: Iterable[Link]) -> str:
    """The links as one line such as `0-0 1-2`: source word, target word, in that order."""
    return " ".join(f"{source}-{target}" for source, target in sorted(found))


def read_pharaoh(line: str, where: str = "alignment") -> Gold:
    """The links of a Pharaoh line; `1-2` is a sure link and `1?2` one that is merely possible.

    Raises UserError for anything else, naming `where` (a file and line) and the piece.
    """
    sure, possible = set(), set()
    for piece in line.split():
        match = _LINK.fullmatch(piece)
        if match is None:
            raise UserError(f"{where}: '{piece}' is not a link, expected SOURCE-TARGET such as 0-1, or 0?1 if possible")
        link = (int(match[1]), int(match[3]))
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible), where)


def read_gold(path: str | Path) -> list[Gold]:
    """The gold links of each sentence pair in a file of Pharaoh lines."""
    return [read_pharaoh(line, f"{path}:{number}") for number, line in enumerate(read_lines(path), start=1)]

"""Read, write and check word alignments in Pharaoh format, one line such as `0-0 1-2` for each sentence pair."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from dragoman.errors import UserError
from dragoman.files.reading import LONGEST_TEXT, read_lines, shown

Link: TypeAlias = tuple[int, int]  # (source word, target word), both counted from 0
Links: TypeAlias = frozenset[Link]

FEW = 10  # as many gold links may well leave out every first word

_LINK = re.compile(r"([0-9]{1,9})([-?p])([0-9]{1,9})", re.ASCII)


class Gold(NamedTuple):
    """The gold links of one sentence pair. A sure link is also a possible one (S is a subset of P).

    Words are counted from 0. `where` is the file and line that the links were read from, which counts words from
    `first`.
    """

    sure: Links
    possible: Links
    where: str = "alignment"
    first: int = 0

    def check(self, source: int, target: int) -> None:
        """Raise UserError if a link lies beyond a sentence pair with these numbers of words."""
        beyond = sorted((s, t) for s, t in self.possible if s >= source or t >= target)
        if beyond:
            link = pharaoh((s + self.first, t + self.first) for s, t in beyond[:1])
            raise UserError(
                f"{self.where}: the link {link} is out of range for the sentence pair, which has {source} and "
                f"{target} words (counted from {self.first})"
            )

    def __str__(self) -> str:
        """The links as the Pharaoh line that `read_pharaoh` reads."""
        links = sorted(self.possible)
        return " ".join(f"{s}{'-' if (s, t) in self.sure else '?'}{t}" for s, t in links)


def pharaoh(links: Iterable[Link]) -> str:
    """The links as a Pharaoh line such as `0-0 1-2`, each as source word and target word."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def read_pharaoh(line: str, where: str = "alignment", *, one_based: bool = False) -> Gold:
    """Read the links of a Pharaoh line: `1-2` is a sure link, `1?2` and `1p2` are merely possible ones. Words are
    counted from 0, or from 1 with `one_based`.

    Raises a UserError that names `where` (a file and line) and the piece if the line contains anything else.
    """
    sure, possible, first = set(), set(), int(one_based)
    if len(line) > LONGEST_TEXT:
        raise UserError(f"{where}: more than {LONGEST_TEXT:,} characters, the maximum for alignments")
    for piece in line.split():
        match = _LINK.fullmatch(piece)
        if match is None:
            raise UserError(f"{where}: '{piece}' is not a link, expected SOURCE-TARGET such as 0-1, or 0?1 if possible")
        link = (int(match[1]) - first, int(match[3]) - first)
        if min(link) < 0:
            raise UserError(f"{where}: '{piece}' has a word 0, but --one-based counts from 1")
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible), where, first)


def read_gold(path: str | Path, *, one_based: bool = False) -> list[Gold]:
    """Read the gold links of each sentence pair from a file of Pharaoh lines."""
    lines = enumerate(read_lines(path, LONGEST_TEXT), start=1)
    return [read_pharaoh(line, f"{shown(path)}:{number}", one_based=one_based) for number, line in lines]


def without_word_0(gold: Sequence[Gold]) -> bool:
    """Whether these links, more than a few, are counted from 0 and have no word 0 on either side. They are likely to be
    meant to count words from 1.
    """
    links = [link for sentence in gold if sentence.first == 0 for link in sentence.possible]
    return len(links) > FEW and all(min(link) > 0 for link in links)

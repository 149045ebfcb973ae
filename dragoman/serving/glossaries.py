"""The glossaries of a service, by pairs of languages, and those of requests."""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from dragoman.corpus import glossary
from dragoman.errors import UserError
from dragoman.text.glossary import FoundTerm, Glossary, together
from dragoman.translation.transforms.term_placement import locate_terms

Languages: TypeAlias = tuple[str, str]

MERGED: Final = 100  # glossaries of requests that are remembered together with those of the service


class Glossaries:
    """Files of terms, those of a pair of languages as one glossary. UserError for one that cannot be read."""

    def __init__(self, files: Sequence[tuple[Languages, Path]] = ()) -> None:
        self._files = files
        self.renew()

    @classmethod
    def named(cls, assignments: Sequence[str]) -> "Glossaries":
        """Those of a command: each is `SOURCE,TARGET=FILE`."""
        files: list[tuple[Languages, Path]] = []
        for assignment in assignments:
            pair, _, path = assignment.partition("=")
            source, _, target = pair.partition(",")
            if not (source and target and path):
                raise UserError(f"--glossary: expected SOURCE,TARGET=FILE, such as en,fr=terms.tsv, found {assignment}")
            files.append(((source, target), Path(path)))
        return cls(files)

    @property
    def pairs(self) -> list[Languages]:
        return list(self._common)

    def renew(self) -> None:
        """Read the files again. UserError if one cannot be read; then what was known before stays."""
        self._common = self._read()
        self._of = lru_cache(MERGED)(self._merged)

    def _read(self) -> Mapping[Languages, Glossary]:
        by_pair: dict[Languages, list[Glossary]] = {}
        for pair, path in self._files:
            by_pair.setdefault(pair, []).append(glossary.read(path, pair))
        return {pair: together(glossaries) for pair, glossaries in by_pair.items()}

    def of(self, pair: Languages, own: Glossary) -> Glossary:
        """The terms of a pair, and those of a request, which override them."""
        return self._of(pair, own)

    def _merged(self, pair: Languages, own: Glossary) -> Glossary:
        common = self._common.get(pair)
        if common is None:
            return own
        return together([common, own]) if own.terms else common


def missing_terms(glossary: Glossary, text: str, translation: str) -> tuple[FoundTerm, ...]:
    """The terms of a text that a translation of it does not use."""
    terms = glossary.find(text)
    places = locate_terms(unicodedata.normalize("NFC", translation), terms)
    return tuple(term for term, place in zip(terms, places, strict=True) if place is None)

"""The messages of a catalogue in further languages, from the catalogues of these languages beside it: a program has one
for each language, in one folder (`po/de.po`, `po/fr.po`) or in one of each language (`fr/LC_MESSAGES/cow.mo`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dragoman.corpus import catalogues
from dragoman.corpus.catalogues import MessageCatalogue, open_catalogue
from dragoman.corpus.translation_unit import TranslationState, TranslationUnit, cell
from dragoman.files.reading import existing

CONTEXT = "context"  # the name of a column and source with the contexts of messages
Texts = Mapping[tuple[str, str], str]  # by the context and the text of a message


def read(path: str, names: Sequence[str]) -> Iterator[TranslationUnit]:
    """Yield the messages of a `.po` or `.mo` as `catalogues.read` does for the first and the last name. The texts of
    the names between them are from the catalogues of these languages beside it; they are empty where a message, or the
    catalogue, is missing. The name CONTEXT means the context of a message.
    """
    source, *further, target = names
    return catalogues.put_numbers(add(catalogues.read(path, (source, target)), path, target, further))


def add(
    units: Iterator[TranslationUnit], path: str, language: str, further: Sequence[str]
) -> Iterator[TranslationUnit]:
    """Yield the units of a catalogue in a language with the texts of further names between source and target."""
    texts = {name: read_texts(path, language, name) for name in further if name != CONTEXT}
    for unit in units:
        source, target = unit.texts
        key = unit.context, source
        added = (texts[name].get(key, "") if name in texts else cell(unit.context) for name in further)
        yield unit._replace(texts=(source, *added, target))


def read_texts(path: str, language: str, other: str) -> Texts:
    """Return the finished translations of the catalogue in another language beside that in a language: none if there is
    no such catalogue. The first form of a plural with the same source counts.
    """
    catalogue = find_beside(path, language, other)
    return texts_of(open_catalogue(str(catalogue))) if catalogue else {}


def texts_of(catalogue: MessageCatalogue) -> Texts:
    """Return the finished translations of a catalogue."""
    texts: dict[tuple[str, str], str] = {}
    for unit in catalogues.units(catalogue):
        source, target = unit.texts
        if unit.state is TranslationState.GOOD and target.strip():
            texts.setdefault((unit.context, source), target)
    return texts


def find_beside(path: str, language: str, other: str) -> Path | None:
    """Return the catalogue of another language beside that of a language, whose code is the last part of the path that
    can be replaced: `po/fr.po` for `po/de.po`, and `fr/LC_MESSAGES/cow.mo` for `de/LC_MESSAGES/cow.mo`. A region may be
    there or not (`de_AT.po`), and be written with `_` or `-`. None if there is none.
    """
    for code in _spellings(language):
        pattern = rf"(?<![^\W_]){re.escape(code)}(?:[-_][A-Za-z]{{2,4}})?(?![^\W_])"
        for match in reversed([*re.finditer(pattern, path)]):
            for name in _spellings(other):
                there = existing(path[: match.start()] + name + path[match.end() :])
                if there.is_file():
                    return there
    return None


def _spellings(language: str) -> list[str]:
    """Return the spellings of a language's code in names of files, the most detailed first."""
    return list(
        dict.fromkeys([language, language.replace("-", "_"), language.replace("_", "-"), re.split("[-_]", language)[0]])
    )

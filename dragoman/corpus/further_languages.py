"""The messages of a catalogue in further languages, from the catalogues of these languages beside it: a program has one
for each language, in one folder (`po/de.po`, `po/fr.po`) or in one of each language (`fr/LC_MESSAGES/cow.mo`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from glob import escape, glob
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from dragoman.corpus import catalogues
from dragoman.corpus.catalogues import MessageCatalogue, open_catalogue, unescaped
from dragoman.corpus.naming import CONTEXT, measure_distance
from dragoman.corpus.plural_numbers import HUNDRED
from dragoman.corpus.translation_unit import TranslationUnit, cell
from dragoman.files.reading import existing


class Texts(NamedTuple):
    """The finished translations of a catalogue by the context and the text of a message: one, or the forms of a plural,
    and the form of each number.
    """

    forms: Mapping[tuple[str, str], Sequence[str]] = MappingProxyType({})
    form_of: Sequence[int] = ()

    def find(self, context: str, source: str, number: int | None = None) -> str:
        """Return the translation of a message, or the form of its plural for a number. Without one, it is the form for
        many. Empty if there is none.
        """
        forms = self.forms.get((context, source), ())
        if len(forms) < 2:
            return "".join(forms)
        form = self.form_of[HUNDRED if number is None else number] if self.form_of else 1
        return forms[form] if form < len(forms) else ""


def read(path: str, names: Sequence[str]) -> Iterator[TranslationUnit]:
    """Yield the messages of a `.po` or `.mo` as `catalogues.read` does for the first and the last name. The texts of
    the names between them are from the catalogues of these languages beside it; they are empty where a message, or the
    catalogue, is missing. The name CONTEXT means the context of a message (`read_context`).
    """
    source, *further, target = names
    languages = [name for name in further if name != CONTEXT]
    for unit in catalogues.put_numbers(add(catalogues.read(path, (source, target)), path, target, languages)):
        texts = iter(unit.texts[1:-1])
        added = (unit.context if name == CONTEXT else next(texts) for name in further)
        yield unit._replace(texts=(unit.texts[0], *added, unit.texts[-1]))


def add(
    units: Iterator[TranslationUnit], path: str, language: str, further: Sequence[str]
) -> Iterator[TranslationUnit]:
    """Yield the units of a catalogue in a language with the texts of further ones between source and target."""
    texts = [read_texts(path, language, name) for name in further]
    for unit in units:
        source, target = unit.texts
        number = unit.form and unit.form.number
        added = (cell(own.find(unit.msgctxt, source, number)) for own in texts)
        yield unit._replace(texts=(source, *added, target))


def read_texts(path: str, language: str, other: str) -> Texts:
    """Return the finished translations of the catalogue in another language beside that in a language, which is in the
    same script, and preferably of the same region: none if there is no such catalogue. Line breaks stay.
    """
    nearest: dict[int, MessageCatalogue] = {}
    for place in dict.fromkeys(find_beside(path, language, other)):
        catalogue = open_catalogue(str(place))
        distance = measure_distance(other, catalogue.languages[1] or other)
        if distance is not None:
            nearest.setdefault(distance, catalogue)
        if distance == 0:
            break
    return texts_of(nearest[min(nearest)]) if nearest else Texts()


def texts_of(catalogue: MessageCatalogue) -> Texts:
    """Return the finished translations of a catalogue."""
    texts: dict[tuple[str, str], Sequence[str]] = {}
    for entry in catalogue.entries:
        if entry.obsolete or "fuzzy" in entry.flags:
            continue
        context, singular, plural, text = (
            unescaped(part or "") for part in (entry.msgctxt, entry.msgid, entry.msgid_plural, entry.msgstr)
        )
        numbered = entry.msgstr_plural or {}
        forms = [unescaped(numbered.get(form, "")) for form in range(max(numbered, default=-1) + 1)] or [text]
        if plural and any(form.strip() for form in forms):
            texts.setdefault((context, cell(plural)), forms)
        first = forms[min(catalogue.forms.singular, len(forms) - 1)]
        if first.strip():
            texts.setdefault((context, cell(singular)), [first])
    return Texts(texts, catalogue.forms.of)


def find_beside(path: str, language: str, other: str) -> Iterator[Path]:
    """Yield the catalogues that may be of another language beside that of a language, the likeliest first. The code of
    the other stands in the place of the language's, as late in the path as possible: `po/fr.po` for `po/de.po`, and
    `fr/LC_MESSAGES/cow.mo` for `de/LC_MESSAGES/cow.mo`. Regions and scripts may be there or not (`de_AT.po`).
    """
    plain = path.removesuffix(".gz")
    for code in _spellings(language):
        pattern = rf"(?<![^\W_]){re.escape(code)}(?:[-_@][A-Za-z0-9]{{2,8}})*(?![^\W_])"
        for match in reversed([*re.finditer(pattern, plain)]):
            before, after = plain[: match.start()], plain[match.end() :]
            for name in _spellings(other):
                there = existing(before + name + after)
                regions = glob(f"{escape(before + name)}[-_@]*{escape(after)}")
                places = [there] if there.is_file() else [*map(Path, sorted(regions))]
                yield from (place for place in places if place.resolve() != existing(path).resolve())


def _spellings(language: str) -> list[str]:
    """Return the spellings of a language's code in names of files, the most detailed first."""
    parts = re.split("[-_]", language)
    return list(dict.fromkeys([language, "_".join(parts), "-".join(parts), parts[0]]))

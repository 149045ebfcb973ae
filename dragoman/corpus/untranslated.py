"""Catalogues to translate: the messages of a `.po` without a translation, and the file with one for each."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from dragoman.corpus.catalogues import parsed, read_header
from dragoman.corpus.naming import matched
from dragoman.errors import UserError
from dragoman.files import shown

FUZZY = "fuzzy"


class Gap(NamedTuple):
    """A message without a translation, or one form of its plural without one."""

    entry: Any  # of polib
    form: int | None
    text: str


class Untranslated:
    """The messages of a `.po` that have no translation; `names` are the languages to translate from and to.

    Each line of a message is a text to translate, without the spaces around it. UserError if the file is no `.po`, or
    says that it is of other languages.
    """

    def __init__(self, path: str, names: tuple[str, str]) -> None:
        self._file = parsed(path)
        languages, self._singular = read_header(self._file.metadata, path)
        if matched(names, languages, shown(path)) != (0, 1):
            raise UserError(f"{shown(path)}: is a translation of {languages[0]}, and the run translates {names[0]}")
        self._gaps = [gap for entry in self._file if not entry.obsolete for gap in self._of(entry)]
        self.texts = [line.strip() for gap in self._gaps for line in gap.text.split("\n") if line.strip()]

    def __len__(self) -> int:
        return len({id(gap.entry) for gap in self._gaps})

    def _of(self, entry: Any) -> Iterator[Gap]:
        if not entry.msgid_plural:
            yield from [Gap(entry, None, entry.msgid)] if not entry.msgstr.strip() else []
            return
        forms = entry.msgstr_plural or {0: ""}
        for form in sorted(number for number, text in forms.items() if not text.strip()):
            one = form == self._singular and len(forms) > 1
            yield Gap(entry, form, entry.msgid if one else entry.msgid_plural)

    def filled(self, translations: Sequence[str]) -> tuple[str, int]:
        """The file with the translations of its `texts`, marked as fuzzy, and how many messages these are. A message
        keeps its line breaks, and the spaces around its lines; one of whose lines a translation is empty stays as it
        is.
        """
        rest, changed = iter(translations), set[int]()
        for entry, form, text in self._gaps:
            lines = text.split("\n")
            translated = [next(rest) if line.strip() else "" for line in lines]
            both = list(zip(lines, translated, strict=True))
            if any(line.strip() and not new for line, new in both):
                continue
            changed.add(id(entry))
            found = "\n".join(line.replace(line.strip(), new, 1) for line, new in both)
            if form is None:
                entry.msgstr = found
            else:
                entry.msgstr_plural[form] = found
            if FUZZY not in entry.flags:
                entry.flags.append(FUZZY)
        self._file.metadata["Content-Type"] = "text/plain; charset=UTF-8"
        return str(self._file), len(changed)

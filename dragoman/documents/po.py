"""Message catalogues (`.po`): messages without a translation get one, which is marked as fuzzy."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from dragoman.corpus.catalogues import BACKSLASH, decoded, parsed, read_header
from dragoman.corpus.cleaning import CREDITS
from dragoman.corpus.naming import matched
from dragoman.documents.document import Document, File
from dragoman.documents.html import inline
from dragoman.documents.kept import Kept
from dragoman.documents.line import Line
from dragoman.documents.translated import Translated
from dragoman.errors import UserError

FUZZY = "fuzzy"
_CONTROLS = re.compile(r"[\x00-\x07\x0e-\x1f\x7f]")  # for which a `.po` has no escape that polib writes
_COLOUR = r"\[[0-9;]*[A-Za-z]"  # behind ESC
_ESCAPES = re.compile(rf"{BACKSLASH}(?:(?:033|x1[bB]|e){_COLOUR}|[0-7]{{1,3}}|x[0-9a-fA-F]{{2}}|[ae]|)")


class Gap(NamedTuple):
    """A message without a translation, or one form of its plural without one."""

    entry: Any  # of polib
    form: int | None
    text: str


class Catalogue(Document):
    """The messages of a `.po` that have no translation, and each form of a plural that has none. UserError if the file
    is no `.po`, or says that it is of other languages.
    """

    def __init__(self, file: File) -> None:
        self._file = parsed(file.data, file.name)
        text = decoded(file.data, file.name)
        self._end = _comments_behind(text)
        self._headed, self._line = text.lstrip("\ufeff").startswith("#"), "\r\n" if "\r\n" in text else "\n"
        languages, self._singular = read_header(self._file.metadata, file.name)
        if matched(file.languages, languages, file.name) != (0, 1):
            raise UserError(
                f"{file.name}: is a translation of {languages[0]}, and the run translates {file.languages[0]}"
            )
        entries = (entry for entry in self._file if not entry.obsolete and not CREDITS.fullmatch(entry.msgid))
        self._gaps = [gap for entry in entries for gap in self._of(entry) if gap.text.strip()]
        self.lines = [_line(gap.text) for gap in self._gaps]

    def _of(self, entry: Any) -> Iterator[Gap]:
        if not entry.msgid_plural:
            yield from [Gap(entry, None, entry.msgid)] if not entry.msgstr.strip() else []
            return
        forms = entry.msgstr_plural or {0: ""}
        for form in sorted(number for number, text in forms.items() if not text.strip()):
            one = form == self._singular and len(forms) > 1
            yield Gap(entry, form, entry.msgid if one else entry.msgid_plural)

    def written(self, translated: Sequence[Translated]) -> bytes:
        for (entry, form, _), line, each in zip(self._gaps, self.lines, translated, strict=True):
            if not each.complete:
                continue
            text = _CONTROLS.sub("", line.written(each))
            if form is None:
                entry.msgstr = text
            else:
                entry.msgstr_plural[form] = text
            if FUZZY not in entry.flags:
                entry.flags.append(FUZZY)
        self._file.metadata["Content-Type"] = "text/plain; charset=UTF-8"
        written = str(self._file).replace(BACKSLASH, "\\") + self._end
        if not self._headed:
            written = written.removeprefix("#\n")  # which polib writes for a header that is empty
        return written.replace("\n", self._line).encode()


def _line(text: str) -> Line:
    """A message, in which escapes such as those of colours (`\\033[1m`) stay as they are."""
    kept = Kept(text)
    line = inline(_ESCAPES.sub(lambda found: kept.placeholder(found[0]), text))
    line.raw, line.quoted = text, kept.back
    return line


def _comments_behind(text: str) -> str:
    """The comments behind the last message, which polib does not write."""
    lines = list[str]()
    for line in reversed(text.split("\n")):
        if line.strip() and (not line.lstrip().startswith("#") or line.lstrip().startswith("#~")):
            break
        lines.append(line)
    else:
        return ""  # there is no message, and what begins the file is written
    found = "\n".join(reversed(lines)).strip()
    return f"\n{found}\n" if found else ""

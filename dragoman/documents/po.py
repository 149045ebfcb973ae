"""Message catalogues (`.po`): messages without a translation get one, which is marked as fuzzy."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from dragoman.corpus.catalogues import BACKSLASH, decode_po, parse_po, read_context, read_header, unescaped
from dragoman.corpus.cleaning import CREDITS
from dragoman.corpus.further_languages import Texts
from dragoman.corpus.naming import is_language, is_same_language, matched
from dragoman.corpus.plural_forms import Forms, plural_rule, read_forms
from dragoman.corpus.plural_numbers import PluralExample, describe_forms, put_number
from dragoman.corpus.translation_unit import PluralForm, cell
from dragoman.documents.document import Document, File
from dragoman.documents.document_segment import DocumentSegment, ElementPlaceholders, lacks_placeholder
from dragoman.documents.html import label
from dragoman.documents.po_text import CatalogueText, DraftedMessage
from dragoman.documents.translated import TranslatedText
from dragoman.errors import UserError

_CONTROLS = re.compile(r"[\x00-\x07\x0e-\x1f\x7f]")  # for which a `.po` has no escape that polib writes
_COLOR = r"\[[0-9;]*[A-Za-z]"  # after ESC
_ESCAPES = re.compile(rf"{BACKSLASH}(?:(?:033|x1[bB]|e){_COLOR}|[0-7]{{1,3}}|x[0-9a-fA-F]{{2}}|[ae]|)")


class UntranslatedMessage(NamedTuple):
    """A message without a translation, or one form of its plural without one, and the numbers that this is for. If
    only a number tells which form is meant, `text` has one, `numbered`.
    """

    entry: Any  # of polib
    form: int | None
    text: str
    form_of: PluralForm | None = None
    numbered: PluralExample | None = None

    @property
    def place(self) -> tuple[int, int | None]:
        """What a translation is of: a line of the file, and the form."""
        return self.entry.linenum, self.form


class Draft(NamedTuple):
    """The translation of a message or form, and its quality if that is known."""

    gap: UntranslatedMessage
    text: str
    quality: float | None


class PoDocument(Document):
    """The messages of a `.po` that have no translation, and each form of a plural that has none. There are as many
    forms as its header declares; if it declares none, as many as the target language has, which the header then
    declares. UserError if the file is no `.po`, or says that it is of other languages.
    """

    def __init__(self, file: File) -> None:
        self._file = parse_po(file.data, file.name)
        self._header = dict(self._file.metadata)
        self._text = CatalogueText(decode_po(file.data, file.name), self._file)
        self._check_languages(file)
        self._forms = self._read_forms(file.languages[1])
        entries = (entry for entry in self._file if not entry.obsolete and not CREDITS.fullmatch(entry.msgid))
        self._gaps = [gap for entry in entries for gap in self._of(entry) if gap.text.strip()]
        self.lines = [_line(gap.text) for gap in self._gaps]

    def further_texts(self, texts: Texts) -> Sequence[str]:
        return [_line(_further_text(gap, texts)).text for gap in self._gaps]

    @property
    def contexts(self) -> Sequence[str]:
        return [read_context(gap.entry) for gap in self._gaps]

    def count(self, translated: Sequence[TranslatedText]) -> tuple[int, int]:
        return sum(1 for _ in self._drafts(translated)), len({gap.place for gap in self._gaps})

    def _drafts(self, translated: Sequence[TranslatedText]) -> Iterator[Draft]:
        """Yield the first usable translation of each message or form: a number that it was given is there again."""
        done: set[tuple[int, int | None]] = set()
        for gap, line, translation in zip(self._gaps, self.lines, translated, strict=True):
            if not translation.complete or gap.place in done:
                continue
            text = _CONTROLS.sub("", line.written(translation))
            alone = gap.form_of is not None and gap.form_of.alone
            restored = gap.numbered.restore(text, alone=alone) if gap.numbered else text
            if restored is not None:
                done.add(gap.place)
                yield Draft(gap, restored, translation.quality)

    def _check_languages(self, file: File) -> None:
        """UserError if the header names other languages. One that names none, or the source language although nothing
        is translated yet, gets the target language.
        """
        header = self._file.metadata
        (of, to), *_ = read_header(header, file.name)
        source, target = file.languages
        if not of and is_same_language(to, source) and not any(_is_begun(entry) for entry in self._file):
            header["Language"] = to = ""
        if matched(file.languages, (of, to), file.name) != (0, 1):
            what = f"of {of}" if of else f"to {to}"
            raise UserError(f"{file.name}: is a translation {what}, and the run translates {source} to {target}")
        if not header.get("Language", "").strip() and is_language(target):
            header["Language"] = target.replace("-", "_")

    def _of(self, entry: Any) -> Iterator[UntranslatedMessage]:
        if not entry.msgid_plural:
            yield from [UntranslatedMessage(entry, None, entry.msgid)] if not entry.msgstr.strip() else []
            return
        forms: dict[int, str] = entry.msgstr_plural
        declared = self._forms or Forms(max([1, *forms]) + 1, 0, alone=True)
        described = describe_forms(declared)
        for form in range(declared.size):
            if not forms.get(form, "").strip():
                plural_form = described.get(form)
                is_singular = form == declared.singular and declared.size > 1
                if is_singular and (declared.alone or not lacks_placeholder(entry.msgid, entry.msgid_plural)):
                    yield UntranslatedMessage(entry, form, entry.msgid, plural_form)
                    continue
                shown = plural_form.number if plural_form and plural_form.shown else None
                if shown is not None and (numbered := put_number(entry.msgid_plural, shown)):
                    yield UntranslatedMessage(entry, form, numbered.text, plural_form, numbered)
                yield UntranslatedMessage(entry, form, entry.msgid_plural, plural_form)  # if the number gets lost

    def _read_forms(self, target: str) -> Forms | None:
        """Return the forms of plurals, which the header declares afterwards; None if nothing is known of them."""
        rule = plural_rule(self._file.metadata.get("Language") or target)
        forms = read_forms(self._file.metadata.get("Plural-Forms", ""))
        if forms or rule is None:
            return forms
        if any(entry.msgid_plural for entry in self._file):
            self._file.metadata["Plural-Forms"] = rule.header
        return read_forms(rule.header)

    def _drop_extra(self, texts: dict[int, str]) -> None:
        """Remove empty forms beyond those of the header, as a template for two forms has them."""
        for form in sorted(texts):
            if self._forms and form >= self._forms.size and not texts[form].strip():
                del texts[form]

    def written(self, translated: Sequence[TranslatedText]) -> bytes:
        numbered = {gap.place for gap in self._gaps if gap.numbered}
        messages: dict[int, DraftedMessage] = {}  # by their line
        for gap, text, quality in self._drafts(translated):
            entry, form = gap.entry, gap.form
            message = messages.setdefault(entry.linenum, DraftedMessage(entry))
            if quality is not None:
                message.confidence = min(quality, 1.0 if message.confidence is None else message.confidence)
            if form is None:
                entry.msgstr = text
            else:
                is_lost = gap.form_of and gap.place in numbered and not gap.numbered
                message.numbers[form] = gap.form_of.number if gap.form_of and is_lost else None
                entry.msgstr_plural[form] = text
                self._drop_extra(entry.msgstr_plural)
        return self._text.replaced(messages.values(), self._new_header()).encode()

    def _new_header(self) -> Any:
        """Return the entry of the header, which declares the encoding; None if it stays as it is."""
        metadata = self._file.metadata
        if "charset=utf-8" not in metadata.get("Content-Type", "").lower():
            metadata["Content-Type"] = "text/plain; charset=UTF-8"
        return self._file.metadata_as_entry() if metadata != self._header else None


def _further_text(gap: UntranslatedMessage, texts: Texts) -> str:
    """Return the text of a message in another language, with the same number; empty if that is not possible."""
    plain = gap.numbered.restore(gap.text) if gap.numbered else gap.text
    text = texts.find(
        unescaped(gap.entry.msgctxt or ""), cell(unescaped(plain or "")), gap.form_of and gap.form_of.number
    )
    if not gap.numbered:
        return text
    numbered = put_number(text, int(gap.numbered.number))
    return numbered.text if numbered else ""


def _is_begun(entry: Any) -> bool:
    """Whether a message has a translation, or a form of one."""
    return any(text.strip() for text in (entry.msgstr, *entry.msgstr_plural.values()))


def _line(text: str) -> DocumentSegment:
    """A message, in which escapes such as those of colors (`\\033[1m`) stay as they are."""
    kept = ElementPlaceholders(text)
    return label(_ESCAPES.sub(lambda match: kept.placeholder(match[0]), text), text, kept.restore)

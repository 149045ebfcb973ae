"""The texts in prompts by which programs ask a language model for translations, and the form of the answers that they
read. A reader is given the instruction of a prompt and what follows it, and returns the texts, and how their
translations are written; None if they are not what the program writes. Its time is linear in the length of a prompt.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from pydantic import BaseModel, TypeAdapter, ValidationError

from dragoman.documents.document_segment import ElementPlaceholders, join_surrogates

Writer: TypeAlias = Callable[[Sequence[str]], str]
Texts: TypeAlias = tuple[list[str], Writer]
TextReader: TypeAlias = Callable[[str, str], Texts | None]


def read_text(_: str, body: str) -> Texts:
    return [body], "".join


def read_word(_: str, body: str) -> Texts:
    """A text, perhaps behind a second instruction, with which gpt-po-translator asks again for single words."""
    again = body.startswith("Translate this single word or short phrase from ")
    return read_text("", body.partition("return it unchanged:\n")[2] if again else body)


def read_array(_: str, body: str) -> Texts | None:
    """A JSON array of strings, answered with one."""
    try:
        texts = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return None
    return [join_surrogates(text) for text in texts], write_json


class NumberedText(BaseModel):
    """A text to translate, and its number."""

    id: int
    original: str


_NUMBERED = TypeAdapter(list[NumberedText])
_LINE_BREAK = "{{NEWLINE}}"


def read_objects(_: str, body: str) -> Texts | None:
    """A JSON array of objects in a fence of Markdown, answered with one; in both, a line break is a placeholder."""
    try:
        entries = _NUMBERED.validate_json(body.partition("\n```")[0])
    except ValidationError:
        return None

    def write(translations: Sequence[str]) -> str:
        pairs = zip(entries, translations, strict=True)
        items = [{"id": entry.id, "translated": text.replace("\n", _LINE_BREAK)} for entry, text in pairs]
        return json.dumps({"items": items}, ensure_ascii=False)

    return [entry.original.replace(_LINE_BREAK, "\n") for entry in entries], write


_TRANSLATE = re.compile(r'<translate index="(\d+)"(?: context=".*?")?>(.*)', re.DOTALL)


def read_elements(_: str, body: str) -> Texts | None:
    """XML elements with an index, whose texts are not escaped: `<translate index="1">...</translate>`."""
    *pieces, rest = re.split(r"</translate>(?:\n|\Z)", body)
    elements = [_TRANSLATE.fullmatch(piece) for piece in pieces]
    if rest.strip() or not elements or None in elements:
        return None
    numbers, texts = zip(*(element.groups() for element in elements if element), strict=True)

    def write(translations: Sequence[str]) -> str:
        pairs = zip(numbers, translations, strict=True)
        return "\n".join(f'<translated index="{number}">{text}</translated>' for number, text in pairs)

    return list(texts), write


_SUBTITLE = re.compile(r"\s*#(\d+)\n(?:Speaker> [^\n]*\n)?Original>\n(.*)", re.DOTALL)


def read_subtitles(_: str, body: str) -> Texts | None:
    """Numbered subtitles: `#1`, `Original>`, the text, `Translation>`, each on a line of its own."""
    *pieces, _rest = re.split(r"\nTranslation>[ \t]*(?:\n|\Z)", body)
    subtitles = [_SUBTITLE.fullmatch(piece) for piece in pieces]
    if not subtitles or None in subtitles:
        return None
    numbers, texts = zip(*(subtitle.groups() for subtitle in subtitles if subtitle), strict=True)

    def write(translations: Sequence[str]) -> str:
        return "\n\n".join(
            f"#{number}\nTranslation>\n{text}" for number, text in zip(numbers, translations, strict=True)
        )

    return list(texts), write


_CUE = re.compile(r"(\S+?)\|\|\|(.*)", re.DOTALL)


def read_cues(_: str, body: str) -> Texts | None:
    """Subtitles with an identifier, `1|||text`, which may go on in the next line."""
    pieces = re.split(r"\n(?=\S{1,80}?\|\|\|)", body.removeprefix("INPUT:\n"))
    cues = [_CUE.fullmatch(piece) for piece in pieces]
    if None in cues:
        return None
    names, texts = zip(*(match.groups() for match in cues if match), strict=True)

    def write(translations: Sequence[str]) -> str:
        return "\n".join(f"{name}|||{text}" for name, text in zip(names, translations, strict=True))

    return mask(list(texts), write, _MARKED)


_MARKED = re.compile(r"__(?:TAG|BR)\d+__")
_AFTER_CUE = re.compile(r"\n\n(?:NEXT CUE|PREVIOUS TRANSLATION|NEXT TRANSLATION \(if known\)):\n")


def read_cue(_: str, body: str) -> Texts:
    """A subtitle, perhaps with those after it."""
    text = _AFTER_CUE.split(body)[0]
    return mask([text], lambda translations: f"<translation>{translations[0]}</translation>", _MARKED)


PART: Final = "\n==WEBLATE_PART==\n"


def read_parts(instruction: str, body: str) -> Texts:
    """Strings with a separator between them; a string and its translation if that is to be rephrased."""
    texts = body.split(PART)
    return texts[:1] if "existing translation strings" in instruction else texts, PART.join


def mask(texts: list[str], write: Writer, pattern: re.Pattern[str]) -> Texts:
    """The same texts with placeholders of ours in the place of those of a client, which an answer has again."""
    placeholders = [ElementPlaceholders(text) for text in texts]

    def replace(text: str, own: ElementPlaceholders) -> str:
        return pattern.sub(lambda match: own.placeholder(match[0]), text)

    def restored(translations: Sequence[str]) -> str:
        return write([own.restore(text) for text, own in zip(translations, placeholders, strict=True)])

    return list(map(replace, texts, placeholders)), restored


def write_json(translations: Sequence[str]) -> str:
    return json.dumps(list(translations), ensure_ascii=False)

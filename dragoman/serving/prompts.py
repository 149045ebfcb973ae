"""Prompts by which other programs ask a language model for translations: how each is recognized, the texts in it, and
the form in which the program reads the answer.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple, TypeAlias

from pydantic import BaseModel, Field, ValidationError

from dragoman.documents.document_segment import ElementPlaceholders, Part, join_surrogates
from dragoman.documents.html import label
from dragoman.documents.subtitles import cue
from dragoman.text.glossary import Glossary, Term

Writer: TypeAlias = Callable[[Sequence[str]], str]
Texts: TypeAlias = tuple[list[str], Writer]
PartReader: TypeAlias = Callable[[str], Sequence[Part]]
TextReader: TypeAlias = Callable[[str, str], Texts | None]


def split_message(text: str) -> list[Part]:
    """Return the one part of a string of a program, which may have tags and a keyboard accelerator."""
    return [label(text)]


class Message(NamedTuple):
    """A message of a conversation: `system`, `user` or `assistant`, and its text."""

    role: str
    content: str


class PromptTask(NamedTuple):
    """What a prompt asks for: texts, and how their translations are written as an answer; the languages as the prompt
    names them, empty where it does not; its terms; the language that texts of this client usually have; and what of
    them is translated (`parts`).
    """

    texts: list[str]
    write: Writer
    target: str = ""
    source: str = ""
    terms: Glossary = Glossary()
    usual: str = ""
    parts: PartReader = split_message


PromptReader: TypeAlias = Callable[[Sequence[Message]], PromptTask | None]

_SOURCE, _TARGET = (rf'(?P<{name}>[^\n"]{{1,80}}?)' for name in ("source", "target"))


@dataclass(frozen=True)
class Template:
    """A prompt that names languages after `opening` and has its texts after `closing`, or in the last message if there
    is none. `read` is given the instruction and the texts, and returns None if they are not what the client writes.
    """

    opening: str
    languages: str
    closing: str | None
    read: TextReader
    usual: str = ""
    parts: PartReader = split_message

    def __call__(self, messages: Sequence[Message]) -> PromptTask | None:
        prompt = _find_request(messages) if self.closing else "\n".join(message.content for message in messages[:-1])
        # No pattern is searched for, only tried at one place: the time is linear in the length of the prompt.
        start = prompt.find(self.opening)
        languages = re.compile(self.languages).match(prompt, start + len(self.opening)) if start >= 0 else None
        if languages is None:
            return None
        if self.closing:
            instruction, closing, body = prompt[start:].partition(self.closing)
        else:
            instruction, closing, body = prompt, "\n", messages[-1].content
        texts = self.read(instruction, body) if closing else None
        if texts is None:
            return None
        names = languages.groupdict()
        return PromptTask(*texts, names["target"], names.get("source") or "", usual=self.usual, parts=self.parts)


def _find_request(messages: Sequence[Message]) -> str:
    """The message that has the texts: the last one, or, when LLM-Subtrans asks again, the first one of the user."""
    if messages[-1].content.find("There were some problems with the translation") < 0:
        return messages[-1].content
    return next((message.content for message in messages if message.role == "user"), "")


def recognize(messages: Sequence[Message]) -> PromptTask | None:
    """The task of a conversation, or None if no client is known to write it."""
    tasks = (reader(messages) for readers in PROMPTS.values() for reader in readers) if messages else iter(())
    return next(filter(None, tasks), None)


def _read_text(_: str, body: str) -> Texts:
    return [body], "".join


def _read_word(_: str, body: str) -> Texts:
    """A text, perhaps behind a second instruction, with which gpt-po-translator asks again for single words."""
    again = body.startswith("Translate this single word or short phrase from ")
    return _read_text("", body.partition("return it unchanged:\n")[2] if again else body)


def _read_array(_: str, body: str) -> Texts | None:
    """A JSON array of strings, answered with one."""
    try:
        texts = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return None
    return [join_surrogates(text) for text in texts], _write_json


_TRANSLATE = re.compile(r'<translate index="(\d+)"(?: context=".*?")?>(.*)', re.DOTALL)


def _read_elements(_: str, body: str) -> Texts | None:
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


def _read_subtitles(_: str, body: str) -> Texts | None:
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


def _read_cues(_: str, body: str) -> Texts | None:
    """Subtitles with an identifier, `1|||text`, which may go on in the next line."""
    pieces = re.split(r"\n(?=\S{1,80}?\|\|\|)", body.removeprefix("INPUT:\n"))
    cues = [_CUE.fullmatch(piece) for piece in pieces]
    if None in cues:
        return None
    names, texts = zip(*(match.groups() for match in cues if match), strict=True)

    def write(translations: Sequence[str]) -> str:
        return "\n".join(f"{name}|||{text}" for name, text in zip(names, translations, strict=True))

    return _mask(list(texts), write, _MARKED)


_MARKED = re.compile(r"__(?:TAG|BR)\d+__")
_AFTER_CUE = re.compile(r"\n\n(?:NEXT CUE|PREVIOUS TRANSLATION|NEXT TRANSLATION \(if known\)):\n")


def _read_cue(_: str, body: str) -> Texts:
    """A subtitle, perhaps with those after it."""
    (text, *_rest) = _AFTER_CUE.split(body, maxsplit=1)
    return _mask([text], lambda translations: f"<translation>{translations[0]}</translation>", _MARKED)


PART: Final = "\n==WEBLATE_PART==\n"


def _read_parts(instruction: str, body: str) -> Texts:
    """Strings with a separator between them; a string and its translation if that is to be rephrased."""
    texts = body.split(PART)
    return texts[:1] if "existing translation strings" in instruction else texts, PART.join


_PLACEHOLDER = re.compile(r"@@PH\d+@@")


LanguageName = Annotated[str, Field(pattern=r"^[^\n]{1,80}$")]


class WeblateString(BaseModel):
    """A string to translate."""

    source: str


class WeblateTerm(WeblateString):
    """A term and its translation."""

    target: str


class WeblateTask(BaseModel):
    """Strings to translate, with the terms that occur in them; these were an object before Weblate 5.16."""

    source_language: LanguageName
    target_language: LanguageName
    strings: list[WeblateString]
    glossary: list[WeblateTerm] | dict[str, str] = []

    @property
    def terms(self) -> Glossary:
        terms = self.glossary
        pairs = terms.items() if isinstance(terms, dict) else ((term.source, term.target) for term in terms)
        return Glossary(Term(source, (target,)) for source, target in pairs if source.strip())


def _read_weblate(messages: Sequence[Message]) -> PromptTask | None:
    """A JSON object with languages, terms and strings, answered with an array of strings."""
    try:
        task = WeblateTask.model_validate_json(messages[-1].content)
    except ValidationError:
        return None
    texts, write = _mask([string.source for string in task.strings], _write_json, _PLACEHOLDER)
    return PromptTask(texts, write, task.target_language, task.source_language, task.terms)


def _mask(texts: list[str], write: Writer, pattern: re.Pattern[str]) -> Texts:
    """The same texts with placeholders of ours in the place of those of a client, which an answer has again."""
    placeholders = [ElementPlaceholders(text) for text in texts]

    def replace(text: str, own: ElementPlaceholders) -> str:
        return pattern.sub(lambda match: own.placeholder(match[0]), text)

    def restored(translations: Sequence[str]) -> str:
        return write([own.restore(text) for text, own in zip(translations, placeholders, strict=True)])

    return list(map(replace, texts, placeholders)), restored


def _read_check(messages: Sequence[Message]) -> PromptTask | None:
    """gpt-po-translator finds out whether there is a model."""
    return PromptTask([], lambda _: "ok") if messages[-1].content == "Reply with 'ok'" else None


def _write_json(translations: Sequence[str]) -> str:
    return json.dumps(list(translations), ensure_ascii=False)


_BOTH = rf"{_SOURCE} to {_TARGET}"
PROMPTS: Final[Mapping[str, tuple[PromptReader, ...]]] = {
    "Weblate": (
        _read_weblate,
        Template("translating text\nfrom language '", rf"{_SOURCE}'\nto language '{_TARGET}'", None, _read_parts),
    ),
    "gpt-po": (
        Template(
            'Wait for my incoming message in "', rf'{_SOURCE}" and translate it into "{_TARGET}"', None, _read_elements
        ),
    ),
    "gpt-po-translator": (
        Template("Translate the following list of texts from ", rf"{_BOTH}\. ", "\nTexts to translate:\n", _read_array),
        Template("Translate the following text from ", rf"{_BOTH}\. ", "Here is the text to translate:\n", _read_word),
        Template("Translate this text concisely from ", rf"{_BOTH}\. ", "\nText to translate:\n", _read_text),
        _read_check,
    ),
    "LLM-Subtrans": (
        Template("Translate these subtitles", rf"[^\n]* to {_TARGET}\n", "\n\n", _read_subtitles, parts=cue),
    ),
    "subsetzer": (
        Template("Translate the following subtitle cues from ", rf"{_BOTH}\. ", "\n\n", _read_cues, parts=cue),
        Template(
            "Translate the following subtitle cue from ", rf"{_BOTH}\. ", "\nCURRENT CUE:\n", _read_cue, parts=cue
        ),
    ),
    "Subtitle Edit": (Template("Translate from ", rf"{_BOTH}, keep ", ":\n\n", _read_text, parts=cue),),
    "transpolibre": (Template("Translate from ", rf"{_BOTH}\.\n", "\nText to translate:\n", _read_text),),
    "GNU gettext": (
        Template("Translate ", rf"(?:from {_SOURCE} )?into {_TARGET}(?=:\n)", ":\n", _read_text, usual="en"),
    ),
}

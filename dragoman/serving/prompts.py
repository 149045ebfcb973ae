"""Prompts by which other programs ask a language model for translations, and how each is recognized."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple, TypeAlias

from pydantic import BaseModel, Field, ValidationError

from dragoman.documents.document_segment import Part
from dragoman.documents.html import label
from dragoman.documents.subtitles import cue
from dragoman.serving.prompt_texts import (
    TextReader,
    Writer,
    mask,
    read_array,
    read_cue,
    read_cues,
    read_elements,
    read_objects,
    read_parts,
    read_subtitles,
    read_text,
    read_word,
    write_json,
)
from dragoman.text.glossary import Glossary, Term

PartReader: TypeAlias = Callable[[str], Sequence[Part]]


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
    is none.
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
    if "There were some problems with the translation" not in messages[-1].content:
        return messages[-1].content
    return next((message.content for message in messages if message.role == "user"), "")


def recognize(messages: Sequence[Message]) -> PromptTask | None:
    """The task of a conversation, or None if no client is known to write it."""
    tasks = (reader(messages) for readers in PROMPTS.values() for reader in readers) if messages else iter(())
    return next(filter(None, tasks), None)


_PLACEHOLDER = re.compile(r"@@PH\d+@@")
LanguageName = Annotated[str, Field(pattern=r"^[^\n]{1,80}$")]


class WeblateString(BaseModel):
    """A string to translate."""

    source: str


class WeblateTerm(WeblateString):
    """A term and its translation."""

    target: str


class WeblateTask(BaseModel):
    """Strings to translate, with the terms that occur in them, which are an object in older versions."""

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
    texts, write = mask([string.source for string in task.strings], write_json, _PLACEHOLDER)
    return PromptTask(texts, write, task.target_language, task.source_language, task.terms)


def _read_check(messages: Sequence[Message]) -> PromptTask | None:
    """gpt-po-translator finds out whether there is a model."""
    return PromptTask([], lambda _: "ok") if messages[-1].content == "Reply with 'ok'" else None


_BOTH = rf"{_SOURCE} to {_TARGET}"
PROMPTS: Final[Mapping[str, tuple[PromptReader, ...]]] = {
    "Weblate": (
        _read_weblate,
        Template("translating text\nfrom language '", rf"{_SOURCE}'\nto language '{_TARGET}'", None, read_parts),
    ),
    "gpt-po": (
        Template(
            'Wait for my incoming message in "', rf'{_SOURCE}" and translate it into "{_TARGET}"', None, read_elements
        ),
    ),
    "gpt-po-translator": (
        Template("Translate the following list of texts from ", rf"{_BOTH}\. ", "\nTexts to translate:\n", read_array),
        Template("Translate the following text from ", rf"{_BOTH}\. ", "Here is the text to translate:\n", read_word),
        Template("Translate this text concisely from ", rf"{_BOTH}\. ", "\nText to translate:\n", read_text),
        _read_check,
    ),
    "i18n-ai-translate": (
        Template("Translate from ", rf"{_BOTH}\.\n\n- Translate each object", "```json\n", read_objects),
    ),
    "LLM-Subtrans": (
        Template("Translate these subtitles", rf"[^\n]* to {_TARGET}\n", "\n\n", read_subtitles, parts=cue),
    ),
    "subsetzer": (
        Template("Translate the following subtitle cues from ", rf"{_BOTH}\. ", "\n\n", read_cues, parts=cue),
        Template("Translate the following subtitle cue from ", rf"{_BOTH}\. ", "\nCURRENT CUE:\n", read_cue, parts=cue),
    ),
    "Subtitle Edit": (Template("Translate from ", rf"{_BOTH}, keep ", ":\n\n", read_text, parts=cue),),
    "transpolibre": (Template("Translate from ", rf"{_BOTH}\.\n", "\nText to translate:\n", read_text),),
    "GNU gettext": (
        Template("Translate ", rf"(?:from {_SOURCE} )?into {_TARGET}(?=:\n)", ":\n", read_text, usual="en"),
    ),
}

"""What endpoints of language models share: the texts in a prompt of a known client are translated."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from starlette.requests import Request

from dragoman.documents.document_segment import Part
from dragoman.documents.translated import TranslatedText
from dragoman.serving.backend import Backend
from dragoman.serving.bodies import EVERY_RUN, MOST_TERMS, ModelBody
from dragoman.serving.http_error import HTTPError, UnknownModelError
from dragoman.serving.models import Routes
from dragoman.serving.prompts import PROMPTS, Message, PromptTask, recognize
from dragoman.serving.request_languages import languages_named
from dragoman.serving.request_options import RequestOptions
from dragoman.translation.transforms.terms import LexicalConstraints

GUIDE: Final = "docs/serve.md#programs-that-ask-a-language-model"
LATEST: Final = ":latest"  # what ollama appends to a name


class ChatAnswer(NamedTuple):
    """An answer, the words of the prompt, and the seconds that it took."""

    text: str
    read: int
    seconds: float

    @property
    def written(self) -> int:
        """The words of the answer."""
        return len(self.text.split())

    @property
    def pieces(self) -> Iterator[str]:
        """The lines of the answer, which a stream sends one by one."""
        return iter(self.text.splitlines(keepends=True))


class ServedName(NamedTuple):
    """A name that a client may ask, when it was written, in seconds since 1970, and its bytes."""

    name: str
    modified: float
    size: int


class ChatTranslator:
    """Answers conversations with language models."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @property
    def names(self) -> list[ServedName]:
        """The name for all runs, and that of each."""
        models = self.backend.service.routes.models
        runs = [ServedName(model.name, model.modified, model.size) for model in models if model.name != EVERY_RUN]
        modified, size = max(model.modified for model in models), sum(model.size for model in models)
        return [ServedName(EVERY_RUN, modified, size), *runs]

    def named(self, name: str) -> ServedName:
        """What a name stands for. UnknownModelError if there is no such run."""
        served = next((run for run in self.names if run.name == name.removesuffix(LATEST)), None)
        if served is None:
            names = ", ".join(run.name for run in self.names)
            raise UnknownModelError(404, f"model '{name}' not found; the models are {names}")
        return served

    def routes(self, name: str) -> Routes:
        """The routes that a name stands for. UnknownModelError if there is no such run."""
        return self.backend.service.routes.only(self._run(name))

    def _run(self, name: str) -> str:
        """The run that a name stands for; an empty one for all of them."""
        served = self.named(name).name
        return "" if served == EVERY_RUN else served

    async def answer(self, request: Request, body: ModelBody, messages: list[Message], until: float) -> ChatAnswer:
        """Translate what a conversation asks to be translated. HTTPError if that cannot be."""
        began, run = time.monotonic(), self._run(body.model)
        task = await asyncio.to_thread(recognize, messages)
        if task is None:
            raise HTTPError(400, f"Prompt not recognized: expected one of {', '.join(PROMPTS)}; see {GUIDE}")
        text = task.write(await self._translations(request, task, run, until))
        read = sum(len(message.content.split()) for message in messages)
        return ChatAnswer(text, read, time.monotonic() - began)

    async def _translations(self, request: Request, task: PromptTask, run: str, until: float) -> list[str]:
        if not task.texts:
            return []
        terms = task.terms.terms
        if len(terms) > MOST_TERMS:
            raise HTTPError(400, f"Invalid request: expected at most {MOST_TERMS} terms in the prompt")
        self.backend.check_size(task.texts, sum(len(text) for term in terms for text in (term.source, *term.forms)))
        routes, names, text = self.backend.service.routes.only(run), (task.source, task.target), "\n".join(task.texts)
        pair = await asyncio.to_thread(languages_named, self.backend, routes, names, text=text, usual=task.usual)
        texts = await asyncio.to_thread(lambda: [task.parts(text) for text in task.texts])
        segments = [part for parts in texts for part in parts if not isinstance(part, str)]
        tagged = any(segment.marks for segment in segments)
        passages = await self.backend.service.passages([segment.text for segment in segments], pair[0])
        constraints = LexicalConstraints(task.terms)
        options = RequestOptions(constraints=constraints, details=tagged, attention=tagged, until=until)
        translations = iter(await self.backend.passages(request, passages, *pair, options, run))
        return await asyncio.to_thread(lambda: [_written(parts, translations) for parts in texts])


def _written(parts: Sequence[Part], translations: Iterator[TranslatedText]) -> str:
    """A text with its parts translated; empty if the model is not sure enough of one."""
    pieces, withheld = list[str](), False
    for part in parts:
        if isinstance(part, str):
            pieces.append(part)
        else:
            translation = next(translations)
            withheld = withheld or translation.withheld
            pieces.append(part.written(translation))
    return "" if withheld else "".join(pieces)

"""The parameters of requests, as pydantic models, whether they come as JSON, as a form or in the address."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final, Literal, TypeVar
from urllib.parse import parse_qsl

from fastapi import UploadFile
from fastapi.exceptions import RequestValidationError
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema
from starlette.requests import ClientDisconnect, Request

from dragoman.documents.document_segment import join_surrogates
from dragoman.serving.http_error import HTTPError
from dragoman.serving.prompts import Message
from dragoman.text.glossary import Glossary, Term

FORM, PARTS = "application/x-www-form-urlencoded", "multipart/form-data"
KINDS = ("application/json", FORM, PARTS)  # how a request may come
FIELDS = 1000  # of a form, at most
LISTED = "q"  # the parameter that a form may have several times
EVERY_RUN: Final = "dragoman"  # the name by which clients of language models ask all runs
MOST_TERMS: Final = 1_000  # in the glossary of a request


def _without_surrogates(value: Any) -> Any:
    return join_surrogates(value) if isinstance(value, str) else value


def _number(value: Any) -> Any:
    """Return a number from 0 on; a form has it as text."""
    with suppress(ValueError):
        value = int(value) if isinstance(value, str) else value
    return max(0, value) if type(value) is int else value


def _terms(value: Any) -> Any:
    """Return the value of JSON that a form has as text."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _messages(value: Any) -> list[Message]:
    """Messages of a conversation. ValueError if they are none."""
    try:
        messages = [Message(entry["role"], join_surrogates(_content(entry.get("content")))) for entry in value]
    except (AttributeError, KeyError, TypeError):
        messages = []
    if not messages or not all(isinstance(message.role, str) for message in messages):
        raise ValueError("no messages")
    return messages


def _content(value: Any) -> Any:
    """The text of a message, which may be in parts."""
    if isinstance(value, list):
        return "".join(part["text"] for part in value if part["type"] == "text")
    return "" if value is None else value


def _is_list(value: Any) -> str:
    return "list" if isinstance(value, list) else "text"


Text = Annotated[str, BeforeValidator(_without_surrogates)]
Texts = Annotated[
    Annotated[Text, Tag("text")] | Annotated[list[Text], Field(min_length=1), Tag("list")], Discriminator(_is_list)
]
Filled = Annotated[Text, Field(pattern=r"\S")]
Terms = Annotated[
    list[Annotated[list[Filled], Field(min_length=1)]], Field(max_length=MOST_TERMS), BeforeValidator(_terms)
]
Messages = Annotated[
    list[Message],
    PlainValidator(_messages),
    WithJsonSchema({"type": "array", "minItems": 1, "items": {"type": "object", "required": ["role", "content"]}}),
    Field(title="a list of messages with role and content", description="a conversation of a known client"),
]
Alternatives = Annotated[int, BeforeValidator(_number), Field(strict=True, description="how many further translations")]


class Body(BaseModel):
    """Parameters of every request. Others that a client sends are ignored, and so are empty ones.

    The title of a field says what its value has to be.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    api_key: Text = ""

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if value is not None and value != ""}


class DetectBody(Body):
    """A text, or several that are read as one."""

    q: Texts

    @property
    def texts(self) -> list[str]:
        return [self.q] if isinstance(self.q, str) else self.q


class TranslateBody(DetectBody):
    """A text to translate, or several."""

    source: Text
    target: Text
    format: Literal["text", "html"] = "text"
    alternatives: Alternatives = 0


class SuggestBody(Body):
    """A text and a better translation of it."""

    q: Text
    s: Text
    source: Text
    target: Text


class GlossaryBody(Body):
    """The terms of a request."""

    glossary: Annotated[
        Terms,
        Field(
            title=f"a list of at most {MOST_TERMS} lists of strings",
            description="terms, each with the forms of its translation; without any, it stays as it is; in a form, as "
            "JSON",
        ),
    ] = []

    @property
    def terms(self) -> Glossary:
        return Glossary(Term(source, tuple(forms)) for source, *forms in self.glossary)

    @property
    def characters(self) -> int:
        """The characters beside the texts of the request, which count as text."""
        return sum(len(text) for term in self.glossary for text in term)


class FileBody(GlossaryBody):
    """A file to translate."""

    file: UploadFile
    source: Text
    target: Text


class SentencesBody(GlossaryBody, DetectBody):
    """A text in sentences, or one for each source of a run that reads several together."""

    q: Annotated[Texts, Field(description="a text, or one for each of several sources; blank: it is missing")]
    source: Annotated[
        Texts, Field(description="its language, `auto`, or the names of sources that a run reads together")
    ]
    target: Text
    prefix: Annotated[Text, Field(description="how the translation begins")] = ""

    @property
    def sources(self) -> list[str]:
        return [self.source] if isinstance(self.source, str) else self.source

    @property
    def characters(self) -> int:
        return len(self.prefix) + super().characters


class PassageBody(SentencesBody):
    """A text to translate, and what is wished of its translation."""

    alternatives: Alternatives = 0
    diverse: Annotated[
        bool,
        Field(
            strict=True,
            title="true or false",
            description="whether these differ in their first word after the prefix",
        ),
    ] = False
    min_confidence: Annotated[
        Annotated[float, Field(strict=True, ge=0, le=1)] | SkipJsonSchema[None],
        Field(title="a number from 0 to 1", description="sentences of which the run is less sure stay empty"),
    ] = None


class ExplainBody(SentencesBody):
    """A sentence whose translation is explained."""

    translation: Annotated[
        Text | SkipJsonSchema[None], Field(description="the translation that is explained; without it, the model's own")
    ] = None
    contrast: Annotated[
        Text | SkipJsonSchema[None], Field(description="another translation: why is it not this one?")
    ] = None


class ModelBody(Body):
    """A request to a language model."""

    model: Annotated[Text, Field(description="a run, or `dragoman` (all runs; the default)")] = EVERY_RUN


class OllamaBody(ModelBody):
    """A request to a language model of ollama."""

    stream: Annotated[bool, Field(strict=True, title="true or false", description="the default")] = True


class PromptBody(OllamaBody):
    """A prompt."""

    prompt: Annotated[Text, Field(description="a prompt of a known client")] = ""
    system: Annotated[Text, Field(description="the instruction, if it is not in the prompt")] = ""

    @property
    def messages(self) -> list[Message]:
        contents = {"system": self.system, "user": self.prompt}
        return [Message(role, content) for role, content in contents.items() if content]


class ChatBody(OllamaBody):
    """A conversation."""

    messages: Messages


class CompletionBody(ModelBody):
    """A conversation with a service like OpenAI's."""

    messages: Messages
    stream: Annotated[bool, Field(strict=True, title="true or false", description="as server-sent events")] = False
    stream_options: Annotated[
        dict[str, Any], Field(title="an object", description="`include_usage`: the last event has `usage`")
    ] = {}


AnyBody = TypeVar("AnyBody", bound=Body)


def described(body: type[Body], *kinds: str) -> dict[str, Any]:
    """Return what OpenAPI says of a request with this body, which may come in several ways."""
    content = {kind: {"schema": body.model_json_schema()} for kind in kinds}
    return {"requestBody": {"required": True, "content": content}}


def validated(body: type[AnyBody], values: Mapping[str, Any]) -> AnyBody:
    """Return the values of a request. RequestValidationError if they are not what they should be."""
    try:
        return body.model_validate(values)
    except ValidationError as error:
        raise RequestValidationError(error.errors(), body=body) from None


def fault(error: RequestValidationError) -> str:
    """Return a line about the first parameter that is not what it should be."""
    (name, *place), error_type, value = (error.errors()[0][key] for key in ("loc", "type", "input"))
    expected = error.body.model_fields[name].title
    if error_type == "literal_error":
        return f"{value} {name} is not supported"
    if expected:
        return f"Invalid request: {name}: expected {expected}"
    if error_type == "int_type":
        return f"Invalid request: {name} parameter is not a number"
    if error_type == "string_type":
        return f"Invalid request: {name} {'has something that is' if place[1:] else 'is'} no string"
    return f"Invalid request: missing {name} parameter"


async def read(request: Request) -> dict[str, Any]:
    """Read the parameters of a request. HTTPError if its body is no JSON object and no form, or if its client leaves
    before the end.
    """
    try:
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type == PARTS or (media_type == FORM and not await _looks_like_json(request)):
            return {**request.query_params, **_values(await _form(request, media_type))}
        body = await request.body()
    except ClientDisconnect:
        raise HTTPError(499, "the client has left") from None
    if not body and media_type != "application/json":
        return dict(request.query_params)
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise HTTPError(400, "Invalid JSON format")
    return values


async def _looks_like_json(request: Request) -> bool:
    """Whether a body is JSON, whatever it is called: curl calls what it sends a form, and ollama does not mind."""
    return (await request.body()).lstrip().startswith(b"{")


async def _form(request: Request, kind: str) -> Sequence[tuple[str, Any]]:
    try:
        return _fields(await request.body()) if kind == FORM else (await request.form(max_files=1)).multi_items()
    except (HTTPError, ClientDisconnect):
        raise
    except OSError:  # a large file is written to a temporary one meanwhile
        raise HTTPError(503, "Service is busy: no memory for the file", retry_after=60) from None
    except Exception:  # whatever a parser finds wrong with it
        raise HTTPError(400, "Invalid request: malformed form data") from None


def _values(form: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the values of a form by name. A text that is there several times is a list, as clients send lists."""
    values = {name: _lines(value) for name, value in form}
    texts = [_lines(value) for name, value in form if name == LISTED]
    return {**values, **({LISTED: texts} if len(texts) > 1 else {})}


def _fields(body: bytes) -> list[tuple[str, str]]:
    """Return the fields of a form. Bytes that are not percent-encoded are UTF-8 as well: starlette takes them for
    Latin-1. ValueError if it is damaged.
    """
    return parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=FIELDS)


def _lines(value: Any) -> Any:
    """Return the same with line ends of Unix: browsers send a form with others."""
    return value.replace("\r\n", "\n") if isinstance(value, str) else value

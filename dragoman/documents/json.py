"""JSON: its strings are translated. Keys, numbers and all white space stay as they are written."""

import json
import re
from collections.abc import Iterator
from functools import partial
from itertools import chain

from dragoman.corpus.objects import parse_json
from dragoman.documents.document import LOCALE_KEYS, File, TextDocument, target_code
from dragoman.documents.document_segment import Part
from dragoman.documents.html import label

ABOUT = "@"  # begins the keys of notes about other strings (ARB)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
_COLON = re.compile(r"\s*:")


class JsonStrings(TextDocument):
    """The strings of a file of JSON. If it says that it is in the source language (`@@locale` or another key of
    LOCALE_KEYS), the target language takes its place. UserError with the line where it is no JSON.
    """

    def __init__(self, file: File) -> None:
        content = file.text
        text = content.removeprefix("\ufeff")
        parse_json(text, file.name)
        super().__init__(chain([content[: len(content) - len(text)]], _parts(text, file.languages)))


def _parts(text: str, languages: tuple[str, str]) -> Iterator[Part]:
    quoted = partial(json.dumps, ensure_ascii=text.isascii() and "\\u" in text)
    keys, end = [""], 0  # the last key of each object that is open, or that of the object around a list
    for token in _TOKEN.finditer(text):
        if token[0] in ("{", "["):
            keys.append(keys[-1])
        elif token[0] in ("}", "]"):
            keys.pop()
        elif _COLON.match(text, token.end()):
            keys[-1] = json.loads(token[0])
        elif len(keys) == 2 and keys[1] in LOCALE_KEYS and (code := target_code(json.loads(token[0]), languages, "_")):
            yield text[end : token.start()] + quoted(code)
            end = token.end()
        elif not any(key.startswith(ABOUT) for key in keys):
            line = label(json.loads(token[0]), token[0], quoted)
            if line.worded:
                yield from (text[end : token.start()], line)
                end = token.end()
    yield text[end:]

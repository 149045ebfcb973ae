"""Thirty files of each format, such as programs write them: what comes back has the structure and the placeholders of
what was given, and no string is lost. Markdown, YAML, XLIFF 1.2 and .docx have tests like these beside the rest of
theirs.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

pytest.importorskip("lxml")
pytest.importorskip("polib")
pytest.importorskip("srt")
import polib
import srt
from lxml import etree, html

from dragoman.documents import table
from dragoman.documents.document import File
from tests.documents.speaking import Say, protected, same

Random = random.Random
WORDS = ["one", "two six", "été", "three,", "nine", "Save", "ten of it"]
HELD = ["%s", "%(count)d", "{name}", "{0}", "[X12X]", "https://x.y/a?b=1&c=2", "me@example.org"]
PLACEHOLDER = re.compile("|".join(map(re.escape, HELD)))


class Found(NamedTuple):
    """What a file has besides its texts, and the texts."""

    structure: Any
    texts: list[str]


class Kind(NamedTuple):
    """A format: a file of so many texts, and what is in one, with the language of the texts."""

    ending: str
    make: Callable[[Random, list[str]], bytes]
    read: Callable[[bytes, str], Found]


def sentence(generator: Random) -> str:
    """Words with placeholders among them."""
    held = generator.sample(HELD, generator.choice([0, 0, 1, 2]))
    found = [generator.choice(WORDS), *held, *generator.choices(WORDS, k=generator.randint(0, 4))]
    generator.shuffle(found)
    return " ".join(found)


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def plain(generator: Random, texts: list[str]) -> bytes:
    end = generator.choice(["\n", "\r\n"])
    lines = (generator.choice(["", "  ", end, "\t"]) + text + generator.choice(["", " "]) for text in texts)
    return "".join(line + end for line in lines).encode()


def of_plain(data: bytes, _: str) -> Found:
    lines = data.decode().splitlines(keepends=True)
    around = [(line[: len(line) - len(line.lstrip())], line[len(line.rstrip()) :]) for line in lines]
    return Found(around, [line.strip() for line in lines if line.strip()])


def page(generator: Random, texts: list[str]) -> bytes:
    blocks = [
        "<p class='a b'>%s</p>",
        "<ul>\n<li>%s</li>\n</ul>",
        "<h2 id=x>%s</h2>",
        "<table><tr><td>%s</td></tr></table>",
        "<!-- kept --><div>%s<br></div>",
        "<p><b>%s</b></p><script>one < two</script>",
    ]
    body = "\n".join(generator.choice(blocks) % escaped(text) for text in texts)
    return f"<!doctype html>\n<html><body>\n{body}\n</body></html>\n".encode()


def of_page(data: bytes, _: str) -> Found:
    root = html.fromstring(data.decode())
    structure = [(str(each.tag), dict(each.attrib)) for each in root.iter()]
    told = (each for each in root.iter() if isinstance(each.tag, str) and each.tag != "script")
    return Found(structure, [each.text.strip() for each in told if each.text and each.text.strip()])


def catalogue(generator: Random, texts: list[str]) -> bytes:
    file = polib.POFile()
    file.metadata = {"Language": "fr", "Plural-Forms": "nplurals=2; plural=(n > 1);"}
    for number, text in enumerate(texts):
        kinds: list[dict[str, Any]] = [
            {},
            {"msgctxt": "menu"},
            {"comment": "of the program", "flags": ["c-format"]},
            {"tcomment": "of a translator"},
        ]
        extra = generator.choice(kinds)
        plural = {"msgid_plural": f"{text} s", "msgstr_plural": {0: "", 1: ""}} if number % 4 == 0 else {}
        file.append(polib.POEntry(msgid=f"{text} ({number})", occurrences=[("main.c", str(number))], **extra, **plural))
    return str(file).encode()


def of_catalogue(data: bytes, language: str) -> Found:
    structure, texts = list[Any](), list[str]()
    for each in polib.pofile(data.decode()):
        flags = sorted({*each.flags} - {"fuzzy"})
        structure.append(
            (each.msgid, each.msgid_plural, each.msgctxt, each.comment, each.tcomment, each.occurrences, flags)
        )
        given = [each.msgid, each.msgid_plural] if each.msgid_plural else [each.msgid]
        said = [*each.msgstr_plural.values()] if each.msgid_plural else [each.msgstr]
        texts += given if language == "en" else said
    return Found(structure, texts)


def xliff(_: Random, texts: list[str]) -> bytes:
    space, segment = "urn:oasis:names:tc:xliff:document:2.0", "<segment id='s'><source>%s</source></segment>"
    units = "\n".join(
        f"<unit id='u{n}'><notes><note>of {n}</note></notes>{segment % escaped(text)}</unit>"
        for n, text in enumerate(texts)
    )
    head = f"<xliff version='2.0' srcLang='en' trgLang='fr' xmlns='{space}'>"
    return f"{head}<file id='f'>\n{units}\n</file></xliff>".encode()


def of_xliff(data: bytes, language: str) -> Found:
    root = etree.fromstring(data)
    structure = [(each.tag, each.get("id"), each.text) for each in root.iter("{*}unit", "{*}note", "{*}source")]
    texts = root.iter("{*}source" if language == "en" else "{*}target")
    return Found(structure, [str(each.text) for each in texts])


def memory(_: Random, texts: list[str]) -> bytes:
    units = "\n".join(
        f"<tu tuid='{n}'><prop type='x'>{n}</prop><tuv xml:lang='en'><seg>{escaped(text)}</seg></tuv></tu>"
        for n, text in enumerate(texts)
    )
    return f"<tmx version='1.4'><header srclang='en'/><body>\n{units}\n</body></tmx>".encode()


def of_memory(data: bytes, language: str) -> Found:
    root, lang = etree.fromstring(data), "{http://www.w3.org/XML/1998/namespace}lang"
    structure = [(unit.get("tuid"), unit.findtext("prop"), unit.findtext("tuv/seg")) for unit in root.iter("tu")]
    return Found(structure, [str(each.findtext("seg")) for each in root.iter("tuv") if each.get(lang) == language])


def strings(generator: Random, texts: list[str]) -> bytes:
    value: dict[str, Any] = {"version": 3, "on": True}
    for number, text in enumerate(texts):
        inner: Any = generator.choice([text, [text, 1, None], {"title": text, "width": 1.5}])
        value[f"k{number}"] = inner
    return json.dumps(value, ensure_ascii=generator.random() < 0.5, indent=generator.choice([None, 2])).encode()


def of_strings(data: bytes, _: str) -> Found:
    texts = list[str]()

    def without(value: Any) -> Any:
        if isinstance(value, str):
            texts.append(value)
            return ""
        if isinstance(value, dict):
            return {key: without(each) for key, each in value.items()}
        return [without(each) for each in value] if isinstance(value, list) else value

    return Found(without(json.loads(data)), texts)


def subtitles(generator: Random, texts: list[str]) -> bytes:
    times = (timedelta(milliseconds=1000 * n + generator.randint(0, 400)) for n in range(len(texts)))
    every = [
        srt.Subtitle(n, begin, begin + timedelta(milliseconds=500), text)
        for n, (begin, text) in enumerate(zip(times, texts, strict=True), 1)
    ]
    return srt.compose(every).encode()


def of_subtitles(data: bytes, _: str) -> Found:
    every = list(srt.parse(data.decode()))
    return Found([(each.index, each.start, each.end) for each in every], [each.content for each in every])


KINDS = [
    Kind(".txt", plain, of_plain),
    Kind(".html", page, of_page),
    Kind(".po", catalogue, of_catalogue),
    Kind(".xliff", xliff, of_xliff),
    Kind(".tmx", memory, of_memory),
    Kind(".json", strings, of_strings),
    Kind(".srt", subtitles, of_subtitles),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.ending)
@pytest.mark.parametrize("seed", range(30))
def test_structure_placeholders_and_every_string_come_back(kind: Kind, seed: int) -> None:
    generator = Random(seed)
    texts = [sentence(generator) for _ in range(generator.randint(1, 20))]
    data = kind.make(generator, texts)
    given = kind.read(data, "en")
    assert len(given.texts) >= len(texts), "the file has all texts"
    assert kind.read(written(kind, data, same), "fr") == given
    found = kind.read(written(kind, data, protected), "fr")
    assert found.structure == given.structure
    assert len(found.texts) == len(given.texts)
    for before, after in zip(given.texts, found.texts, strict=True):
        assert Counter(PLACEHOLDER.findall(after)) == Counter(PLACEHOLDER.findall(before))
        words = Counter(re.findall(r"\w+", PLACEHOLDER.sub(" ", before).upper()))
        assert Counter(re.findall(r"\w+", PLACEHOLDER.sub(" ", after))) == words


def written(kind: Kind, data: bytes, say: Say) -> bytes:
    document = table.document(File(f"x{kind.ending}", data, ("en", "fr")))
    return document.written([say(line.text) for line in document.lines])

"""Thirty files of each format, such as programs write them, of strings made for them and of those of real programs:
what comes back has the structure of what was given, every string, and in it each placeholder as often as it was.
"""

import gzip
import io
import json
import random
import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("docx")
pytest.importorskip("lxml")
pytest.importorskip("markdown_it")
pytest.importorskip("polib")
pytest.importorskip("srt")
import docx
import polib
import srt
from lxml import etree, html
from markdown_it import MarkdownIt
from ruamel.yaml import YAML

from dragoman.documents import table
from dragoman.documents.document import File
from tests.documents.speaking import Say, protected, same

Random = random.Random
WORDS = ["one", "two six", "été", "three,", "nine", "Save", "ten of it"]
HELD = ["%s", "%(count)d", "{name}", "{0}", "[X12X]", "https://x.y/a?b=1&c=2", "me@example.org"]
PLACEHOLDER = re.compile("|".join(map(re.escape, HELD)))


IN_PROGRAMS = re.compile(  # those of printf, Python, Qt, JavaScript and the shell; 100%d is no such thing
    r"""%% | %\(\w+\)[sd] | (?<!\d)%(?:\d+\$)?[-+\#0']*\d*(?:\.[\d*]+)?(?:l|ll|z|h)?[sdiufxc](?![A-Za-z]) | %\d
    | \{\w*\} | \$\w+ | https?://[\w./?=&-]*\w""",
    re.VERBOSE,
)
MARKUP = re.compile(r"<[^<>]*>")


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
    words = [generator.choice(WORDS), *held, *generator.choices(WORDS, k=generator.randint(0, 4))]
    generator.shuffle(words)
    return " ".join(words)


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
    structure = [(str(element.tag), dict(element.attrib)) for element in root.iter()]
    elements = (element for element in root.iter() if isinstance(element.tag, str) and element.tag != "script")
    return Found(structure, [element.text.strip() for element in elements if element.text and element.text.strip()])


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
    for entry in polib.pofile(data.decode()):
        flags = sorted({*entry.flags} - {"fuzzy"})
        structure.append(
            (entry.msgid, entry.msgid_plural, entry.msgctxt, entry.comment, entry.tcomment, entry.occurrences, flags)
        )
        sources = [entry.msgid, entry.msgid_plural] if entry.msgid_plural else [entry.msgid]
        msgstrs = [*entry.msgstr_plural.values()] if entry.msgid_plural else [entry.msgstr]
        texts += sources if language == "en" else msgstrs
    return Found(structure, texts)


def old_xliff(generator: Random, texts: list[str]) -> bytes:
    notes = generator.choice(["", "<note>of a programmer</note>"])
    units = "\n".join(
        f"<trans-unit id='{n}'><source>{escaped(text)}</source>{notes}</trans-unit>" for n, text in enumerate(texts)
    )
    head = "<xliff version='1.2'><file original='x' datatype='plaintext' source-language='en' target-language='fr'>"
    return f"{head}<body>\n{units}\n</body></file></xliff>".encode()


def of_old_xliff(data: bytes, language: str) -> Found:
    root = etree.fromstring(data)
    structure = [
        (element.tag, element.get("id"), element.text) for element in root.iter("trans-unit", "note", "source")
    ]
    return Found(structure, [str(element.text) for element in root.iter("source" if language == "en" else "target")])


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
    structure = [
        (element.tag, element.get("id"), element.text) for element in root.iter("{*}unit", "{*}note", "{*}source")
    ]
    texts = root.iter("{*}source" if language == "en" else "{*}target")
    return Found(structure, [str(element.text) for element in texts])


def memory(_: Random, texts: list[str]) -> bytes:
    units = "\n".join(
        f"<tu tuid='{n}'><prop type='x'>{n}</prop><tuv xml:lang='en'><seg>{escaped(text)}</seg></tuv></tu>"
        for n, text in enumerate(texts)
    )
    return f"<tmx version='1.4'><header srclang='en'/><body>\n{units}\n</body></tmx>".encode()


def of_memory(data: bytes, language: str) -> Found:
    root, lang = etree.fromstring(data), "{http://www.w3.org/XML/1998/namespace}lang"
    structure = [(unit.get("tuid"), unit.findtext("prop"), unit.findtext("tuv/seg")) for unit in root.iter("tu")]
    return Found(
        structure, [str(element.findtext("seg")) for element in root.iter("tuv") if element.get(lang) == language]
    )


def tree(generator: Random, texts: list[str]) -> dict[str, Any]:
    value: dict[str, Any] = {"version": 3, "on": True}
    for number, text in enumerate(texts):
        inner: Any = generator.choice([text, [text, 1, None], {"title": text, "width": 1.5}])
        value[f"k{number}"] = inner
    return value


def strings(generator: Random, texts: list[str]) -> bytes:
    value = tree(generator, texts)
    return json.dumps(value, ensure_ascii=generator.random() < 0.5, indent=generator.choice([None, 2])).encode()


def of_strings(data: bytes, _: str) -> Found:
    return of_tree(json.loads(data))


def translations(generator: Random, texts: list[str]) -> bytes:
    stream, yaml = io.StringIO(), YAML()
    yaml.default_flow_style = generator.choice([False, None])
    yaml.dump({"en": tree(generator, texts)}, stream)
    return f"# of a program\n{stream.getvalue()}".encode()


def of_translations(data: bytes, _: str) -> Found:
    (inner,) = YAML(typ="safe", pure=True).load(data.decode()).values()
    structure, texts = of_tree(inner)
    return Found((structure, data.splitlines()[0]), texts)


def of_tree(tree: Any) -> Found:
    texts: list[str] = []

    def without(value: Any) -> Any:
        if isinstance(value, str):
            texts.append(value)
            return ""
        if isinstance(value, dict):
            return {key: without(child) for key, child in value.items()}
        return [without(child) for child in value] if isinstance(value, list) else value

    return Found(without(tree), texts)


def manual(generator: Random, texts: list[str]) -> bytes:
    blocks = ["%s", "## %s", "- %s\n- `x * y`", "> %s", "1. %s", "| a |\n|---|\n| %s |", "```\none\n```\n\n%s"]
    written = (re.sub(r"([^\w\s])", r"\\\1", text) for text in texts)
    return "\n\n".join(generator.choice(blocks) % text for text in written).encode()


def of_manual(data: bytes, _: str) -> Found:
    tokens = MarkdownIt("commonmark").enable("table").parse(data.decode())
    children = (token.children or [] for token in tokens if token.type == "inline")
    structure = [(token.type, token.tag, "" if token.type == "inline" else token.content) for token in tokens]
    return Found(
        structure,
        ["".join(child.content or " " * (child.type == "softbreak") for child in children) for children in children],
    )


def office(generator: Random, texts: list[str]) -> bytes:
    document = docx.Document()
    for text in texts:
        kind = generator.choice(["text", "head", "bold", "cell"])
        if kind == "head":
            document.add_heading(text, 2)
        elif kind == "cell":
            document.add_table(1, 2).cell(0, 1).text = text
        else:
            paragraph = document.add_paragraph(style=generator.choice([None, "List Bullet"]))
            paragraph.add_run(text).bold = kind == "bold" or None
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def of_office(data: bytes, _: str) -> Found:
    document = docx.Document(io.BytesIO(data))
    cells = [cell.paragraphs[0] for element in document.tables for row in element.rows for cell in row.cells]
    paragraphs = [*document.paragraphs, *cells]
    structure = [
        (element.style.name if element.style else "", {run.bold for run in element.runs}) for element in paragraphs
    ]
    return Found(structure, [element.text for element in paragraphs if element.text])


def subtitles(generator: Random, texts: list[str]) -> bytes:
    times = (timedelta(milliseconds=1000 * n + generator.randint(0, 400)) for n in range(len(texts)))
    cues = [
        srt.Subtitle(n, begin, begin + timedelta(milliseconds=500), text)
        for n, (begin, text) in enumerate(zip(times, texts, strict=True), 1)
    ]
    return srt.compose(cues).encode()


def of_subtitles(data: bytes, _: str) -> Found:
    cues = list(srt.parse(data.decode()))
    return Found([(cue.index, cue.start, cue.end) for cue in cues], [cue.content for cue in cues])


KINDS = [
    Kind(".txt", plain, of_plain),
    Kind(".html", page, of_page),
    Kind(".po", catalogue, of_catalogue),
    Kind(".xlf", old_xliff, of_old_xliff),
    Kind(".xliff", xliff, of_xliff),
    Kind(".tmx", memory, of_memory),
    Kind(".json", strings, of_strings),
    Kind(".yaml", translations, of_translations),
    Kind(".md", manual, of_manual),
    Kind(".docx", office, of_office),
    Kind(".srt", subtitles, of_subtitles),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.ending)
@pytest.mark.parametrize("seed", range(6))
def test_structure_placeholders_and_every_string_come_back(kind: Kind, seed: int) -> None:
    generator = Random(seed)
    texts = [sentence(generator) for _ in range(generator.randint(1, 20))]
    assert_all_comes_back(kind, generator, texts, PLACEHOLDER)


@pytest.fixture(scope="module")
def messages(shared_data: Path) -> list[str]:
    """What programs and manuals say in English."""
    files = [shared_data / "catalogues" / f"{part}.en-de.tsv.gz" for part in ("dev", "test")]
    lines = (line for file in files for line in gzip.decompress(file.read_bytes()).decode().splitlines()[1:])
    return sorted({line.split("\t")[0] for line in lines})


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.ending)
@pytest.mark.parametrize("seed", range(6))
def test_what_programs_say_comes_back(kind: Kind, seed: int, messages: list[str]) -> None:
    generator = Random(seed)
    texts = [text for text in generator.sample(messages, 60) if any(map(str.isalpha, text))]
    assert_all_comes_back(kind, generator, texts, IN_PROGRAMS)


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".md", ".json"])
def test_files_that_people_have_written_come_back(ending: str, shared_data: Path) -> None:
    kind = next(candidate for candidate in KINDS if candidate.ending == ending)
    files = sorted(path for path in shared_data.rglob(f"*{ending}*") if path.suffix in (ending, ".gz"))
    assert files
    for file in (file for file in files if file.stat().st_size < 30_000):  # larger ones take a minute
        data = file.read_bytes()
        assert_comes_back(kind, gzip.decompress(data) if file.suffix == ".gz" else data, IN_PROGRAMS)


def assert_all_comes_back(kind: Kind, generator: Random, texts: list[str], placeholder: re.Pattern[str]) -> None:
    data = kind.make(generator, texts)
    assert len(kind.read(data, "en").texts) >= len(texts), "the file has all texts"
    assert_comes_back(kind, data, placeholder)


def assert_comes_back(kind: Kind, data: bytes, placeholder: re.Pattern[str]) -> None:
    original = kind.read(data, "en")
    again = kind.read(written(kind, data, same), "fr")
    assert (again.structure, list(map(without_places, again.texts))) == (
        original.structure,
        list(map(without_places, original.texts)),
    )
    translation = kind.read(written(kind, data, protected), "fr")
    assert translation.structure == original.structure
    assert len(translation.texts) == len(original.texts)
    for before, after in zip(original.texts, translation.texts, strict=True):
        assert Counter(placeholder.findall(after)) == Counter(placeholder.findall(before)), before
        assert Counter(characters(after)) == Counter(characters(before)), before


def characters(text: str) -> list[str]:
    """Letters and digits of a text in capitals: words may be joined where a placeholder stood in one."""
    return re.findall(r"\w", text.upper())


def without_places(text: str) -> Any:
    """A text, or the characters and tags of one with markup: tags go where words begin and end, and a word is what has
    space around it here.
    """
    tags = Counter(MARKUP.findall(text))
    return (tags, Counter(MARKUP.sub("", text).replace(" ", ""))) if tags else text


def written(kind: Kind, data: bytes, say: Say) -> bytes:
    document = table.document(File(f"x{kind.ending}", data, ("en", "fr")))
    return document.written([say(line.text) for line in document.lines])

"""The same pairs as each format has them, in English and German."""

import csv
import gzip
import io
import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest

Pairs = Sequence[tuple[str, str]]
Messages = Sequence[tuple[str, str]]  # as a .mo has them: with marks of contexts and plurals


def tsv(pairs: Pairs) -> bytes:
    return "".join(f"{source}\t{target}\n" for source, target in [("en", "de"), *pairs]).encode()


def of_csv(pairs: Pairs) -> bytes:
    file = io.StringIO()
    csv.writer(file).writerows([("en", "de"), *pairs])
    return file.getvalue().encode()


def jsonl(pairs: Pairs) -> bytes:
    return "".join(json.dumps({"en": source, "de": target}) + "\n" for source, target in pairs).encode()


def of_json(pairs: Pairs) -> bytes:
    return json.dumps([{"en": source, "de": target} for source, target in pairs]).encode()


def quoted(text: str) -> str:
    marks = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t", "\r": r"\r", "\v": r"\v", "\b": r"\b", "\f": r"\f"}
    return '"' + "".join(marks.get(character, character) for character in text) + '"'


HEADER = "Language: de\nContent-Type: text/plain; charset=UTF-8\nPlural-Forms: nplurals=2; plural=(n != 1);\n"


def po(pairs: Pairs) -> bytes:
    entries = [("", HEADER), *pairs]
    return "\n".join(f"msgid {quoted(source)}\nmsgstr {quoted(target)}\n" for source, target in entries).encode()


def mo(messages: Messages, header: str = HEADER, order: str = "<") -> bytes:
    """Two tables of lengths and places, then the texts, each with a NUL after it."""
    sides = [[text.encode() for text in side] for side in zip(("", header), *messages, strict=True)]
    count, place = len(sides[0]), 28 + 16 * len(sides[0])
    tables, texts = b"", b""
    for side in sides:
        for text in side:
            tables += struct.pack(f"{order}2I", len(text), place + len(texts))
            texts += text + b"\0"
    return struct.pack(f"{order}7I", 0x950412DE, 0, count, 28, 28 + 8 * count, 0, 0) + tables + texts


def tmx(pairs: Pairs) -> bytes:
    units = (
        f'<tu><tuv xml:lang="de-DE"><seg>{escape(target)}</seg></tuv>'
        f'<tuv xml:lang="en"><seg>{escape(source)}</seg></tuv></tu>\n'
        for source, target in pairs
    )
    head = '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4"><header srclang="en"/><body>\n'
    return f"{head}{''.join(units)}</body></tmx>\n".encode()


def xliff1(pairs: Pairs) -> bytes:
    units = (
        f"<trans-unit id={quoteattr(str(number))}><source>{escape(source)}</source><seg-source>no</seg-source>"
        f"<target>{escape(target)}</target><alt-trans><source>no</source><target>nein</target></alt-trans></trans-unit>\n"
        for number, (source, target) in enumerate(pairs)
    )
    head = '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">'
    file = '<file source-language="en-US" target-language="de" datatype="plaintext" original="x"><body>'
    return f"{head}{file}\n{''.join(units)}</body></file></xliff>\n".encode()


def xliff2(pairs: Pairs) -> bytes:
    units = (
        f'<unit id="{number}"><mtc:matches><mtc:match><source>no</source><target>no</target></mtc:match></mtc:matches>'
        f"<segment><source>{escape(source)}</source><target>{escape(target)}</target></segment>"
        f"<ignorable><source> </source><target> </target></ignorable></unit>\n"
        for number, (source, target) in enumerate(pairs)
    )
    names = 'xmlns="urn:oasis:names:tc:xliff:document:2.0" xmlns:mtc="urn:oasis:names:tc:xliff:matches:2.0"'
    file = f'<file id="f">\n{"".join(units)}</file>'
    return f'<xliff {names} version="2.0" srcLang="en" trgLang="de">{file}</xliff>\n'.encode()


def parquet(pairs: Pairs) -> bytes:
    pyarrow = pytest.importorskip("pyarrow", reason="needs the extra `formats`")
    from pyarrow.parquet import write_table

    sides = {
        name: pyarrow.array([pair[side] for pair in pairs], pyarrow.string()) for side, name in enumerate(("en", "de"))
    }
    sink = pyarrow.BufferOutputStream()
    write_table(pyarrow.table({"id": pyarrow.array(range(len(pairs))), **sides}), sink)
    return bytes(sink.getvalue())


WRITERS: dict[str, Callable[[Pairs], bytes]] = {
    "x.tsv": tsv,
    "x.csv": of_csv,
    "x.jsonl": jsonl,
    "x.json": of_json,
    "x.po": po,
    "x.mo": mo,
    "x.tmx": tmx,
    "x.xlf": xliff1,
    "x.xliff": xliff2,
    "x.parquet": parquet,
}


def write(folder: Path, name: str, pairs: Pairs) -> str:
    """A file with these pairs, packed if its name says so; the path."""
    plain = name.removesuffix(".gz")
    data = WRITERS[plain](pairs)
    if plain.endswith(".po"):
        pytest.importorskip("polib", reason="needs the extra `formats`")
    (folder / name).write_bytes(data if plain == name else gzip.compress(data))
    return str(folder / name)

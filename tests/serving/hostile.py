"""Thousands of hostile files and texts, while another client sends short sentences: `make fuzz`."""

import argparse
import io
import itertools
import json
import random
import re
import signal
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import NamedTuple
from urllib.error import HTTPError, URLError

from dragoman.devices import processor
from tests import toy

SLOWEST = 1.0  # seconds in which 99 % of short sentences are answered
MEMORY = 100 * 2**20  # bytes by which the server and its processes may have grown at the end
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SLIDE = "http://schemas.openxmlformats.org/drawingml/2006/main"
PAIR = {"source": "en", "target": "fr"}
TEXT_FILES = "txt html md po xliff tmx json yaml srt vtt ass arb".split()
UNITS = [  # what parsers may read again and again
    *("1", "1\n", "0:00:00,000 --> ", "*a ", "_a ", "**a", "[a](", "![", "`", "> ", "- ", "| a ", "<b>", "<p>", "<!--"),
    *("<a b='", "<![CDATA[", "&amp;", "&", "<g id='1'>", "[", "{", '{"a":', "a: ", "- - ", "&a *a ", "%s", "{{", "${"),
    *("\\N", "{\\i1}", "msgid ", 'msgid "a"\n', "\u6211", "\u0e01", "a\u0301", " ", "\t", "\r", ". ", "A. ", "<br "),
    *("http://a.b/", "a@b.c ", "\U0001f600", "-" * 3, ":::", "```\n", "$$", "\\", '"', "x" * 50, "\n\n"),
]
FRAMES = {
    "html": "<html><body><p>{}</p></body></html>",
    "json": '{{"a": "{}"}}',
    "yaml": 'a: "{}"',
    "po": 'msgid ""\nmsgstr ""\n\nmsgid "{}"\nmsgstr ""\n',
    "srt": "1\n00:00:01,000 --> 00:00:02,000\n{}\n",
    "tmx": '<tmx version="1.4"><body><tu><tuv xml:lang="en"><seg>{}</seg></tuv></tu></body></tmx>',
}
LOOKS = ["<w:rPr>{}</w:rPr><w:t>one</w:t>", "<w:t>one</w:t>{}", "{}<w:t>one</w:t>"]
ELEMENTS = "b i u strike color bookmarkStart bookmarkEnd proofErr commentRangeStart tab br t ins del".split()


class Hostile(NamedTuple):
    """A request: its path, and either a JSON object or a file of some name."""

    path: str
    parameters: dict[str, object]
    name: str = ""
    data: bytes = b""


def drawn(number: int, seed: int) -> Hostile:
    """The request of this number."""
    choice = random.Random(f"{seed}:{number}")
    kinds: Sequence[Callable[[random.Random], Hostile]] = (text_file, text_file, office_file, text)
    return choice.choice(kinds)(choice)


def repeated(choice: random.Random, most: int) -> str:
    """Units one after another, or one within another, which may be damaged somewhere."""
    size = int(10 ** choice.uniform(1, 5)) % most + 1
    units = choice.choices(UNITS, k=choice.choice((1, 1, 2, 3)))
    content = "".join(units) * (size // sum(map(len, units)) + 1)
    if choice.random() < 0.3:
        place = choice.randrange(len(content))
        content = content[:place] + choice.choice(UNITS) + content[place + choice.randrange(9) :]
    return content


def text_file(choice: random.Random) -> Hostile:
    """A file of text, whose name may say another format."""
    ending, content = choice.choice(TEXT_FILES), repeated(choice, 80_000)
    if choice.random() < 0.5:
        content = FRAMES.get(ending, "{}").format(content)
    return Hostile("/translate_file", {**PAIR}, f"a.{ending}", content.encode())


def office_file(choice: random.Random) -> Hostile:
    """An Office document with thousands of elements that hold nothing or each other."""
    count, element = int(10 ** choice.uniform(2, 4.5)), choice.choice(ELEMENTS)
    one = f'<w:{element} w:id="1"/>' if choice.random() < 0.7 else f"<w:{element}><w:t>one </w:t></w:{element}>"
    runs = (
        "<w:r>" + choice.choice(LOOKS).format(one * count) + "<w:t>two</w:t>" * choice.choice((1, 9, count)) + "</w:r>"
    )
    deep = count % 3_000 if choice.random() < 0.2 else 0
    xml = f'<w:document xmlns:w="{WORD}">{"<w:p>" * deep}<w:p>{runs}</w:p>{"</w:p>" * deep}</w:document>'
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        if choice.random() < 0.7:
            archive.writestr(_dateless("word/document.xml"), xml, zipfile.ZIP_DEFLATED)
            return Hostile("/translate_file", {**PAIR}, "a.docx", _closed(archive, buffer))
        slide = xml.replace(WORD, SLIDE).replace("w:", "a:")
        archive.writestr(_dateless("ppt/slides/slide1.xml"), slide, zipfile.ZIP_DEFLATED)
        return Hostile("/translate_file", {**PAIR}, "a.pptx", _closed(archive, buffer))


def _dateless(name: str) -> zipfile.ZipInfo:
    """A member that is the same whenever it is written."""
    return zipfile.ZipInfo(name)


def _closed(archive: zipfile.ZipFile, buffer: io.BytesIO) -> bytes:
    archive.close()
    return buffer.getvalue()


def text(choice: random.Random) -> Hostile:
    """A text, perhaps in HTML, or with a glossary."""
    content = repeated(choice, 20_000)
    if choice.random() < 0.3:
        terms = [[f"{content[:5]} {number}", "un", "deux trois"] for number in range(choice.randrange(1, 200))]
        return Hostile("/v1/translate", {**PAIR, "q": content[:2_000], "glossary": terms})
    return Hostile("/translate", {**PAIR, "q": content, "format": choice.choice(("text", "html"))})


def sent(address: str, request: Hostile) -> int:
    """The status of the answer."""
    if request.path == "/translate_file":
        parts = [
            f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in PAIR.items()
        ]
        head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{request.name}"\r\n\r\n'
        body = "".join([*parts, head]).encode() + request.data + b"\r\n--x--\r\n"
        kind = "multipart/form-data; boundary=x"
    else:
        body, kind = json.dumps(request.parameters).encode(), "application/json"
    try:
        with urllib.request.urlopen(
            urllib.request.Request(address + request.path, body, {"Content-Type": kind}), timeout=120
        ) as answer:
            answer.read()
            return int(answer.status)
    except HTTPError as error:
        error.read()
        return error.code
    except (URLError, OSError):
        return 0


def resident(pid: int) -> int:
    """The bytes of memory that a process and those that it has started occupy."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
        children = Path(f"/proc/{pid}/task").glob("*/children")
        return pages * 4096 + sum(resident(int(child)) for path in children for child in path.read_text().split())
    except OSError:  # it has ended
        return 0


def attacked(address: str, options: argparse.Namespace) -> tuple[Counter[int], list[float]]:
    """The statuses of hostile requests, and the seconds of the short ones meanwhile; those not answered count 120."""
    ended, seconds = Event(), list[float]()

    def ask() -> None:
        for number in itertools.count(1):
            began = time.monotonic()
            status = sent(address, Hostile("/translate", {**PAIR, "q": f"one two six {number}"}))
            seconds.append(time.monotonic() - began if status == 200 else 120.0)
            if ended.wait(0.05):
                return

    def attack(number: int) -> int:
        return sent(address, drawn(number, options.seed))

    with ThreadPoolExecutor(1) as client, ThreadPoolExecutor(options.clients) as attackers:
        asking = client.submit(ask)
        statuses = Counter(attackers.map(attack, range(options.requests)))
        ended.set()
        asking.result()
    return statuses, sorted(seconds)


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 when short sentences were answered in time and memory came back."""
    parser = argparse.ArgumentParser(prog="python -m tests.serving.hostile", description=__doc__)
    parser.add_argument("--requests", type=int, default=2_000, help="hostile requests")
    parser.add_argument("--clients", type=int, default=4, help="of them at once")
    parser.add_argument("--seed", type=int, default=1, help="of the random choices")
    parser.add_argument("--run", type=Path, help="run that is served; without one, a small one is trained")
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        run = options.run or toy.trained(Path(folder))
        # Translations in the cache on purpose are no growth: their memory has a limit, a small one here.
        words = ["serve", str(run), "--port", "0", "--threads", "1", "--cache", "8"]
        command = [sys.executable, "-m", "dragoman", *words]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server, ThreadPoolExecutor(1) as reading:
            assert server.stderr is not None
            address = json.loads(server.stderr.readline())["message"]
            assert re.fullmatch(r"http://[\d.:]+", address)
            log = reading.submit(server.stderr.read)
            for _ in range(20):  # so that all processes have begun
                sent(address, Hostile("/translate_file", {**PAIR}, "a.md", b"# one *two*\n"))
                sent(address, Hostile("/translate", {**PAIR, "q": "<b>one</b>", "format": "html"}))
            before, began = resident(server.pid), time.monotonic()
            statuses, seconds = attacked(address, options)
            minutes = (time.monotonic() - began) / 60
            time.sleep(2)
            grown = resident(server.pid) - before
            server.send_signal(signal.SIGTERM)
            status = server.wait(60)
            faults = [line for line in log.result().splitlines() if '"trace"' in line]
    slowest = seconds[int(0.99 * len(seconds))]
    counts = ", ".join(f"{count} with {status}" for status, count in sorted(statuses.items()))
    lines = (
        f"{options.requests} hostile requests, seed {options.seed}, {minutes:.1f} minutes, {processor()}: {counts}",
        f"{len(seconds)} short ones: median {seconds[len(seconds) // 2]:.3f} s, 99 % {slowest:.3f} s",
        f"memory: {before / 2**20:.0f} MB before, {grown / 2**20:+.0f} MB; {len(faults)} faults; ended with {status}",
    )
    sys.stdout.writelines(f"{line}\n" for line in (*lines, *faults[:3]))
    failed = slowest > SLOWEST or grown > MEMORY or faults or status != 128 + signal.SIGTERM or 0 in statuses
    return int(bool(failed or 500 in statuses))


if __name__ == "__main__":
    sys.exit(main())

"""A service under load: `python -m benchmarks.serving [--run RUN]`.

`dragoman serve` in a process of its own, and clients on the same machine that send a sentence of the phrasebook, each a
different one, and wait for the answer before they send the next: one client, then 64. Then the memory of the server
after some requests and after many more; 1,000 clients that ask at the same moment; and a client that asks for short
texts while another has a text of 100,000 characters translated. Without --run, a run of the demo's size is trained
briefly. The clients need a part of the processor, which the server then lacks. The status is 1 where a bound is missed:
every answer is 200, 64 clients have 5 times as many answers as one, 99 % of them within 1 s, memory grows by 5 % at
most, and the long text delays short ones by 1 s at most.
"""

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from benchmarks.contest import ROOT
from dragoman import demo, threads
from dragoman.training import checks, session
from phrasebook import corpus

MANY = 64
CROWD = 1_000
LONG = 100_000  # characters
TIMES = 5.0  # as many answers as one client has
SLOWEST = 1.0  # seconds in which 99 % are answered
GROWTH = 5.0  # percent of the memory
DELAY = 1.0  # seconds that a long text delays a short one


class Answer(NamedTuple):
    """The status of an answer, whether it says when to ask again, and the seconds that it took."""

    status: int
    later: bool
    seconds: float


class Found(NamedTuple):
    """What was measured, in lines, and which bounds it missed."""

    lines: list[str]
    missed: list[str]


class Client:
    """A connection to the server, which is kept."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, text: str) -> Answer:
        """Translate a text."""
        body = json.dumps({"q": text, "source": demo.SOURCE, "target": demo.TARGET}).encode()
        head = "POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        began = time.perf_counter()
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self.address)
        reader, writer = self._streams
        writer.write((head % len(body)).encode() + body)
        headers = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        size = re.search(r"content-length: (\d+)", headers)
        await reader.readexactly(int(size[1]) if size else 0)
        return Answer(int(headers.split()[1]), "retry-after:" in headers, time.perf_counter() - began)

    async def asking(self, texts: Iterator[str], end: float) -> list[Answer]:
        """Translate one text after the other until then, or until there are no more."""
        answers: list[Answer] = []
        while time.perf_counter() < end and (text := next(texts, None)) is not None:
            answers.append(await self.ask(text))
        return answers


class Server:
    """A server in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]", address: tuple[str, int]) -> None:
        self.process = process
        self.address = address

    @property
    def memory(self) -> int:
        """Bytes in memory (Linux)."""
        match = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text("utf-8"))
        assert match is not None
        return 1024 * int(match[1])

    async def collect_answers(self, texts: Iterator[str], clients: int, seconds: float) -> list[Answer]:
        """The answers to so many clients."""
        end = time.perf_counter() + seconds
        answer_lists = await asyncio.gather(*(Client(self.address).asking(texts, end) for _ in range(clients)))
        return [answer for answers in answer_lists for answer in answers]


@contextmanager
def serving(run: Path, folder: Path) -> Iterator[Server]:
    """Serve a run in the meantime."""
    log = folder / "log"
    command = [sys.executable, "-m", "dragoman", "serve", str(run), "--port", "0", "--characters", str(LONG)]
    with log.open("w") as log_file, subprocess.Popen(command, cwd=ROOT, stderr=log_file, text=True) as process:
        try:
            while not (match := re.search(r"http://([\d.]+):(\d+)", log.read_text("utf-8"))):
                time.sleep(0.1)
                assert process.poll() is None, log.read_text("utf-8")
            yield Server(process, (match[1], int(match[2])))
        finally:
            process.terminate()


def sentences(count: int) -> Iterator[str]:
    """Sentences of the phrasebook, no two the same, so that none is known to the server. They are drawn beforehand."""
    return iter([sample.english.text for sample in corpus.sample(count, 2, "train")])


def percent(answers: Sequence[Answer], share: int) -> float:
    """The seconds in which so many percent were answered."""
    return statistics.quantiles((answer.seconds for answer in answers), n=100, method="inclusive")[share - 1]


def missed(bounds: Mapping[str, bool]) -> list[str]:
    """The bounds that are not met."""
    return [bound for bound, met in bounds.items() if not met]


def failed(answers: Iterable[Answer]) -> int:
    """How many were not answered with 200."""
    return sum(answer.status != 200 for answer in answers)


async def rates(server: Server, texts: Iterator[str], seconds: float) -> Found:
    """One client, and many."""
    await server.collect_answers(islice(texts, 100), 8, 60)  # warms up
    one = await server.collect_answers(texts, 1, seconds)
    many = await server.collect_answers(texts, MANY, seconds)
    rows = ["| clients | requests a second | median, s | 99 %, s | not answered with 200 |", "|---|---|---|---|---|"]
    for clients, answers in ((1, one), (MANY, many)):
        times = f"{percent(answers, 50):.3f} | {percent(answers, 99):.3f}"
        rows.append(f"| {clients} | {len(answers) / seconds:.1f} | {times} | {failed(answers)} |")
    times_as_many, slowest = len(many) / len(one), percent(many, 99)
    bounds = {
        f"{failed([*one, *many])} requests of 1 and {MANY} clients failed": not failed([*one, *many]),
        f"{MANY} clients have {times_as_many:.2f} times as many answers as one, not {TIMES:g}": times_as_many >= TIMES,
        f"99 % are answered in {slowest:.3f} s, not in {SLOWEST:g}": slowest <= SLOWEST,
    }
    lines = [*rows, "", f"{MANY} clients have {times_as_many:.1f} times as many answers as one."]
    return Found(lines, missed(bounds))


async def memory(server: Server, texts: Iterator[str], count: int) -> Found:
    """Growth of the memory over so many requests."""
    first = await server.collect_answers(islice(texts, count // 10), MANY, 3600)
    before = server.memory
    more = await server.collect_answers(islice(texts, count), MANY, 3600)
    growth = 100 * (server.memory / before - 1)
    line = f"Memory: {before / 1e6:.0f} MB after {len(first):,} requests, {growth:+.1f} % after {len(more):,} more."
    bounds = {
        f"{failed([*first, *more])} requests failed while memory was measured": not failed([*first, *more]),
        f"memory grows by {growth:.1f} %, not {GROWTH:g}": growth <= GROWTH,
    }
    return Found([line], missed(bounds))


async def crowd(server: Server, texts: Iterator[str], clients: int) -> Found:
    """Many clients that ask at once."""
    began = time.perf_counter()
    answers = await server.collect_answers(islice(texts, clients), clients, 3600)
    seconds = time.perf_counter() - began
    statuses = Counter(answer.status for answer in answers)
    named = ", ".join(f"{count:,} with {status}" for status, count in sorted(statuses.items()))
    later = sum(answer.later for answer in answers)
    line = f"{clients:,} clients at once: {named} ({later} with Retry-After), in {seconds:.1f} s."
    return Found([line], missed({f"{failed(answers)} of {clients:,} clients at once failed": not failed(answers)}))


async def beside(server: Server, texts: Iterator[str], characters: int) -> Found:
    """Short texts beside a long one, and before it."""
    long = ""
    while len(long) < characters - 200:
        long += f"{next(texts)} "
    client = Client(server.address)
    before = [await client.ask(next(texts)) for _ in range(20)]
    work = asyncio.create_task(Client(server.address).ask(long))
    during: list[Answer] = []
    while not work.done():
        during.append(await client.ask(next(texts)))
        await asyncio.sleep(0.05)
    longest = [max(answer.seconds for answer in answers) for answers in (before, during)]
    whole = await work
    fate = f"answered with {whole.status} after {whole.seconds:.1f} s"
    line = (
        f"A text of {len(long):,} characters ({fate}): {len(during)} short ones beside it took {longest[1]:.2f} s at "
        f"most, {longest[0]:.2f} s before."
    )
    wrong, delay = failed([*before, *during, whole]), longest[1] - longest[0]
    bounds = {
        f"{wrong} requests beside a long text failed": not wrong,
        f"a long text delays short ones by {delay:.2f} s, not {DELAY:g}": delay <= DELAY,
    }
    return Found([line], missed(bounds))


def trained(folder: Path, *, tiny: bool) -> Path:
    """A run of the demo's size."""
    texts, run = folder / "corpus", folder / "run"
    path = demo.write_config(texts, run)
    demo.write_corpus(texts, {"train": 300 if tiny else 20_000, "dev": 50})
    sizes = {"model.encoder.size": "8", "model.decoder.size": "8"} if tiny else {}
    session.train(checks.load_config(path, {"training.epochs": "1" if tiny else "3", **sizes}), quiet=True)
    return run


async def measured(server: Server, *, tiny: bool) -> Found:
    """All of it."""
    texts = sentences(3_000 if tiny else 80_000)
    sections = [
        await rates(server, texts, 1 if tiny else 60),
        await memory(server, texts, 100 if tiny else 20_000),
        await crowd(server, texts, 20 if tiny else CROWD),
        await beside(server, texts, 2_000 if tiny else LONG),
    ]
    return Found(
        [line for section in sections for line in section.lines],
        [bound for section in sections for bound in section.missed],
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument("--run", type=Path, help="a run from en to fr")
    parser.add_argument("--tiny", action="store_true", help="a tiny model and few requests, to see that it works")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        run = options.run or trained(Path(name), tiny=options.tiny)
        with serving(run, Path(name)) as server:
            console = Console(soft_wrap=True, highlight=False)
            console.print(f"{threads.cores()} cores\n")
            findings = asyncio.run(measured(server, tiny=options.tiny))
            console.print("\n".join(findings.lines), markup=False)
    if options.tiny or not findings.missed:
        return 0
    Console(stderr=True, soft_wrap=True, highlight=False).print(*findings.missed, sep="\n", markup=False)
    return 1


if __name__ == "__main__":
    sys.exit(main())

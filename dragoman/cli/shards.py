"""`translate --shards`: a corpus in parts, which processes on one machine or several translate (extra `ray`)."""

import io
import json
import logging
import os
import shutil
import signal
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman import threads
from dragoman.cli import sources
from dragoman.cli.option_rules import digests
from dragoman.cli.progress_bar import progress
from dragoman.cli.resuming import NOTE, noted_folder
from dragoman.cli.streams import PORTION, portions, tell
from dragoman.cli.translate_options import TranslateOptions
from dragoman.cli.translating import load_pipeline, translated, written
from dragoman.errors import UserError, missing_library
from dragoman.files.writing import write_atomically
from dragoman.run.folder import RunFolder

if TYPE_CHECKING:
    from dragoman.corpus.features import Given

CONNECTED = 10  # seconds within which a cluster has to accept a connection
OBJECTS = 2**27  # bytes of shared memory: nothing but the numbers of shards passes through it


class Shard(NamedTuple):
    """Consecutive lines of a corpus, of which this many stand before it, and the file of their translations."""

    number: int
    before: int
    lines: int
    path: Path


class Folder:
    """The shards of an output that is not complete: a file for each that is done, and what they were written with."""

    def __init__(self, target: Path) -> None:
        self.path = target.with_name(f"{target.name}.shards")
        self.note = self.path / NOTE

    @contextmanager
    def opened(self, settings: Mapping[str, Any]) -> Iterator[None]:
        """Make the folder, or go on with it; it is removed if no shard is in it at the end. UserError if it is no such
        folder, was written with other options, or another process writes there.
        """
        with noted_folder(self.path, settings, "shards of this output"):
            try:
                yield
            finally:
                if self.path.exists() and os.listdir(self.path) == [NOTE]:
                    self._removed([])

    def shards(self, lines: int, count: int) -> list[Shard]:
        """So many shards, as equal as they can be."""
        width = max(5, len(str(count)))
        bounds = [number * lines // count for number in range(count + 1)]
        return [
            Shard(number, begin, end - begin, self.path / f"{number:0{width}d}-of-{count:0{width}d}")
            for number, (begin, end) in enumerate(pairwise(bounds))
        ]

    def joined(self, target: Path, shards: Sequence[Shard]) -> None:
        """Write the output, and remove the shards."""
        with write_atomically(target, "wb") as file:
            for shard in shards:
                with shard.path.open("rb") as part:
                    shutil.copyfileobj(part, file)
        self._removed(shards)

    def _removed(self, shards: Sequence[Shard]) -> None:
        killed = [left for shard in shards for left in self.path.glob(f".{shard.path.name}.*.part")]
        for path in (*(shard.path for shard in shards), *killed, self.note):
            path.unlink()
        with suppress(OSError):  # something else may be in it
            self.path.rmdir()


def in_shards(options: TranslateOptions, source: Path, count: int, settings: Mapping[str, Any]) -> None:
    """Translate all lines in shards, those that are not done yet, and join them in their order."""
    ray = _library()
    target = options.output
    assert target is not None
    pipeline = load_pipeline(options)
    source, lines = sources.read(source, options.source or (), options.prefix, pipeline.translator)
    total = sum(1 for _ in lines)
    models = [RunFolder(run).weights(*filter(None, [options.weights])) for run in options.runs]
    provenance = {**settings, "--shards": count, "FILE": digests(options.line_files), "model": digests(models)}
    folder = Folder(target)
    with folder.opened(provenance):
        shards = folder.shards(total, count)
        missing = [shard for shard in shards if not shard.path.exists()]
        done = total - sum(shard.lines for shard in missing)
        if missing:
            with progress(source, target, done) as advance, _cluster(ray, options) as workers:
                for number in _translated(ray, options, missing, workers):
                    advance(shards[number].lines)
        folder.joined(target, shards)


def _library() -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # it would tell its makers that it is used
    try:
        import ray
        import ray.data
    except ModuleNotFoundError as error:
        raise missing_library(error.name, "ray") from error
    return ray


@contextmanager
def _cluster(ray: Any, options: TranslateOptions) -> Iterator[int]:
    """Join the cluster that RAY_ADDRESS names, or start another on this machine, and yield how many workers it has."""
    cores = options.threads or 1
    here: dict[str, Any] = {"num_cpus": (options.workers or max(1, threads.cores() // cores)) * cores}
    here |= {"address": "local", "include_dashboard": False, "object_store_memory": OBJECTS}
    address = os.environ.get("RAY_ADDRESS", "")
    if address:
        _reach(address)
    handler = signal.getsignal(signal.SIGTERM)
    with _without_native_messages():
        try:
            ray.init(log_to_driver=False, logging_level="ERROR", **({} if address else here))
        except ConnectionError as error:
            why = str(error.__cause__ or error).splitlines()[0]
            raise UserError(f"RAY_ADDRESS={address}: cannot join the cluster ({why})") from error
        signal.signal(signal.SIGTERM, handler)
        try:
            yield options.workers or max(1, int(ray.cluster_resources().get("CPU", 1)) // cores)
        finally:
            ray.shutdown()


def _reach(address: str) -> None:
    """Raises UserError if nothing answers at the host and port of a cluster, for which Ray would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdecimal():
        try:
            socket.create_connection((host, int(port)), CONNECTED).close()
        except (OSError, OverflowError) as error:
            raise UserError(f"RAY_ADDRESS={address}: cannot reach the cluster ({error})") from error


@contextmanager
def _without_native_messages() -> Iterator[None]:
    """Let Python alone write to standard error, and nothing to standard output. Ray's native code tells there of every
    worker that may be started again; what is serious comes as exceptions, and all of it is in Ray's own log.
    """
    here = sys.__stderr__
    if here is None or sys.stderr is not here:
        yield
        return
    before = os.dup(2)
    with open(before, "w", buffering=1, encoding=here.encoding, errors="backslashreplace") as file:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        try:
            with redirect_stderr(file), redirect_stdout(file):
                yield
        finally:
            os.dup2(before, 2)


def _translated(ray: Any, options: TranslateOptions, shards: Sequence[Shard], workers: int) -> Iterator[int]:
    """Yield the number of each shard as soon as its file is there. Messages of its worker are repeated here, once.
    Where a worker was killed, Ray starts another, and its shard again. No worker is given a shard before it can begin
    it: a shard would wait for a busy worker while another is idle.
    """
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    items = [
        {"number": shard.number, "shard": json.dumps({**shard._asdict(), "path": os.path.realpath(shard.path)})}
        for shard in shards
    ]
    results = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
        Worker,
        fn_constructor_args=(options, os.getcwd()),
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=min(workers, len(items)), max_tasks_in_flight_per_actor=1),
        num_cpus=options.threads or 1,
    )
    for row in results.iter_rows():
        for line in row["told"].splitlines():
            tell(line)
        if row["error"]:
            raise UserError(row["error"])
        yield row["number"]


class Worker:
    """A process that has loaded what translates, and translates shards."""

    def __init__(self, options: TranslateOptions, folder: str) -> None:
        os.chdir(folder)
        self.options = options
        self._rest: tuple[int, Iterator[tuple[Given, ...]]] | None = None  # how many lines are read, and the others
        with threads.override_count(options.threads or 1):
            self.pipeline = load_pipeline(options)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Translate a shard. A user's error is returned as its line."""
        shard = json.loads(batch["shard"][0])
        messages, error = io.StringIO(), ""
        with redirect_stderr(messages), threads.override_count(self.options.threads or 1):
            try:
                self._write(Shard(**{**shard, "path": Path(shard["path"])}))
            except UserError as refused:
                error = str(refused)
        return {"number": [shard["number"]], "told": [messages.getvalue()], "error": [error]}

    def _write(self, shard: Shard) -> None:
        options = self.options
        source, all_lines = sources.read(options.file, options.source or (), options.prefix, self.pipeline.translator)
        lines = self._lines(shard, all_lines)
        with write_atomically(shard.path) as file:
            for portion in portions(lines, options.batch_lines or PORTION):
                first = shard.before + portion.first
                translations = translated(self.pipeline, portion._replace(first=first), source, options)
                for number, translation in enumerate(translations, start=first - 1):
                    file.writelines(f"{line}\n" for line in written(number, translation, options))

    def _lines(self, shard: Shard, lines: "Iterator[tuple[Given, ...]]") -> "Iterator[tuple[Given, ...]]":
        """Yield the lines of a shard: those after the shard before it, or some of `lines` line."""
        read, rest = self._rest if self._rest and self._rest[0] <= shard.before else (0, lines)
        self._rest = None
        yield from islice(rest, shard.before - read, shard.before - read + shard.lines)
        self._rest = shard.before + shard.lines, rest

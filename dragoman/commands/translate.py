"""`dragoman translate`: one line out for each line in."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import typer
from rich.console import Console

from dragoman.commands import outputs, sources
from dragoman.commands.lines import PORTION, Output, is_typed, one_line, one_stream, output, portions, warn
from dragoman.commands.resuming import Options, done_before, kept, left_behind, noting, progress
from dragoman.corpus.features import Given
from dragoman.corpus.pharaoh import pharaoh
from dragoman.errors import UserError
from dragoman.evaluation.latency import average_lagging
from dragoman.files import all_written, read_lines, read_words
from dragoman.run import RunFolder
from dragoman.translation.loading import Engine, load
from dragoman.translation.result import Result
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator
from dragoman.visualisation import heatmap


class Wanted(NamedTuple):
    """How to search, and what to write of each translation beside its text."""

    search: str | None = None
    beam: int | None = None
    n_best: int | None = None
    alignments: bool = False
    as_json: bool = False
    show: bool = False
    weights: str | None = None
    portion: int | None = None
    engine: Engine = "torch"
    candidates: tuple[int, int] | None = None
    wait: int | None = None
    incremental: bool = False
    sources: tuple[str, ...] = ()  # NAME=FILE
    to: str | None = None
    via: str | None = None  # the language that is translated to first
    prefix: Path | None = None  # a file with the beginning of each translation
    resume: bool = False  # continue after the lines that an earlier command left


def split(words: Sequence[Path]) -> tuple[list[Path], Path]:
    """RUN... [FILE] as runs and a file: the last one is a file if it is no folder, and there is a run before it."""
    *runs, last = words
    return (runs, last) if runs and not last.is_dir() else ([*runs, last], Path("-"))


def translate(runs: Sequence[Path], source: Path, target: Path | None, wanted: Wanted) -> None:
    """Translate the lines of `source` with a run, or several together, to `target`, or to standard output."""
    written = [("--output", path) for path in all_written(target)]
    read = [source, *(Path(each.partition("=")[2]) for each in wanted.sources)]
    read += [wanted.prefix] if wanted.prefix else []
    read += [RunFolder(run).weights(wanted.weights) for run in runs if wanted.weights]
    outputs.check(written, read, runs)
    if wanted.via and (wanted.alignments or wanted.as_json or wanted.show):
        raise UserError("--via: what a model looked at is the translation in between; leave out one")
    if wanted.alignments and wanted.as_json:
        raise UserError("--alignments: the objects of --json have them; leave out one")
    resumable = not (wanted.wait or wanted.incremental or (wanted.n_best and not wanted.as_json))
    if wanted.resume and not resumable:
        raise UserError(
            "--resume: continues translations of whole lines, without --wait and --incremental, and --n-best as --json"
        )
    options = _options(runs, wanted)
    done = kept(target, options if resumable else None, resume=wanted.resume)
    if wanted.wait is not None or wanted.incremental:
        _follow(runs, source, target, done, wanted)
        return
    translator = load(runs, weights=wanted.weights, engine=wanted.engine, candidates=wanted.candidates)
    if wanted.via and not translator.marks:
        raise UserError("--via: goes by way of another language, and this run has no others (data.pairs)")
    search = sources.search_of(translator, wanted.search, wanted.beam)
    with ExitStack() as stack:
        noted = stack.enter_context(noting(target, done if resumable else None, options))
        texts = stack.enter_context(output(target, done))
        source, lines = _read(source, wanted, translator)
        if wanted.prefix:
            one_stream(source, wanted.prefix)
            lines = _with_prefixes(lines, wanted.prefix)
        if target and done:
            deque(done_before(lines, done, source, target), maxlen=0)
        stack.enter_context(left_behind(target, resumable=resumable))
        advance = stack.enter_context(progress(source, target, done or 0))
        size, first = wanted.portion or PORTION, 1 + (done or 0)
        for portion in portions(lines, size, typed=is_typed(source), first=first):
            translated = partial(translator.translate, beam_size=wanted.beam, search=search)
            given = [line[:-1] for line in portion.lines] if wanted.prefix else portion.lines
            prefix = [str(line[-1]) for line in portion.lines] if wanted.prefix else None
            if wanted.via:
                between = translated(given, to=wanted.via)
                warn(source, portion.first, (translation.left_out for translation in between))
                given = [(translation.text,) for translation in between]
            found = translated(given, to=wanted.to, n_best=wanted.n_best or 1, prefix=prefix)
            warn(source, portion.first, (translation.left_out for translation in found))
            noted(portion.lines)
            for number, translation in enumerate(found, start=portion.first - 1):
                _write(texts, number, translation, wanted)
            advance(len(found))


def _with_prefixes(lines: Iterator[tuple[Given, ...]], path: Path) -> Iterator[tuple[Given, ...]]:
    """The lines, each with how its translation begins as the last of its texts. UserError where there are not as many
    of these.
    """
    prefixes = read_lines(path)
    for number, line in enumerate(lines, start=1):
        prefix = next(prefixes, None)
        if prefix is None:
            raise UserError(f"{path}: has {number - 1:,} lines, fewer than there are to translate")
        yield (*line, prefix)
    if next(prefixes, None) is not None:
        raise UserError(f"{path}: has more lines than there are to translate")


def _options(runs: Sequence[Path], wanted: Wanted) -> Options:
    """Those that the lines to write depend on."""
    return {
        "command": "translate",
        "RUN": [os.path.realpath(run) for run in runs],
        "--weights": wanted.weights,
        "--engine": wanted.engine,
        "--candidates": wanted.candidates,
        "--search": wanted.search,
        "--beam": wanted.beam,
        "--n-best": wanted.n_best,
        "--alignments": wanted.alignments,
        "--json": wanted.as_json,
        "--source": [each.partition("=")[0] for each in wanted.sources],
        "--to": wanted.to,
        "--via": wanted.via,
        "--prefix": bool(wanted.prefix),
    }


def _read(source: Path, wanted: Wanted, translator: Translator) -> tuple[Path, Iterator[tuple[Given, ...]]]:
    """What is to be translated, and the file to name where a line is told of."""
    files = sources.named(wanted.sources, translator)
    if not files:
        return source, sources.texts(source, translator)
    if str(source) != "-":
        raise UserError(f"{source}: sources are named with --source; leave out one")
    return sources.first(files, translator), sources.texts_by_name(files, translator)


def _follow(runs: Sequence[Path], source: Path, target: Path | None, done: int | None, wanted: Wanted) -> None:
    """Write each word as soon as it is decided, while the lines arrive; and tell how far words were behind."""
    way = "--incremental" if wanted.wait is None else "--wait"
    refused = {
        "--incremental": wanted.incremental and wanted.wait is not None,
        "--beam": wanted.beam,
        "--search": wanted.search == "beam",
        "--n-best": wanted.n_best,
        "--alignments": wanted.alignments,
        "--json": wanted.as_json,
        "--show": wanted.show,
        "--engine": wanted.engine != "torch",
        "--candidates": wanted.candidates,
        "--batch-lines": wanted.portion,
        "--source": wanted.sources,
        "--via": wanted.via,
        "--prefix": wanted.prefix,
        "several RUNs": len(runs) > 1,
    }
    for option, given in refused.items():
        if given:
            raise UserError(f"{option}: {way} writes word by word, by greedy search with engine torch; leave out one")
    translator = load(runs, weights=wanted.weights)
    lagging = []
    with left_behind(target, resumable=False), output(target, done) as texts:
        pieces = read_words(source)
        for number, piece in enumerate(pieces, start=1):
            arrived: list[str] = []
            line = _line(chain([piece], pieces), arrived)
            read: list[int] = []
            for word in translator.simultaneous(line, to=wanted.to, wait=wanted.wait):
                texts.say(" " * bool(read) + one_line(word.text))
                read.append(word.read)
            texts.say("\n")
            deque(line, maxlen=0)  # a translation may end before its source
            warn(source, number, [translator.left_out(" ".join(arrived))])
            if read:
                lagging.append([average_lagging(read, len(arrived), corrected=each) for each in (True, False)])
    if lagging:
        corrected, plain = (sum(each) / len(lagging) for each in zip(*lagging, strict=True))
        typer.echo(f"average lagging {corrected:.2f} words ({plain:.2f} without correction for lengths)", err=True)


def _line(pieces: Iterator[str], arrived: list[str]) -> Iterator[str]:
    """The words of a line, which are noted as they come."""
    for word in pieces:
        if word == "\n":
            return
        arrived.append(word)
        yield word


def _write(texts: Output, number: int, translation: Translation, wanted: Wanted) -> None:
    texts.write(_lines(number, translation, wanted))
    if wanted.show:
        seen = translation.attention_matrix
        grid = heatmap.terminal(seen.attention, seen.columns, translation.words)
        Console(stderr=True).print(grid)


def _lines(number: int, translation: Translation, wanted: Wanted) -> Iterator[str]:
    """The text; with alignments, these after it; as n-best list in the form of Moses, line numbers from 0. As JSON one
    object, which has everything.
    """
    if wanted.as_json:
        yield Result(translation).line()
        return
    if wanted.n_best is None:
        fields = [one_line(translation.text), *_alignment(translation, wanted)]
        yield " ||| ".join(fields)
    for found in translation.n_best if wanted.n_best else ():
        fields = [str(number), one_line(found.text), *_alignment(found, wanted)]
        yield " ||| ".join([*fields, f"F0= {found.log_prob:.4f}", f"{found.score:.4f}"])


def _alignment(translation: Translation, wanted: Wanted) -> list[str]:
    """The links to each source."""
    return [pharaoh(source.alignment) for source in translation.sources] if wanted.alignments else []

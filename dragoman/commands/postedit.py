"""`dragoman postedit`: translations made better by a model that has learnt from corrected ones."""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import typer
from rich.console import Console

from dragoman.commands import outputs
from dragoman.commands.lines import PORTION, apart, one_line, one_stream, output, portions, warn
from dragoman.commands.resuming import done_before, kept, left_behind, noting, progress
from dragoman.corpus.examples import side_by_side
from dragoman.corpus.features import FeatureSource
from dragoman.errors import UserError
from dragoman.files import all_written, partial, read_lines
from dragoman.run import RunFolder
from dragoman.translation import result
from dragoman.translation.loading import load
from dragoman.translation.result import Result
from dragoman.translation.translator import Translator
from dragoman.visualisation import changes
from dragoman.visualisation.changes import Revision


def postedit(
    run: Path,
    source: Path | None,
    translation: Path,
    target: Path | None,
    *,
    as_json: bool = False,
    show: bool = False,
    page: Path | None = None,
    weights: str | None = None,
    resume: bool = False,
) -> None:
    """Write a post-edited line for each line of `translation`; tell how many were changed.

    The translation is the source that the run's targets are edits of; of a run that rewrites, the last one.
    """
    one_stream(source, translation)
    apart("--html", page, target)
    written = [("--output", path) for path in all_written(target)]
    read = [source, translation, RunFolder(run).weights(weights) if weights else None]
    outputs.check([*written, ("--html", page)], read, [run])
    options = {
        "command": "postedit",
        "RUN": os.path.realpath(run),
        "--weights": weights,
        "--source": bool(source),
        "--json": as_json,
    }
    done = kept(target, options, resume=resume)
    old = list(islice(_texts(partial(target), as_json), done)) if target and done else []
    translator = load(run, weights=weights)
    edited = translator.edited if translator.edited is not None else len(translator.sources) - 1
    paths, name = _paths(translator, run, edited, source, translation), translator.sources[edited].name
    console, seen, changed, count = Console(stderr=True, highlight=False), list[Revision](), 0, 0

    def noted(given: Iterable[tuple[str, ...]], after: Iterable[str]) -> list[Revision]:
        nonlocal seen, changed, count
        every = zip(given, after, strict=True)
        found = [Revision(each[1 - edited] if len(each) > 1 else "", each[edited], text) for each, text in every]
        count, changed = count + len(found), changed + sum(each.changed for each in found)
        seen += found if page else []
        return found

    with ExitStack() as stack:
        note = stack.enter_context(noting(target, done, options))
        lines, texts = stack.enter_context(output(target, done)), side_by_side(paths)
        if target and old:
            noted(done_before(texts, len(old), translation, target), old)
        stack.enter_context(left_behind(target, resumable=True))
        advance = stack.enter_context(progress(translation, target, len(old)))
        for portion in portions(texts, PORTION, first=1 + len(old)):
            edits = translator.translate(portion.lines)
            warn(translation, portion.first, (each.left_out for each in edits))
            found = [one_line(each.text) for each in edits]
            note(portion.lines)
            lines.write(Result(each, edited=name).line() for each in edits) if as_json else lines.write(found)
            for each in noted(portion.lines, found):
                if show:
                    console.print(changes.terminal(each), soft_wrap=True)
            advance(len(found))
    if page:
        with output(page) as file:
            file.say(changes.page(f"{run}: {changed:,} of {count:,} lines changed", seen))
    typer.echo(f"{changed:,} of {count:,} lines changed", err=True)


def _texts(path: Path, as_json: bool) -> Iterator[str]:
    """The post-edited lines in a file."""
    if not as_json:
        return read_lines(path)
    return (one_line(each.translation.text) for each in result.read(path))


def _paths(translator: Translator, run: Path, edited: int, source: Path | None, translation: Path) -> list[Path]:
    """The files of the run's sources in order. UserError where there are not as many, or none is a translation: a run
    post-edits if it writes edits, or if it reads a second text, which then is the translation.
    """
    names = [language.name for language in translator.sources]
    if translator.marks:
        raise UserError(f"{run}: translates to {', '.join(translator.targets)}; post-editing is of one language")
    if any(isinstance(each, FeatureSource) for each in translator.sources):
        raise UserError(f"{run}: has a source of numbers ({', '.join(names)}); use translate --source NAME=FILE")
    if len(names) > 2:
        raise UserError(f"{run}: has {len(names)} sources ({', '.join(names)}); use translate --source NAME=FILE")
    if len(names) == 1 and translator.edited is None:
        raise UserError(f"{run}: translates {names[0]} to {translator.target.name} and edits nothing; use translate")
    if len(names) == 1 and source:
        raise UserError(f"--source: {run} reads the translation ({names[edited]}) alone")
    if len(names) == 2 and not source:
        raise UserError(f"--source: {run} reads what was translated ({names[1 - edited]}) too")
    paths = [translation]
    if source:
        paths.insert(1 - edited, source)
    return paths

"""`dragoman postedit`: automatic post-editing by a model that has learned from corrected translations."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.option_rules import ResumeValue, record
from dragoman.cli.options import Json, OutputFile, Resume, RunPath, Threads, Weights, command
from dragoman.cli.resuming import done_before, left_behind, lines_done, noting
from dragoman.cli.streams import PORTION, numbered, one_line, one_stream, output, portions, warn
from dragoman.errors import UserError
from dragoman.files.reading import read_lines
from dragoman.files.writing import all_written, partial
from dragoman.run.folder import RunFolder

if TYPE_CHECKING:
    from dragoman.translation.translator import Translator
    from dragoman.visualization.changes import Revision


class PosteditOptions(NamedTuple):
    """Arguments and options of `dragoman postedit`."""

    run: RunPath
    translation: Annotated[
        Path, typer.Option(metavar="FILE", help="Machine translations, one per line; - is standard input.")
    ]
    source: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Source sentences of the translations."), ResumeValue(bool)
    ] = None
    output: OutputFile = None
    json: Annotated[Json, ResumeValue()] = False
    show: Annotated[bool, typer.Option("--show", help="Show changes in color.")] = False
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", callback=outputs.writable, help="Write an HTML page of the changes."),
    ] = None
    weights: Annotated[Weights, ResumeValue()] = None
    threads: Threads = None
    resume: Resume = False


class Changes:
    """The changes so far, in lines whose text number `edited` is the translation. The lines are kept if a page is to
    show them.
    """

    def __init__(self, edited: int, *, keep: bool) -> None:
        self.seen: list[Revision] = []
        self._edited, self._keep = edited, keep
        self._lines = self._changed = 0

    def add(self, lines: Iterable[tuple[str, ...]], after: Iterable[str]) -> "list[Revision]":
        """Add further lines and their post-edited translations."""
        from dragoman.visualization.changes import Revision

        edits = zip(lines, after, strict=True)
        edited = self._edited
        revisions = [
            Revision(texts[1 - edited] if len(texts) > 1 else "", texts[edited], text) for texts, text in edits
        ]
        self._lines += len(revisions)
        self._changed += sum(revision.changed for revision in revisions)
        self.seen += revisions if self._keep else []
        return revisions

    def __str__(self) -> str:
        return f"{self._changed:,} of {self._lines:,} lines changed"


@command(epilog="Example: dragoman postedit runs/edits --source test.en --translation test.mt -o test.de")
def postedit(options: PosteditOptions) -> None:
    """Correct machine translations with a post-editing run."""
    from dragoman.translation.loading import load
    from dragoman.visualization.changes import page

    target = options.output
    _check(options)
    settings = {"command": "postedit", "RUN": os.path.realpath(options.run), **record(options)}
    done = lines_done(target, settings, PORTION, resume=options.resume)
    old = list(islice(_texts(partial(target), options.json), done)) if target and done else []
    translator = load(options.run, weights=options.weights)
    changes = _edit(translator, options, settings, done, old)
    if options.html:
        with output(options.html) as file:
            file.say(page(f"{options.run}: {changes}", changes.seen))
    typer.echo(str(changes), err=True)


def _check(options: PosteditOptions) -> None:
    """Raises UserError if files would get in each other's way."""
    run, weights, target = options.run, options.weights, options.output
    one_stream(options.source, options.translation)
    outputs.check_distinct("--html", options.html, target)
    written = [("--output", path) for path in all_written(target)]
    read = [options.source, options.translation, RunFolder(run).weights(weights) if weights else None]
    outputs.check([*written, ("--html", options.html)], read, [run])


def _edit(
    translator: "Translator",
    options: PosteditOptions,
    settings: Mapping[str, Any],
    done: int | None,
    old: Sequence[str],
) -> Changes:
    """Write a post-edited line for each line, after the `done` lines that are already written.

    The translation is the source that the run's targets are edits of; for a run that rewrites, the last one.
    """
    from rich.console import Console

    from dragoman.cli.progress_bar import progress
    from dragoman.corpus.examples import side_by_side
    from dragoman.translation.result import Result
    from dragoman.visualization.changes import terminal

    edited = translator.edited if translator.edited is not None else len(translator.sources) - 1
    paths, name = _paths(translator, edited, options), translator.sources[edited].name
    translation, target = options.translation, options.output
    changes, console = Changes(edited, keep=bool(options.html)), Console(stderr=True, highlight=False)
    with ExitStack() as stack:
        note = stack.enter_context(noting(target, done, settings))
        lines, texts = stack.enter_context(output(target, done)), side_by_side(paths)
        if target and old:
            changes.add(done_before(texts, len(old), translation, target), old)
        stack.enter_context(left_behind(target, resumable=True))
        advance = stack.enter_context(progress(translation, target, len(old)))
        for portion in portions(texts, PORTION, done=len(old)):
            edits = translator.translate(portion.lines)
            warn(numbered(translation, portion.first), (edit.left_out for edit in edits))
            edited_lines = [one_line(edit.text) for edit in edits]
            note(portion.lines)
            lines.write((Result(edit, edited=name).line() for edit in edits) if options.json else edited_lines)
            for revision in changes.add(portion.lines, edited_lines):
                if options.show:
                    console.print(terminal(revision), soft_wrap=True)
            advance(len(edited_lines))
    return changes


def _texts(path: Path, as_json: bool) -> Iterator[str]:
    """Yield the post-edited lines in a file."""
    if not as_json:
        return read_lines(path)
    from dragoman.translation import result

    return (one_line(edit.translation.text) for edit in result.read(path))


def _paths(translator: "Translator", edited: int, options: PosteditOptions) -> list[Path]:
    """Return the files of the run's sources in order. Raises UserError if their number differs or none is a
    translation: a run post-edits if it writes edits, or if it reads a second text, which then is the translation.
    """
    from dragoman.corpus.features import FeatureSource

    run, source = options.run, options.source
    names = [language.name for language in translator.sources]
    if translator.marks:
        raise UserError(
            f"{run}: translates to {', '.join(translator.targets)}; post-editing requires one target language"
        )
    if any(isinstance(language, FeatureSource) for language in translator.sources):
        raise UserError(f"{run}: has a source of numbers ({', '.join(names)}); use translate --source NAME=FILE")
    if len(names) > 2:
        raise UserError(f"{run}: has {len(names)} sources ({', '.join(names)}); use translate --source NAME=FILE")
    if len(names) == 1 and translator.edited is None:
        raise UserError(
            f"{run}: translates {names[0]} to {translator.target.name} and is not a post-editing run; use translate"
        )
    if len(names) == 1 and source:
        raise UserError(f"--source: {run} reads the translation ({names[edited]}) only")
    if len(names) == 2 and not source:
        raise UserError(f"--source: {run} also reads the original text ({names[1 - edited]})")
    paths = [options.translation]
    if source:
        paths.insert(1 - edited, source)
    return paths

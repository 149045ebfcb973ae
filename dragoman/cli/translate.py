"""`dragoman translate`: one line out for each line in."""

import os
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dragoman.cli import outputs
from dragoman.cli.options import (
    Beam,
    Candidates,
    Engine,
    Engines,
    Exact,
    Json,
    MemoryPlace,
    OutputFile,
    Resume,
    Search,
    Threads,
    To,
    Weights,
    command,
    two,
)
from dragoman.cli.resuming import done_before, kept, left_behind, noting
from dragoman.cli.streams import PORTION, Output, Portion, is_typed, one_line, output, portions, tell, warn
from dragoman.corpus.pharaoh import pharaoh
from dragoman.errors import UserError
from dragoman.files import all_written, shown

if TYPE_CHECKING:
    from dragoman.configuration.components import Spec
    from dragoman.corpus.features import Given
    from dragoman.translation.demands import Asked
    from dragoman.translation.translation import Translation
    from dragoman.translation.translator import Translator

app = typer.Typer()


def _schema(wanted: bool) -> bool:
    if wanted:
        from dragoman.translation import json_form

        typer.echo(json_form.schema(), nl=False)
        raise typer.Exit
    return wanted


class Options(NamedTuple):
    """Arguments and options of `dragoman translate`."""

    words: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN... [FILE]", help="Folders of trained runs, and sentences, one per line; - is standard input."
        ),
    ]
    output: OutputFile = None
    resume: Resume = False
    search: Search = None
    beam: Beam = None
    n_best: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Up to N different translations of each line, in the format of Moses."),
    ] = None
    alignments: Annotated[bool, typer.Option("--alignments", help="Write word links such as 0-0 1-2.")] = False
    json: Json = False
    schema: Annotated[
        bool,
        typer.Option(
            "--schema", callback=_schema, is_eager=True, help="Print the JSON schema of what --json writes, and exit."
        ),
    ] = False
    show: Annotated[bool, typer.Option("--show", help="Draw the attention of each sentence.")] = False
    weights: Weights = None
    batch_lines: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Most lines read at a time (default 256).")
    ] = None
    engine: Engine = Engines.torch
    candidates: Candidates = None
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE", help="Lines or arrays of one of several sources; sources not named are missing."
        ),
    ] = None
    wait: Annotated[
        int | None,
        typer.Option(min=1, metavar="K", help="Write words while a line arrives, K source symbols behind (wait-k)."),
    ] = None
    incremental: Annotated[
        bool, typer.Option("--incremental", help="Write words while a line arrives, as the model decides (shift).")
    ] = False
    to: To = None
    via: Annotated[str | None, typer.Option(metavar="LANGUAGE", help="Pivot language: translate into it first.")] = None
    prefix: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Prefix of each translation, one per line; may be empty."),
    ] = None
    memory: MemoryPlace = None
    exact: Exact = False
    dictionary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="Translations of words that take the place of <unk>, of a source NAME if there are several; a later "
            "FILE overrides an earlier one.",
        ),
    ] = None
    replace_unk: Annotated[
        bool | None,
        typer.Option(
            "--replace-unk/--no-replace-unk", help="Whether source words take the place of <unk>; they do by default."
        ),
    ] = None
    glossary: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Terms with their translations (TSV), which translations have to contain."),
    ] = None
    glossary_weight: Annotated[
        float | None,
        typer.Option(min=0, metavar="W", help="Favour the terms by W nats for each symbol, and do not require them."),
    ] = None
    keep: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Terms that are not translated, one per line.")
    ] = None
    protect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="What comes through verbatim: placeholders, tags, ..., or pattern=REGEX; may be repeated.",
        ),
    ] = None
    threads: Threads = None

    @property
    def follows(self) -> bool:
        """Whether words are written while lines arrive."""
        return self.wait is not None or self.incremental

    @property
    def resumable(self) -> bool:
        """Whether every input line becomes exactly one output line."""
        return not (self.follows or (self.n_best and not self.json))


@command(app)
def translate(options: Options) -> None:
    """Translate lines with a run, or with an ensemble of several: one line out for each line in."""
    candidates = two(options.candidates)
    from dragoman.cli import catalogue, sources
    from dragoman.translation.loading import load

    runs, source = _split(options.words)
    fills = catalogue.is_catalogue(source)
    if fills:
        _check_catalogue(options, source)
    memory = sources.memory_files(options.memory, runs)
    _check(options, runs, source, memory)
    asked = _asked(options, runs, candidates, memory)
    size = 1 if is_typed(source) else options.batch_lines or PORTION
    done = kept(options.output, asked if options.resumable else None, size, resume=options.resume)
    if options.follows:
        from dragoman.cli.following import follow

        _check_following(options, runs)
        translator = load(
            runs, weights=options.weights, dictionary=options.dictionary or (), replace_unk=options.replace_unk
        )
        follow(translator, source, options.output, done, wait=options.wait, to=options.to)
        return
    demanded = _demanded(options)
    translator = load(
        runs,
        weights=options.weights,
        engine=options.engine.value,
        candidates=candidates,
        memory=options.memory,
        dictionary=options.dictionary or (),
        replace_unk=options.replace_unk,
    )
    if options.via and translator.codec.unknown and translator.codec.unknown.dictionaries:
        raise UserError("--via: a dictionary has words of two languages, and a third stands between; leave out one")
    if options.via and not translator.marks:
        raise UserError("--via: goes by way of another language, and this run has no others (data.pairs)")
    if fills:
        search = sources.search_of(translator, options.search, options.beam)
        named = Path(f"{source} (texts to translate)")  # in warnings, before the number of one
        translated = partial(_translated, translator, source=named, options=options, search=search, demanded=demanded)
        catalogue.fill(source, options.output, translator, options.to, translated)
        return
    _translate(translator, source, options, done, asked, demanded)


def _split(words: Sequence[Path]) -> tuple[list[Path], Path]:
    """Split RUN... [FILE] into runs and a file: the last word is a file if it is no folder and a run precedes it."""
    *runs, last = words
    return (runs, last) if runs and not last.is_dir() else ([*runs, last], Path("-"))


def _check(options: Options, runs: Sequence[Path], source: Path, memory: Sequence[Path]) -> None:
    """Raises UserError if files or options do not go together."""
    from dragoman.run.folder import RunFolder

    written = [("--output", path) for path in all_written(options.output)]
    read = [source, *(Path(each.partition("=")[2]) for each in options.source or ()), *memory]
    read += [options.prefix] if options.prefix else []
    read += _dictionaries(options)
    read += [*(options.glossary or ()), *(options.keep or ())]
    read += [RunFolder(run).weights(options.weights) for run in runs if options.weights]
    outputs.check(written, read, runs)
    if options.via and (options.alignments or options.json or options.show):
        raise UserError("--via: what a model looked at is the translation in between; leave out one")
    if options.dictionary and options.replace_unk is False:
        raise UserError(
            "--dictionary: is for what takes the place of <unk>, and --no-replace-unk leaves it; leave out one"
        )
    if options.via and (options.glossary or options.keep or options.protect):
        raise UserError("--via: terms and spans would have to be those of the translation in between; leave out one")
    if options.glossary_weight is not None and not (options.glossary or options.keep):
        raise UserError("--glossary-weight: there are no terms (--glossary, --keep)")
    if options.alignments and options.json:
        raise UserError("--alignments: the objects of --json have them; leave out one")
    if options.resume and not options.resumable:
        raise UserError(
            "--resume: continues translations of whole lines, without --wait and --incremental, and --n-best as --json"
        )


def _dictionaries(options: Options) -> list[Path]:
    """Return the files of `--dictionary`, which may be named `SOURCE=FILE`."""
    return [Path(each[each.find("=") + 1 :]) for each in options.dictionary or ()]


def _check_following(options: Options, runs: Sequence[Path]) -> None:
    """Raises UserError for options that cannot be used while lines arrive."""
    way = "--incremental" if options.wait is None else "--wait"
    refused = {
        "--incremental": options.incremental and options.wait is not None,
        "--beam": options.beam,
        "--search": options.search not in (None, "greedy"),
        "--n-best": options.n_best,
        "--alignments": options.alignments,
        "--json": options.json,
        "--show": options.show,
        "--engine": options.engine != Engines.torch,
        "--candidates": options.candidates,
        "--batch-lines": options.batch_lines,
        "--source": options.source,
        "--via": options.via,
        "--prefix": options.prefix,
        "--memory": options.memory,
        "--exact": options.exact,
        "--glossary": options.glossary,
        "--keep": options.keep,
        "--protect": options.protect,
        "several RUNs": len(runs) > 1,
    }
    for option, given in refused.items():
        if given:
            raise UserError(f"{option}: {way} writes word by word, by greedy search with engine torch; leave out one")


def _check_catalogue(options: Options, source: Path) -> None:
    """Raises UserError for options that are about lines."""
    refused = {
        "--resume": options.resume,
        "--n-best": options.n_best,
        "--alignments": options.alignments,
        "--json": options.json,
        "--show": options.show,
        "--source": options.source,
        "--prefix": options.prefix,
        "--wait": options.wait,
        "--incremental": options.incremental,
    }
    for option, given in refused.items():
        if given:
            raise UserError(f"{option}: is about lines of text, and {source} is a catalogue; leave it out")


def _asked(
    options: Options, runs: Sequence[Path], candidates: tuple[int, int] | None, memory: Sequence[Path]
) -> Mapping[str, Any]:
    """Return the options that the output depends on."""
    from dragoman.cli.sources import digests

    return {
        "command": "translate",
        "RUN": [os.path.realpath(run) for run in runs],
        "--weights": options.weights,
        "--engine": options.engine,
        "--candidates": candidates,
        "--search": options.search,
        "--beam": options.beam,
        "--n-best": options.n_best,
        "--alignments": options.alignments,
        "--json": options.json,
        "--batch-lines": options.batch_lines,
        "--source": [each.partition("=")[0] for each in options.source or ()],
        "--to": options.to,
        "--via": options.via,
        "--prefix": bool(options.prefix),
        "--memory": digests(memory),
        "--exact": options.exact,
        "--dictionary": digests(_dictionaries(options)),
        "--replace-unk": options.replace_unk,
        "--glossary": digests(options.glossary or ()),
        "--glossary-weight": options.glossary_weight,
        "--keep": digests(options.keep or ()),
        "--protect": options.protect,
    }


def _demanded(options: Options) -> "Asked":
    """Return the terms and the protected spans that translations have to contain."""
    from dragoman.text import glossary
    from dragoman.text.protection import Protection
    from dragoman.translation.demands import Asked

    terms = [*map(glossary.read, options.glossary or ()), *map(glossary.read_kept, options.keep or ())]
    return Asked(glossary.together(terms), options.glossary_weight or None, Protection.named(options.protect or ()))


def _translate(
    translator: "Translator",
    source: Path,
    options: Options,
    done: int | None,
    asked: Mapping[str, Any],
    demanded: "Asked",
) -> None:
    """Translate line by line, after the lines that are done."""
    from dragoman.cli import sources
    from dragoman.cli.progress import progress

    target, counts = options.output, Counter[str]()
    search = sources.search_of(translator, options.search, options.beam)
    with ExitStack() as stack:
        noted = stack.enter_context(noting(target, done if options.resumable else None, asked))
        texts = stack.enter_context(output(target, done))
        source, lines = sources.read(source, options.source or (), options.prefix, translator)
        if target and done:
            deque(done_before(lines, done, source, target), maxlen=0)
        stack.enter_context(left_behind(target, resumable=options.resumable))
        advance = stack.enter_context(progress(source, target, done or 0))
        for portion in portions(lines, options.batch_lines or PORTION, typed=is_typed(source), done=done or 0):
            found = _translated(translator, portion, source, options, search, demanded)
            noted(portion.lines)
            for number, translation in enumerate(found, start=portion.first - 1):
                _write(texts, number, translation, options)
                counts["similar" if any(each.match for each in translation.sources) else "new"] += 1
            advance(len(found))
    if options.memory:
        tell(f"{options.memory}: has a similar sentence to {counts['similar']:,} of {counts.total():,} lines")


def _translated(
    translator: "Translator",
    portion: "Portion[tuple[Given, ...]]",
    source: Path,
    options: Options,
    search: "Spec",
    demanded: "Asked",
) -> "list[Translation]":
    """Return the translations of some lines."""
    translated = partial(translator.translate, beam_size=options.beam, search=search)
    given = [line[:-1] for line in portion.lines] if options.prefix else portion.lines
    prefix = [str(line[-1]) for line in portion.lines] if options.prefix else None
    if options.via:
        between = translated(given, to=options.via)
        warn(source, portion.first, (translation.left_out for translation in between))
        given = [(translation.text,) for translation in between]
    found = translated(
        given, to=options.to, n_best=options.n_best or 1, prefix=prefix, exact=options.exact, asked=demanded
    )
    warn(source, portion.first, (translation.left_out for translation in found))
    for number, translation in enumerate(found, start=portion.first):
        missing = [each.text for each in translation.spans if each.target is None]
        if options.glossary_weight is None:
            missing += [each.text for each in translation.terms if each.target is None]
        if missing:
            tell(f"{shown(source)}:{number}: not in the translation: {', '.join(missing)}")
    return found


def _write(texts: Output, number: int, translation: "Translation", options: Options) -> None:
    texts.write(_lines(number, translation, options))
    if options.show:
        from rich.console import Console

        from dragoman.visualisation import heatmap

        seen = translation.attention_matrix
        grid = heatmap.terminal(seen.attention, seen.columns, translation.words)
        Console(stderr=True).print(grid)


def _lines(number: int, translation: "Translation", options: Options) -> Iterator[str]:
    """Yield the output lines: the text, followed by alignments if asked for; an n-best list in the format of Moses,
    with line numbers from 0; or one JSON object, which has everything.
    """
    if options.json:
        from dragoman.translation.result import Result

        yield Result(translation).line()
        return
    if options.n_best is None:
        fields = [one_line(translation.text), *_alignment(translation, options)]
        yield " ||| ".join(fields)
    for found in translation.n_best if options.n_best else ():
        fields = [str(number), one_line(found.text), *_alignment(found, options)]
        yield " ||| ".join([*fields, f"F0= {found.log_prob:.4f}", f"{found.score:.4f}"])


def _alignment(translation: "Translation", options: Options) -> list[str]:
    """Return the links to each source."""
    return [pharaoh(source.alignment) for source in translation.sources] if options.alignments else []

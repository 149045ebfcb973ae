"""Arguments and options of `dragoman translate`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

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
    known_metric,
)


def printed_schema(wanted: bool) -> bool:
    """Print the schema of translations in JSON, if that is wanted."""
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
    mbr: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            callback=known_metric,
            help="Minimum Bayes risk: of many samples the one that is most like the others, by a metric such as chrf.",
        ),
    ] = None
    samples: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="How many translations --mbr compares (100), samples or of --search."),
    ] = None
    rerank: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Of many translations the best by the weights that `tune` has found."),
    ] = None
    criteria: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="N-best lists with figures NAME= X of your own, for --rerank."),
    ] = None
    min_confidence: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            metavar="X",
            help="Leave lines empty of which a run that `calibrate` has calibrated is less sure than that.",
        ),
    ] = None
    alignments: Annotated[bool, typer.Option("--alignments", help="Write word links such as 0-0 1-2.")] = False
    json: Json = False
    schema: Annotated[
        bool,
        typer.Option(
            "--schema",
            callback=printed_schema,
            is_eager=True,
            help="Print the JSON schema of what --json writes, and exit.",
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
    shards: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Translate FILE in N parts, by workers on one machine or several (extra ray)."
        ),
    ] = None
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Processes that translate shards; one for each core.")
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


def split(words: Sequence[Path]) -> tuple[list[Path], Path]:
    """Split RUN... [FILE] into runs and a file: the last word is a file if it is no folder and a run precedes it."""
    *runs, last = words
    return (runs, last) if runs and not last.is_dir() else ([*runs, last], Path("-"))

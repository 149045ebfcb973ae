"""Arguments and options of `dragoman translate`, each with its rules and what `--resume` compares of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from dragoman.cli.option_rules import Conflicts, Requires, ResumeValue, digests
from dragoman.cli.options import (
    Beam,
    Candidates,
    Engine,
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

# Rules that many options have.
WHOLE_LINES = Conflicts("--wait", "--incremental", because="simultaneous translation uses greedy search with one model")
WORDS = Conflicts(
    "--shards",
    "several RUNs",
    "--search other than greedy",
    because="simultaneous translation uses greedy search with one model",
)
LINES = Requires("lines of text", because="documents are not translated line by line")
RECORDED = ResumeValue()
SEARCHED = (WHOLE_LINES, RECORDED)
WRITTEN = (WHOLE_LINES, LINES, RECORDED)
FILES = (WHOLE_LINES, ResumeValue(digests))
SIDE_BY_SIDE = Conflicts("--shards", because="shards are translated in parallel")


def dictionary_files(names: Sequence[str] | None) -> list[Path]:
    """Return the files of `--dictionary`, which may be named `SOURCE=FILE`."""
    return [Path(name if Path(name).exists() else name[name.find("=") + 1 :]) for name in names or ()]


def _print_schema(wanted: bool) -> bool:
    """Print the schema of translations in JSON, if that is wanted."""
    if wanted:
        from dragoman.translation import json_schema

        typer.echo(json_schema.schema(), nl=False)
        raise typer.Exit
    return wanted


Schema = Annotated[
    bool,
    typer.Option(
        "--schema", callback=_print_schema, is_eager=True, help="Print the JSON schema of the --json output and exit."
    ),
]


class TranslateOptions(NamedTuple):
    """Arguments and options of `dragoman translate`."""

    words: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN... [FILE]",
            help="Folders of trained runs (several form an ensemble), and the file to translate, one "
            "sentence per line. Default: standard input, or -.",
        ),
    ]
    output: OutputFile = None
    resume: Annotated[
        Resume,
        Conflicts("--shards", because="the same command continues with the shards that are missing"),
        Conflicts("--wait", "--incremental", "--n-best without --json", because="it continues whole lines"),
        LINES,
    ] = False
    search: Annotated[Search, RECORDED] = None
    beam: Annotated[Beam, SEARCHED] = None
    n_best: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Write up to N different translations per line, in Moses format."),
        WRITTEN,
    ] = None
    mbr: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC",
            callback=known_metric,
            help="Minimum Bayes risk decoding: choose the translation with the highest expected score under a "
            "metric such as chrf.",
        ),
        SEARCHED,
    ] = None
    samples: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of translations that --mbr compares; they are sampled unless --search is given (default 100).",
        ),
        Requires("--mbr", because="--search sample --n-best N writes samples"),
        RECORDED,
    ] = None
    rerank: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rerank translations with the weights from `tune`."),
        Conflicts("--mbr", because="both select the best translation"),
        Conflicts("--pivot", because="weights are tuned on direct translations"),
        FILES,
    ] = None
    criteria: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="N-best lists with additional scores (NAME= X) for --rerank."),
        Requires("--rerank"),
        ResumeValue(digests),
    ] = None
    min_confidence: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            metavar="X",
            help="Output an empty line where the confidence of a calibrated run is below X (see `calibrate`).",
        ),
        Conflicts("--n-best without --json", because="it filters single translations"),
        Conflicts("several RUNs", because="calibration applies to a single run"),
        SEARCHED,
    ] = None
    alignments: Annotated[
        bool,
        typer.Option("--alignments", help="Write word alignments such as 0-0 1-2."),
        Conflicts("--json", because="its objects contain the alignments"),
        WRITTEN,
    ] = False
    json: Annotated[Json, WRITTEN] = False
    schema: Schema = False
    show: Annotated[
        bool,
        typer.Option("--show", help="Draw the attention weights of each sentence."),
        SIDE_BY_SIDE,
        WHOLE_LINES,
        LINES,
    ] = False
    weights: Annotated[Weights, RECORDED] = None
    batch_lines: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Maximum number of lines read at once (default 256)."),
        WRITTEN,
    ] = None
    engine: Annotated[
        Engine,
        SEARCHED,
        Conflicts(
            "--glossary",
            "--do-not-translate",
            "--shortlist",
            "--mbr",
            "--min-confidence",
            value="ctranslate2",
            because="it searches by itself",
        ),
    ] = "torch"
    shortlist: Annotated[Candidates, SEARCHED] = None
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="Sentences or feature arrays of one of several sources; sources not given are treated as missing.",
        ),
        WHOLE_LINES,
        LINES,
        ResumeValue(lambda named: [text.partition("=")[0] for text in named or ()]),
    ] = None
    wait: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="K",
            help="Simultaneous translation: write words while the line arrives, K source tokens behind (wait-k).",
        ),
        Conflicts("--incremental", because="the model then decides when to read"),
        WORDS,
        LINES,
    ] = None
    incremental: Annotated[
        bool,
        typer.Option(
            "--incremental",
            help="Simultaneous translation: write words while the line arrives, when the model decides to (shift).",
        ),
        WORDS,
        LINES,
    ] = False
    to: Annotated[To, RECORDED] = None
    pivot: Annotated[
        str | None,
        typer.Option(metavar="LANGUAGE", help="Translate through this pivot language."),
        Conflicts("--alignments", "--json", "--show", because="attention refers to the pivot translation"),
        Conflicts("--glossary", "--do-not-translate", because="terms would have to apply to the pivot language"),
        SEARCHED,
    ] = None
    prefix: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of target prefixes to force, one per line; lines may be empty."),
        WHOLE_LINES,
        LINES,
        ResumeValue(bool),
    ] = None
    translation_memory: Annotated[MemoryPlace, WHOLE_LINES] = None
    exact: Annotated[Exact, SEARCHED] = False
    dictionary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="Dictionary of word translations that replace `<unk>`; NAME= selects one of several "
            "sources. May be repeated; later files override earlier ones.",
        ),
        Conflicts("--no-replace-unk", because="its words replace <unk>"),
        ResumeValue(lambda names: digests(dictionary_files(names))),
    ] = None
    replace_unk: Annotated[
        bool | None,
        typer.Option(
            "--replace-unk/--no-replace-unk",
            help="Replace `<unk>` by source words (the default), or leave it in the output.",
        ),
        RECORDED,
    ] = None
    glossary: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Glossary (TSV) of terms and translations that must appear in the output."),
        FILES,
    ] = None
    glossary_weight: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="W", help="Treat glossary terms as soft constraints with a bonus of W nats per token."
        ),
        Requires("--glossary", "--do-not-translate"),
        RECORDED,
    ] = None
    do_not_translate: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Terms to copy untranslated, one per line."), FILES
    ] = None
    protect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help="Spans to copy unchanged: placeholders, tags, ..., or pattern=REGEX. May be repeated.",
        ),
        SEARCHED,
    ] = None
    shards: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Split FILE into N shards and translate them in parallel on one or more machines (extra ray).",
        ),
        LINES,
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of worker processes for --shards. Default: one per core."),
        Requires("--shards"),
    ] = None
    threads: Threads = None

    @property
    def follows(self) -> bool:
        """Whether words are written while lines arrive."""
        return self.wait is not None or self.incremental

    @property
    def runs(self) -> list[Path]:
        return split(self.words)[0]

    @property
    def file(self) -> Path:
        """The file to translate."""
        return split(self.words)[1]

    @property
    def several_runs(self) -> bool:
        return len(self.runs) > 1

    @property
    def search_other_than_greedy(self) -> bool:
        return self.search not in (None, "greedy")

    @property
    def lines_of_text(self) -> bool:
        from dragoman.cli.translate_documents import is_document

        return not is_document(self.file, self.runs)

    @property
    def detailed(self) -> bool:
        """Whether more is written than texts and scores."""
        return self.json or self.alignments or self.show or self.min_confidence is not None

    @property
    def n_best_without_json(self) -> bool:
        return self.n_best is not None and not self.json

    @property
    def resumable(self) -> bool:
        """Whether every input line becomes exactly one output line."""
        return not (self.follows or self.n_best_without_json)

    @property
    def line_files(self) -> list[Path]:
        """The files that are read line by line."""
        named = [Path(text.partition("=")[2]) for text in self.source or ()]
        return [*named, *([] if named and str(self.file) == "-" else [self.file]), *filter(None, [self.prefix])]


def split(words: Sequence[Path]) -> tuple[list[Path], Path]:
    """Split RUN... [FILE] into runs and a file: the last word is a file if it is no folder and a run precedes it."""
    *runs, last = words
    return (runs, last) if runs and not last.is_dir() else ([*runs, last], Path("-"))

"""`dragoman report`: one page about one or several runs."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

import typer

from dragoman.cli import counting, outputs
from dragoman.cli.option_rules import Requires
from dragoman.cli.options import OneBased, Threads, To, command
from dragoman.cli.streams import one_stream
from dragoman.corpus.pharaoh import Gold
from dragoman.errors import UserError
from dragoman.files.reading import read_sentences
from dragoman.run.folder import RunFolder
from dragoman.text.normalizer import printable

if TYPE_CHECKING:
    from dragoman.reporting import TranslatedRun
    from dragoman.run.run import Run
    from dragoman.translation.source_inputs import Text

Pairs: TypeAlias = "list[tuple[Text, str | None]]"  # with the reference, if there is one


class ReportOptions(NamedTuple):
    """Arguments and options of `dragoman report`."""

    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs to compare.")]
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", callback=outputs.writable, help="HTML page to write. Default: report.html in the run."
        ),
    ] = None
    sentences: Annotated[
        Path | None,
        typer.Option(help="Sentences to translate and show, each optionally followed by a tab and a reference."),
    ] = None
    gold: Annotated[Path | None, typer.Option(help="Gold alignments of these sentences in Pharaoh format.")] = None
    one_based: Annotated[OneBased, Requires("--gold")] = False
    corpus: Annotated[
        Path | None,
        typer.Option(help="Text in the target language for word frequencies. Default: the training data."),
    ] = None
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Also show attributions, why the model does not produce the reference, the search tree, "
            "and similar training pairs.",
        ),
        Requires("--sentences", "--gold", because="the development sentences are shown as saved in validation"),
    ] = False
    to: Annotated[To, Requires("--sentences", because="development sentences have their target language already")] = (
        None
    )
    threads: Threads = None


@command(epilog="Example: dragoman report runs/en-de -o report.html")
def report(options: ReportOptions) -> None:
    """Write an interactive HTML report of one or more runs.

    Shows scores with confidence intervals, comparisons with the first run, attention of any sentence, quality by
    length, edits and word frequency, and training curves.
    """
    from dragoman import reporting
    from dragoman.evaluation.groups import frequencies
    from dragoman.run.run import Run
    from dragoman.visualization.report import page

    runs, output, sentences = options.runs, options.output, options.sentences
    read = [sentences, options.gold, options.corpus]
    one_stream(*read)
    data = chain.from_iterable(reporting.list_data_files(Run.load(run)) for run in runs)
    outputs.check([("--output", output)], [*read, *data], runs)
    lines = list(read_sentences(sentences)) if sentences else None
    links = counting.read_gold_links(options.gold, one_based=options.one_based)
    frequency = frequencies(read_sentences(options.corpus)) if options.corpus else None
    translated = [_translated(run, lines, links, options) for run in runs]
    if str(output) == "-":
        typer.echo(page(reporting.contents(translated, frequency)), nl=False)
        return
    path = output or RunFolder(runs[0]).report
    reporting.write_page(path, translated, frequency)
    typer.echo(printable(str(path)))


def _translated(
    folder: Path, lines: Sequence[str] | None, links: Sequence[Gold], options: ReportOptions
) -> "TranslatedRun":
    from dragoman import inspection
    from dragoman.data.language import is_only_text
    from dragoman.reporting import TranslatedRun
    from dragoman.run.run import Run
    from dragoman.translation.loading import load

    run, gold_file = Run.load(folder), options.gold
    if gold_file and not is_only_text(run.sources):
        raise UserError(f"--gold requires a run with a single text source; {folder} has other sources")
    if lines is not None:
        pairs = [_sentence(line, f"{options.sentences}:{number}", run) for number, line in enumerate(lines, start=1)]
    elif gold_file:
        pairs = _development_pairs(run, gold_file)
    else:
        return TranslatedRun(run, *inspection.development(run))
    if gold_file and len(links) != len(pairs):
        raise UserError(f"{gold_file} has {len(links):,} lines, but there are {len(pairs):,} sentences")
    if gold_file and any(reference is None for _, reference in pairs):
        raise UserError(f"{gold_file}: --gold requires a reference for every sentence, after a tab")
    sentences, counts = inspection.translated(load(folder), pairs, links, to=options.to, explain=options.explain)
    return TranslatedRun(run, sentences, links=counts)


def _development_pairs(run: "Run", gold: Path) -> Pairs:
    """Return the development pairs that the gold links belong to."""
    from dragoman.corpus.examples import read_examples

    folder, data = run.folder.path, run.config.data
    if data.pairs:
        raise UserError(f"{gold}: {folder} is multilingual; add --sentences and --to")
    try:
        examples = list(read_examples(data.dev, data.source, data.target, data.features))
    except UserError as error:  # a run may have been moved away from its training data
        raise UserError(f"{folder}: cannot read its development sentences ({error}); add --sentences") from error
    return [(example.sources, example.target) for example in examples]


def _sentence(line: str, where: str, run: "Run") -> "tuple[Text, str | None]":
    """Split a line at tabs into the text of each source and, if there is one more, the reference translation."""
    names = [source.name for source in run.sources if source.name not in run.config.data.recalled]
    columns = line.split("\t")
    if len(columns) not in (len(names), len(names) + 1):
        raise UserError(f"{where}: expected {', '.join(names)} and optionally a reference, separated by tabs")
    if len(names) == 1:
        return columns[0], columns[1] if len(columns) > 1 else None
    return tuple(columns[: len(names)]), columns[len(names)] if len(columns) > len(names) else None

"""Texts and runs: `translate`, `postedit`, `score`, `align`, `evaluate`, `lexicon`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from dragoman.commands.options import (
    ArrayFiles,
    Beam,
    Candidates,
    Engine,
    Engines,
    ErrorUnits,
    Json,
    OneBased,
    Resume,
    RunPath,
    Search,
    SourceFile,
    TargetFile,
    Threads,
    To,
    Tokenisers,
    Weights,
    two,
    writable,
)

app = typer.Typer()


def _schema(wanted: bool) -> bool:
    if wanted:
        from dragoman.translation import json_form

        typer.echo(json_form.schema(), nl=False)
        raise typer.Exit
    return wanted


@app.command()
def translate(
    words: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN... [FILE]", help="Folders of trained runs, and sentences, one a line; - is standard input."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", callback=writable, help="File to write; standard output if not given."),
    ] = None,
    resume: Resume = False,
    search: Search = None,
    beam: Beam = None,
    n_best: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Up to N different translations of each line, as Moses lists."),
    ] = None,
    alignments: Annotated[bool, typer.Option("--alignments", help="Links between words, such as 0-0 1-2.")] = False,
    json: Json = False,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema", callback=_schema, is_eager=True, help="Print the JSON schema of what --json writes, and exit."
        ),
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Draw the attention of each sentence.")] = False,
    weights: Weights = None,
    batch_lines: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Lines read at a time, at most (otherwise 256).")
    ] = None,
    engine: Engine = Engines.torch,
    candidates: Candidates = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE", help="The lines, or arrays, of one of several sources; those not named are missing."
        ),
    ] = None,
    wait: Annotated[
        int | None,
        typer.Option(min=1, metavar="K", help="Write words while a line arrives, K source symbols behind (wait-k)."),
    ] = None,
    incremental: Annotated[
        bool, typer.Option("--incremental", help="Write words while a line arrives, as the model decides (shift).")
    ] = False,
    to: To = None,
    via: Annotated[
        str | None, typer.Option(metavar="LANGUAGE", help="Translate to this language first, and that to the other.")
    ] = None,
    prefix: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="How each translation begins: as many lines, which may be empty."),
    ] = None,
    threads: Threads = None,
) -> None:
    """Translate lines with a run, or with the mean of several: one line out for each line in."""
    from dragoman.commands import translate

    wanted = translate.Wanted(
        search=search,
        beam=beam,
        n_best=n_best,
        alignments=alignments,
        as_json=json,
        show=show,
        weights=weights,
        portion=batch_lines,
        engine=engine.value,
        candidates=two(candidates),
        wait=wait,
        incremental=incremental,
        sources=tuple(source or ()),
        to=to,
        via=via,
        prefix=prefix,
        resume=resume,
    )
    translate.translate(*translate.split(words), output, wanted)


@app.command()
def postedit(
    run: RunPath,
    translation: Annotated[Path, typer.Option(metavar="FILE", help="Translations, one a line; - is standard input.")],
    source: Annotated[Path | None, typer.Option(metavar="FILE", help="What they are translations of.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", callback=writable, help="File to write; standard output if not given."),
    ] = None,
    json: Json = False,
    show: Annotated[bool, typer.Option("--show", help="Show the words that are changed, in colour.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE.html", callback=writable, help="A page that shows them.")
    ] = None,
    weights: Weights = None,
    threads: Threads = None,
    resume: Resume = False,
) -> None:
    """Correct translations with a run that has learnt from corrected ones."""
    from dragoman.commands import postedit

    postedit.postedit(
        run, source, translation, output, as_json=json, show=show, page=html, weights=weights, resume=resume
    )


@app.command()
def score(
    run: RunPath,
    source: SourceFile,
    target: TargetFile,
    per_symbol: Annotated[bool, typer.Option("--per-symbol", help="A third column: log P for each symbol.")] = False,
    json: Json = False,
    weights: Weights = None,
    to: To = None,
    arrays: ArrayFiles = None,
    threads: Threads = None,
) -> None:
    """For each pair log P(target | source) in nats, a tab, and its number of symbols."""
    if per_symbol and json:
        raise typer.BadParameter("--per-symbol is a column, and --json has log P of every symbol: one or the other")
    from dragoman.commands import pairs

    pairs.score(run, source, target, per_symbol=per_symbol, as_json=json, weights=weights, to=to, given=arrays or ())


@app.command()
def align(
    run: RunPath,
    source: SourceFile,
    target: TargetFile,
    gold: Annotated[Path | None, typer.Option(help="Gold links, as Pharaoh lines: tell the error rate.")] = None,
    one_based: OneBased = False,
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Link all words with such a weight, not just the best."),
    ] = None,
    json: Json = False,
    weights: Weights = None,
    to: To = None,
    arrays: ArrayFiles = None,
    threads: Threads = None,
) -> None:
    """Link the words of given pairs by attention: a Pharaoh line such as 0-0 1-2 for each."""
    from dragoman.commands import pairs

    if one_based and not gold:
        raise typer.BadParameter("--one-based goes with --gold")
    if threshold is not None and json:
        raise typer.BadParameter("--threshold chooses links, and --json has every weight: one or the other")
    pairs.align(
        run,
        source,
        target,
        gold=gold,
        one_based=one_based,
        threshold=threshold,
        as_json=json,
        weights=weights,
        to=to,
        given=arrays or (),
    )


class _NamesMetrics(TyperCommand):
    """Imports the table of metrics when the help is asked for, and no sooner."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from dragoman.evaluation.metrics import METRICS

        for option in self.params:
            if isinstance(option, TyperOption) and option.name == "metrics":
                option.help = f"{option.help}{', '.join(METRICS)}."
        super().format_help(ctx, formatter)


@app.command(cls=_NamesMetrics)
def evaluate(
    references: Annotated[list[Path], typer.Argument(metavar="REFERENCE", help="Files of references.")],
    translations: Annotated[
        Path | None, typer.Option("--input", "-i", help="Translations; standard input if not given.")
    ] = None,
    run: Annotated[
        list[Path] | None, typer.Option(help="A run that translates --source instead; several do it together.")
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="What --run is to translate; of several sources NAME=FILE for each."),
    ] = None,
    metrics: Annotated[str, typer.Option(help="Names with commas between them: ")] = "bleu,chrf,ter",
    tokenise: Annotated[Tokenisers, typer.Option(help="How BLEU separates words.")] = Tokenisers.v13a,
    unit: Annotated[ErrorUnits, typer.Option(help="What token_error_rate counts.")] = ErrorUnits.token,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore letter case.")] = False,
    json: Annotated[bool, typer.Option("--json", help="As sacreBLEU's JSON.")] = False,
    search: Search = None,
    beam: Beam = None,
    engine: Engine = Engines.torch,
    weights: Weights = None,
    candidates: Candidates = None,
    to: To = None,
    threads: Threads = None,
) -> None:
    """Score translations (or a run) against references: BLEU, chrF, TER and others, with signatures.

    Of a run with several languages also the share of translations in another language than --to.
    """
    if (not run) != (not source):
        raise typer.BadParameter("--run and --source go together")
    if run and translations:
        raise typer.BadParameter("--input has translations, and --run makes them: one or the other")
    of_runs = {
        "--search": search,
        "--beam": beam,
        "--engine": engine != Engines.torch,
        "--weights": weights,
        "--candidates": candidates,
        "--to": to,
        "--threads": threads,
    }
    for option, given in of_runs.items():
        if given and not run:
            raise typer.BadParameter(f"{option} goes with --run")
    from dragoman.commands import evaluate

    measures = evaluate.Measures(metrics, tokenise, lowercase, unit)
    if run and source:
        way = evaluate.Way(search, beam, engine.value, weights, two(candidates), to)
        evaluate.evaluate_run(run, source, references, measures, way, as_json=json)
    else:
        evaluate.evaluate_lines(translations or Path("-"), references, measures, as_json=json)


@app.command()
def lexicon(
    run: RunPath,
    source: Annotated[
        Path | None, typer.Argument(metavar="SOURCE", help="Sentences, one a line, where the run's data are gone.")
    ] = None,
    target: Annotated[Path | None, typer.Argument(metavar="TARGET", help="Their translations, line by line.")] = None,
    threads: Threads = None,
) -> None:
    """Find which target symbols translate each source symbol: what `--candidates` searches among."""
    if (source is None) != (target is None):
        raise typer.BadParameter("SOURCE and TARGET go together")
    from dragoman.commands import lexicon

    lexicon.lexicon(run, (source, target) if source and target else None)

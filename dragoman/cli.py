"""The command line: one thin function per command. What a command needs is imported when it runs, torch above all."""

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from dragoman import __version__
from dragoman.commands import augmenting
from dragoman.commands.group import Commands
from dragoman.commands.options import (
    ArrayFiles,
    Candidates,
    Configuration,
    Engines,
    Layers,
    RunPath,
    Searches,
    SourceFile,
    TargetFile,
    To,
    Tokenisers,
    Weights,
    named,
    two,
)

# What typer takes for unknown options are overrides of the configuration.
OVERRIDES = {"ignore_unknown_options": True}

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Attentional sequence-to-sequence learning: train a small translator, use it, look inside it.",
)
debug = typer.Typer(no_args_is_help=True, help="Look at a corpus or a configuration before training.")
app.add_typer(debug, name="debug")
app.add_typer(augmenting.app, name="augment")


def _version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"dragoman {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Tell the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the corpus and the run are written.")] = Path(
        "runs/demo"
    ),
) -> None:
    """The whole path on an embedded corpus, in minutes: train, translate, score, show."""
    from dragoman import demo

    demo.main(folder)


@app.command()
def init(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Sentences, one a line; or a .tsv.")],
    target: Annotated[Path | None, typer.Argument(metavar="TARGET", help="Their translations, line by line.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", callback=named, help="Configuration to write.")] = Path(
        "config.yaml"
    ),
    dev: Annotated[
        str | None,
        typer.Option(metavar="PREFIX", help="Development pairs: PREFIX.en and PREFIX.de, or a .tsv."),
    ] = None,
) -> None:
    """Write a commented configuration with sizes chosen for your sentence pairs."""
    from dragoman.commands import corpora

    corpora.initialise(source, target, output, dev)


@debug.command("data", context_settings=OVERRIDES)
def debug_data(config: Configuration) -> None:
    """Statistics and problems of the corpora in a configuration."""
    from dragoman.commands import corpora

    corpora.debug_data(config)


@debug.command("config", context_settings=OVERRIDES)
def debug_config(config: Configuration) -> None:
    """A configuration checked, with every option spelled out and explained, and the size of its model."""
    from dragoman.commands import configured

    configured.debug_config(config)


@app.command(context_settings=OVERRIDES)
def train(config: Configuration) -> None:
    """Train; the same command again goes on where it stopped.

    With N workers on this machine: torchrun --nproc-per-node N -m -- dragoman train CONFIG
    """
    from dragoman.commands import configured

    configured.train(config)


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
        typer.Option("--output", "-o", help="File to write; standard output if not given."),
    ] = None,
    search: Annotated[Searches | None, typer.Option(help="How to search; the run's own way if not given.")] = None,
    beam: Annotated[int | None, typer.Option(min=1, metavar="N", help="Width of the beam.")] = None,
    n_best: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="N translations of each line, as Moses lists."),
    ] = None,
    alignments: Annotated[bool, typer.Option("--alignments", help="Links between words, such as 0-0 1-2.")] = False,
    attention: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Write words and weights of each line."),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Draw the attention of each sentence.")] = False,
    weights: Weights = None,
    batch_lines: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Lines read at a time, at most (otherwise 256).")
    ] = None,
    engine: Annotated[
        Engines, typer.Option(help="What computes: torch, int8 (8-bit integers), or onnx after `export --onnx`.")
    ] = Engines.torch,
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
) -> None:
    """Translate lines with a run, or with the mean of several: one line out for each line in."""
    from dragoman.commands import translate

    wanted = translate.Wanted(
        search=search,
        beam=beam,
        n_best=n_best,
        alignments=alignments,
        attention=attention,
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
    )
    translate.translate(*translate.split(words), output, wanted)


@app.command()
def postedit(
    run: RunPath,
    translation: Annotated[Path, typer.Option(metavar="FILE", help="Translations, one a line; - is standard input.")],
    source: Annotated[Path | None, typer.Option(metavar="FILE", help="What they are translations of.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; standard output if not given.")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Show the words that are changed, in colour.")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE.html", help="A page that shows them.")] = None,
    weights: Weights = None,
) -> None:
    """Correct translations with a run that has learnt from corrected ones."""
    from dragoman.commands import postedit

    postedit.postedit(run, source, translation, output, show=show, page=html, weights=weights)


@app.command()
def score(
    run: RunPath,
    source: SourceFile,
    target: TargetFile,
    per_symbol: Annotated[bool, typer.Option("--per-symbol", help="A third column: log P for each symbol.")] = False,
    weights: Weights = None,
    to: To = None,
    arrays: ArrayFiles = None,
) -> None:
    """For each pair log P(target | source) in nats, a tab, and its number of symbols."""
    from dragoman.commands import pairs

    pairs.score(run, source, target, per_symbol=per_symbol, weights=weights, to=to, given=arrays or ())


@app.command()
def align(
    run: RunPath,
    source: SourceFile,
    target: TargetFile,
    gold: Annotated[Path | None, typer.Option(help="Gold links, as Pharaoh lines: tell the error rate.")] = None,
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Link all words with such a weight, not just the best."),
    ] = None,
    weights: Weights = None,
    to: To = None,
    arrays: ArrayFiles = None,
) -> None:
    """Link the words of given pairs by attention: a Pharaoh line such as 0-0 1-2 for each."""
    from dragoman.commands import pairs

    pairs.align(run, source, target, gold=gold, threshold=threshold, weights=weights, to=to, given=arrays or ())


@app.command()
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
    metrics: Annotated[
        str, typer.Option(help="Names with commas between them: bleu, chrf, ter, exact_match, token_error_rate.")
    ] = "bleu,chrf,ter",
    tokenise: Annotated[Tokenisers, typer.Option(help="How BLEU separates words.")] = Tokenisers.v13a,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore letter case.")] = False,
    json: Annotated[bool, typer.Option("--json", help="As sacreBLEU's JSON.")] = False,
    candidates: Candidates = None,
    to: To = None,
) -> None:
    """Score translations (or a run) against references: BLEU, chrF, TER and others, with signatures.

    Of a run with several languages also the share of translations in another language than --to.
    """
    if (not run) != (not source):
        raise typer.BadParameter("--run and --source go together")
    if run and translations:
        raise typer.BadParameter("--input has translations, and --run makes them: one or the other")
    for option, given in (("--candidates", candidates), ("--to", to)):
        if given and not run:
            raise typer.BadParameter(f"{option} goes with --run")
    from dragoman.commands import evaluate

    measures = evaluate.Measures(metrics, tokenise, lowercase)
    if run and source:
        evaluate.evaluate_run(run, source, references, measures, as_json=json, candidates=two(candidates), to=to)
    else:
        evaluate.evaluate_lines(translations or Path("-"), references, measures, as_json=json)


@app.command()
def lexicon(
    run: RunPath,
    source: Annotated[
        Path | None, typer.Argument(metavar="SOURCE", help="Sentences, one a line, where the run's data are gone.")
    ] = None,
    target: Annotated[Path | None, typer.Argument(metavar="TARGET", help="Their translations, line by line.")] = None,
) -> None:
    """Find which target symbols translate each source symbol: what `--candidates` searches among."""
    if (source is None) != (target is None):
        raise typer.BadParameter("SOURCE and TARGET go together")
    from dragoman.commands import lexicon

    lexicon.lexicon(run, (source, target) if source and target else None)


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs, side by side.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Page to write; report.html in the run if not given."),
    ] = None,
    sentences: Annotated[
        Path | None,
        typer.Option(help="Sentences to translate and show, with a reference behind a tab, if any."),
    ] = None,
    gold: Annotated[Path | None, typer.Option(help="Their gold links, as Pharaoh lines.")] = None,
    to: To = None,
) -> None:
    """One HTML page: curves, scores, quality by length, attention of any sentence."""
    from dragoman.commands import runs as looking

    looking.report(runs, output, sentences, gold, to)


@app.command()
def features(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Images.")],
    output: Annotated[Path, typer.Option("--output", "-o", callback=named, help="The .npy file to write.")],
    model: Annotated[str, typer.Option(metavar="timm:NAME", help="Network, such as timm:vgg16 or timm:resnet50.")],
    weights: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its weights (.safetensors, .pth); downloaded if not given.")
    ] = None,
    layer: Annotated[
        Layers, typer.Option(help="What is wanted: the regions of a feature map, or one vector of the whole image.")
    ] = Layers.regions,
    stage: Annotated[
        int, typer.Option(metavar="N", help="Which feature map: -1 is the last one, -2 the one before it.")
    ] = -1,
    list_: Annotated[
        Path | None,
        typer.Option("--list", metavar="FILE", help="Names of images, a line each; all by name if not given."),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Images at a time.")] = 32,
) -> None:
    """Images to numbers, by a network that is not trained further: a source for `data.features`."""
    from dragoman.commands import features

    features.features(folder, output, model, weights, layer.value, stage, list_, batch)


@app.command()
def average(
    run: RunPath,
    output: Annotated[Path, typer.Option("--output", "-o", callback=named, help="Weights to write.")],
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILES", help="Weights to average.")] = None,
    last: Annotated[int | None, typer.Option(min=1, metavar="N", help="The last N kept ones.")] = None,
    best: Annotated[int | None, typer.Option(min=1, metavar="N", help="The best N; all if not given.")] = None,
) -> None:
    """The element-wise mean of weights of a run."""
    if sum(map(bool, (files, last, best))) > 1:
        raise typer.BadParameter("FILES, --last and --best are three ways to choose: take one")
    from dragoman.commands import runs

    runs.average(run, files or [], last, best, output)


@app.command()
def export(
    run: RunPath,
    onnx: Annotated[
        bool, typer.Option("--onnx", help="Graphs for ONNX Runtime, in the folder `onnx` of the run.")
    ] = False,
    int8: Annotated[bool, typer.Option("--int8", help="With matrices of 8-bit integers.")] = False,
    weights: Weights = None,
) -> None:
    """Write the model of a run in another form: `translate --engine onnx` uses it."""
    if not onnx:
        raise typer.BadParameter("nothing to export: say --onnx (for ONNX Runtime), or --onnx --int8 (smaller, faster)")
    from dragoman.commands import export

    export.onnx(run, weights, int8=int8)


@app.command()
def info(
    run: Annotated[Path | None, typer.Argument(metavar="RUN", help="Folder of a run.")] = None,
) -> None:
    """What is in a run; without one, what this machine has."""
    from dragoman.commands import runs

    runs.info(run)


def main() -> None:
    """The program `dragoman`."""
    # Python has None for a stream that was closed before it began (`<&-`). One that fails when it is used is told.
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_WRONLY))
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    app(prog_name="dragoman")


if __name__ == "__main__":
    main()

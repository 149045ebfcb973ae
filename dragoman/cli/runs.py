"""Runs and what goes with them: `report`, `features`, `average`, `export`, `info`."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.commands.options import Layers, OneBased, RunPath, Threads, To, Weights, named, writable

app = typer.Typer()


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs, side by side.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", callback=writable, help="Page to write; report.html in the run if not given."),
    ] = None,
    sentences: Annotated[
        Path | None,
        typer.Option(help="Sentences to translate and show, with a reference behind a tab, if any."),
    ] = None,
    gold: Annotated[Path | None, typer.Option(help="Their gold links, as Pharaoh lines.")] = None,
    one_based: OneBased = False,
    to: To = None,
    threads: Threads = None,
) -> None:
    """One HTML page: curves, scores, quality by length, attention of any sentence."""
    if one_based and not gold:
        raise typer.BadParameter("--one-based goes with --gold")
    from dragoman.commands import runs as looking

    looking.report(runs, output, sentences, gold, to, one_based=one_based)


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
    threads: Threads = None,
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
    threads: Threads = None,
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
    threads: Threads = None,
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

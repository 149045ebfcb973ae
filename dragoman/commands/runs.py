"""The commands that look at runs: `report`, `average`, `info`."""

import platform
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

import torch
import typer

from dragoman import __version__, components, devices, inspection
from dragoman.commands.pairs import read_gold
from dragoman.config import DeviceConfig
from dragoman.data.corpus import Pair, read_pairs
from dragoman.errors import UserError
from dragoman.evaluation.metrics import METRICS
from dragoman.files import read_lines
from dragoman.model.weights import mean, read_tensors, write_tensors
from dragoman.run import Run, RunFolder
from dragoman.translator import load
from dragoman.visualisation.report import RunView

LIBRARIES = ("torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "pydantic", "ruamel.yaml", "typer", "rich")


def report(folders: Sequence[Path], target: Path | None, sentences: Path | None, gold: Path | None) -> None:
    """Write one HTML page on one or several runs."""
    given = _sentences(sentences) if sentences else None
    path = target or RunFolder(folders[0]).report
    inspection.write_page(path, [_view(folder, given, gold) for folder in folders])
    typer.echo(str(path))


def _sentences(path: Path) -> list[Pair]:
    """A sentence a line, and behind a tab its reference translation, if there is one."""
    return [Pair(*[*line.split("\t"), ""][:2]) for line in read_lines(path)]


def _view(folder: Path, sentences: list[Pair] | None, gold: Path | None) -> RunView:
    run = Run.load(folder)
    if sentences is None and gold is None:
        return inspection.view(run, *inspection.development(run))
    data = run.config.data
    pairs = list(read_pairs(data.dev, data.source, data.target)) if sentences is None else sentences
    links = read_gold(gold) if gold else []
    if gold and len(links) != len(pairs):
        raise UserError(f"{gold} has {len(links):,} lines, but there are {len(pairs):,} sentences")
    if gold and not all(pair.target for pair in pairs):
        raise UserError(f"{gold}: gold links need the reference of every sentence, behind a tab")
    return inspection.view(run, *inspection.translated(load(folder), pairs, links))


def average(run: Path, files: Sequence[Path], last: int | None, best: int | None, target: Path) -> None:
    """Write the element-wise mean of weights: of files, or of the last or best validations that the run has kept."""
    paths = list(files) or _kept(RunFolder(run), last, best)
    tensors = mean(paths)
    write_tensors(target, tensors, {"mean of": [path.name for path in paths]})
    typer.echo(f"{target}: the mean of {', '.join(path.name for path in paths)}", err=True)


def _kept(folder: RunFolder, last: int | None, best: int | None) -> list[Path]:
    """The weights of validations that are still there; training keeps the best `training.average` of them."""
    Run.load(folder.path)
    if not folder.last_state.is_file():
        raise UserError(f"{folder.path}: this run has no weights yet; `dragoman train` makes them")
    ranked = [int(step) for _, step in read_tensors(folder.last_state)[1]["best"]]
    wanted = last or best or len(ranked)
    if wanted > len(ranked):
        raise UserError(
            f"{folder.path}: {wanted} weights asked for, {len(ranked)} kept (training.average says how many are)"
        )
    steps = sorted(ranked)[-wanted:] if last else ranked[:wanted]
    return [folder.checkpoint(step) for step in steps]


def info(folder: Path | None) -> None:
    """What is in a run; without one, what this machine has."""
    if folder is None:
        _print(_machine())
        return
    run = Run.load(folder)
    sentences, scores = inspection.development(run)
    metrics = [components.build(METRICS, spec) for spec in run.config.metrics] if sentences.texts else []
    measured = [*(metric.corpus(sentences.texts, [sentences.references]) for metric in metrics), *scores]
    _print(
        [
            *inspection.facts(run),
            *((f"development {score.name}", f"{score.value:.2f} ({score.signature})") for score in measured),
            *_files(run.folder),
        ]
    )


def _files(folder: RunFolder) -> Iterable[tuple[str, str]]:
    yield "files", str(folder.path)
    for path in sorted(folder.path.iterdir()):
        inside = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
        size = sum(each.stat().st_size for each in inside)
        yield f"  {path.name}{'/' if path.is_dir() else ''}", f"{size / 1000:,.1f} kB"


def _machine() -> Iterable[tuple[str, str]]:
    yield "dragoman", __version__
    yield "device", str(devices.choose(DeviceConfig()))
    yield "processor", f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}"
    yield "system", platform.platform()
    yield "python", platform.python_version()
    for name in LIBRARIES:
        yield name, metadata.version(name)


def _print(facts: Iterable[tuple[str, str]]) -> None:
    listed = list(facts)
    width = max(len(label) for label, _ in listed)
    for label, value in listed:
        typer.echo(f"{label:<{width}}  {value}")

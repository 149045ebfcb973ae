"""The commands that look at runs: `report`, `average`, `info`."""

import platform
from collections.abc import Iterable, Sequence
from importlib import metadata
from itertools import chain
from pathlib import Path

import typer

from dragoman import __version__, devices, inspection
from dragoman.commands import outputs
from dragoman.commands.lines import one_stream, tell
from dragoman.configuration.config import DeviceConfig
from dragoman.configuration.messages import figure
from dragoman.corpus.examples import corpus_files, read_examples
from dragoman.corpus.pharaoh import Gold, read_gold
from dragoman.data.source import only_text
from dragoman.errors import UserError
from dragoman.files import LONGEST_TEXT, read_lines
from dragoman.model.weights import fill, mean, write_tensors
from dragoman.run import Run, RunFolder
from dragoman.text.printable import printable
from dragoman.training import checkpoint
from dragoman.translation.inputs import Text
from dragoman.translation.loading import load
from dragoman.visualisation.report import RunView, page

LIBRARIES = ("torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "pydantic", "ruamel.yaml", "typer", "rich")


def report(
    folders: Sequence[Path],
    target: Path | None,
    sentences: Path | None,
    gold: Path | None,
    to: str | None,
    *,
    one_based: bool = False,
) -> None:
    """Write one HTML page on one or several runs."""
    one_stream(sentences, gold)
    outputs.check([("--output", target)], [sentences, gold], folders)
    if target and gold and not sentences:
        outputs.check([("--output", target)], chain.from_iterable(map(_development, folders)))
    given = list(read_lines(sentences, LONGEST_TEXT)) if sentences else None
    links = read_gold(gold, one_based=one_based) if gold else []
    if to and not sentences:
        raise UserError("--to goes with --sentences; development sentences already have their language")
    views = [_view(folder, given, sentences, gold, links, to) for folder in folders]
    if str(target) == "-":
        typer.echo(page(views), nl=False)
        return
    path = target or RunFolder(folders[0]).report
    inspection.write_page(path, views)
    typer.echo(printable(str(path)))


def _development(folder: Path) -> list[Path]:
    """The files of a run's development pairs."""
    data = Run.load(folder).config.data
    texts = [name for name in (*data.source, data.target) if name not in data.features]
    return [] if data.pairs else corpus_files(data.dev, *texts)


def _view(
    folder: Path,
    lines: Sequence[str] | None,
    where: Path | None,
    gold: Path | None,
    links: Sequence[Gold],
    to: str | None,
) -> RunView:
    run = Run.load(folder)
    if gold and not only_text(run.sources):
        raise UserError(f"--gold has links between two sentences, and {folder} reads more than one text, or numbers")
    if lines is None and gold is None:
        return inspection.view(run, *inspection.development(run))
    pairs: list[tuple[Text, str | None]]
    if lines is None:
        data = run.config.data
        if data.pairs:
            raise UserError(f"{gold}: {folder} has several pairs of languages; name --sentences, and --to")
        try:
            examples = list(read_examples(data.dev, data.source, data.target, data.features))
        except UserError as error:  # a run may be elsewhere than what it was trained on
            raise UserError(f"{folder}: its development sentences are gone ({error}); name --sentences") from error
        pairs = [(each.sources, each.target) for each in examples]
    else:
        pairs = [_sentence(line, f"{where}:{number}", run) for number, line in enumerate(lines, start=1)]
    if gold and len(links) != len(pairs):
        raise UserError(f"{gold} has {len(links):,} lines, but there are {len(pairs):,} sentences")
    if gold and any(reference is None for _, reference in pairs):
        raise UserError(f"{gold}: gold links need the reference of every sentence, behind a tab")
    return inspection.view(run, *inspection.translated(load(folder), pairs, links, to=to))


def _sentence(line: str, where: str, run: Run) -> tuple[Text, str | None]:
    """The text in each source, with tabs between them, and behind a tab its reference translation, if there is one."""
    names = [source.name for source in run.sources]
    columns = line.split("\t")
    if len(names) == 1:
        return columns[0], columns[1] if len(columns) > 1 else None
    if len(columns) not in (len(names), len(names) + 1):
        raise UserError(f"{where}: expected {', '.join(names)} and perhaps a reference, with tabs between them")
    return tuple(columns[: len(names)]), columns[len(names)] if len(columns) > len(names) else None


def average(run: Path, files: Sequence[Path], last: int | None, best: int | None, target: Path) -> None:
    """Write the element-wise mean of weights: of files, or of the last or best validations that the run has kept."""
    outputs.check([("--output", target)], files, [run])
    loaded = Run.load(run)
    devices.use_threads(loaded.config.device)
    model = loaded.model()
    paths = list(files) or _kept(RunFolder(run), last, best)
    tensors = mean(paths)
    fill(model, tensors, paths[0])  # or they are another run's
    write_tensors(target, tensors, {"mean of": [path.name for path in paths]})
    tell(f"{target}: the mean of {', '.join(path.name for path in paths)}")


def _kept(folder: RunFolder, last: int | None, best: int | None) -> list[Path]:
    """The weights of validations that are still there; training keeps the best `training.average` of them."""
    state = folder.main.last_state
    ranked = [each.step for each in checkpoint.progress(state).best] if state.is_file() else []
    if not ranked:
        raise UserError(f"{folder.path}: has not kept the weights of any validation; name FILES")
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
    scores = inspection.scores(run, *inspection.development(run))
    _print(
        [
            *inspection.facts(run),
            *((f"development {score.name}", f"{figure(score.value)} ({score.signature})") for score in scores),
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
    yield "processor", f"{platform.machine()}, {devices.processor()}"
    yield "system", platform.platform()
    yield "python", platform.python_version()
    for name in LIBRARIES:
        yield name, metadata.version(name)


def _print(facts: Iterable[tuple[str, str]]) -> None:
    listed = list(facts)
    width = max(len(label) for label, _ in listed)
    for label, value in listed:
        typer.echo(printable(f"{label:<{width}}  {value}"))

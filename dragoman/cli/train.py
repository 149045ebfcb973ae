"""`dragoman train`: start or continue the run of a configuration."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dragoman.cli.option_rules import Conflicts, Requires
from dragoman.cli.options import OVERRIDES, Threads, command, files_and_overrides, overrides
from dragoman.cli.streams import aligned, tell
from dragoman.configuration.messages import figure
from dragoman.errors import UserError
from dragoman.files.reading import shown
from dragoman.run.folder import RunFolder
from dragoman.text.normalizer import printable
from dragoman.threads import process

if TYPE_CHECKING:
    from dragoman.configuration.config import Config
    from dragoman.configuration.data import DataConfig
    from dragoman.training.mixing import CorrectedSentence


LARGEST_SEED = 2**32 - 1  # that a seed may be
NONE = "-"  # in the place of a figure that there is not


class TrainOptions(NamedTuple):
    """Arguments and options of `dragoman train`."""

    config: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONFIG",
            help="YAML file; override any key with --section.key VALUE. With --finetune, sentence pairs "
            "instead: a bilingual file or a prefix.",
        ),
    ] = None
    finetune: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Fine-tune this run, with its configuration, on other pairs; name the new run with --run.",
        ),
    ] = None
    corrections: Annotated[
        Path | None,
        typer.Option(
            metavar="DB",
            help="With --finetune, train on user corrections (`serve --corrections`) instead of sentence "
            "pairs, mixed with the original pairs; then compare both runs, as `gate` does.",
        ),
        Requires("--finetune"),
        Conflicts("--seeds", because="only one new run can be compared with the old one"),
    ] = None
    seeds: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=1000,
            metavar="N",
            help="Train N runs, named RUN-SEED, with consecutive seeds starting at `seed`; "
            "report the spread of their scores.",
        ),
    ] = None
    threads: Threads = None


@command(context_settings=OVERRIDES, epilog="Example: dragoman train config.yaml --training.epochs 20")
def train(options: TrainOptions) -> None:
    """Train a model, or resume interrupted training.

    For N workers on this machine: torchrun --nproc-per-node N -m -- dragoman train CONFIG
    """
    start, seeds = options.finetune, options.seeds
    words = [*(options.config or []), *(["--device.threads", str(options.threads)] if options.threads else [])]
    if start is not None and options.corrections is not None:
        _learn(start, options.corrections, words)
        return
    if not options.config and not start:
        raise typer.BadParameter("expected a configuration: dragoman train config.yaml")
    checked = _started(start, words, seeds) if start else _configured(words)
    if seeds:
        _several(seed_configurations(checked, seeds))
    elif folder := trained(checked):
        tell_next(checked, folder)


def tell_next(config: "Config", folder: "RunFolder") -> None:
    """Print the commands to continue with after training."""
    run = shlex.quote(str(folder.path))
    tell(
        f"{folder.path}: trained. What next:\n"
        f"  {_use(config.data, run)}\n"
        f"  open {shlex.quote(str(folder.report))}    curves, scores and attention on one page\n"
        f"  dragoman info {run}               what is in the folder"
    )


def trained(config: "Config") -> "RunFolder | None":
    """Train a run to its end and write its report. Returns its folder unless it was finished before, or this worker
    does not lead.
    """
    from dragoman import inspection, reporting
    from dragoman.reporting import TranslatedRun
    from dragoman.run.run import Run
    from dragoman.training import session
    from dragoman.training.finishing import describe_finished
    from dragoman.training.objectives.table import OBJECTIVES

    before = describe_finished(config, RunFolder(Path(config.run)))  # a finished run is left alone
    folder = session.train(config)
    if not process().leads:
        return None
    both = OBJECTIVES[config.training.objective.kind].both_directions
    for part in (folder, folder.reverse) if both else (folder,):
        if not (before and _is_newer(part.report, part.validation)):
            loaded = Run.load(part.path)
            translated = TranslatedRun(loaded, *inspection.development(loaded))
            reporting.write_page(part.report, [translated])
    return None if before else folder


def _several(configs: "list[Config]") -> None:
    """Train a run for each configuration, and show what their development data score."""
    for config in configs:
        tell(f"{config.run}: seed {config.seed}")
        trained(config)
    typer.echo(printable(seed_table(configs)))
    runs = " ".join(shlex.quote(config.run) for config in configs)
    tell(f"{len(configs)} runs trained. What next:\n  {_use(configs[0].data, shlex.quote(configs[0].run))}")
    tell(f"  dragoman report {runs} -o seeds.html     curves, scores and attention side by side")


def _configured(words: list[str]) -> "Config":
    file, changes = overrides(words)
    from dragoman.training import checks

    return checks.load_config(file, changes, files=True)


def _started(start: str, words: list[str], seeds: int | None) -> "Config":
    """The configuration of a run that starts from another, told in a line."""
    corpora, changes = files_and_overrides(words)
    if not corpora:
        raise typer.BadParameter("--finetune requires sentence pairs: dragoman train --finetune RUN corpus.tsv")
    from dragoman.training import starting, training_folder

    def check(config: "Config") -> None:
        for seeded in seed_configurations(config, seeds) if seeds else [config]:
            training_folder.check(RunFolder(Path(seeded.run)), seeded)

    leads = process().leads  # who alone opens the folder
    config, message = starting.configure(start, corpora, changes, *([check] if leads else []))
    if leads:
        tell(message)
    return config


def _is_newer(path: Path, other: Path) -> bool:
    return path.is_file() and path.stat().st_mtime >= other.stat().st_mtime


def _use(data: "DataConfig", run: str) -> str:
    """Return the command to use a trained run with, and what it does."""
    if data.edits and not data.recalled and not data.features and len(data.source) <= 2:
        source = " --source FILE" * (len(data.source) - 1)
        return f"dragoman postedit {run}{source} --translation FILE     correct the lines of a file"
    if len(data.source) > 1 or data.features:
        files = "".join(f" --source {shlex.quote(f'{name}=FILE')}" for name in data.source)
        return f"dragoman translate {run}{files}     translate what is in files, line by line"
    to = " --to LANGUAGE" if data.pairs else ""
    return f"dragoman translate {run} FILE{to}     translate the lines of a file, or of standard input"


def _learn(start: str, database: Path, words: list[str]) -> None:
    """Train a run with the corrections of a database, from another run; then compare both. UserError if the new one
    is worse.
    """
    corpora, changes = files_and_overrides(words)
    if corpora:
        raise typer.BadParameter(f"--corrections: cannot be combined with the corpus '{corpora[0]}'")
    from dragoman.cli import gate
    from dragoman.training import mixing, training_folder

    def check(config: "Config") -> None:
        if process().leads:
            training_folder.check(RunFolder(Path(config.run)), config)

    mixed = mixing.configure(start, _corrections(start, database), changes, check)
    if process().leads:
        tell(mixed.description)
    trained(mixed.config)
    if process().leads:
        sources = [tuple(row[:-1]) for row in mixed.held]
        served = Path(start).parent if start.endswith(".safetensors") else Path(start)
        gate.judge(Path(mixed.config.run), served, list(sources), [row[-1] for row in mixed.held])


def _corrections(start: str, database: Path) -> "list[CorrectedSentence]":
    """What was corrected in the languages of a run. One that edits may name its texts otherwise; for it, these are the
    only languages there are.
    """
    from dragoman.serving.corrections import Corrections
    from dragoman.training import mixing

    (source, *_), target, machine = mixing.names(start)
    entries = Corrections.existing(database).entries()
    pairs = {entry.pair for entry in entries}
    pair = (source, target)
    if pair not in pairs and machine is not None and len(pairs) == 1:
        (pair,) = pairs
    if pair not in pairs:
        raise UserError(f"{shown(database)}: contains no corrections of translations from {source} to {target}")
    return [
        mixing.CorrectedSentence(entry.correction.source, entry.correction.machine, entry.correction.correction)
        for entry in entries
        if entry.pair == pair
    ]


def seed_configurations(config: "Config", count: int) -> "list[Config]":
    """The configurations of a run for each seed, from that of the configuration on: RUN-SEED. UserError if torchrun
    started several processes: one run after the other cannot share them.
    """
    if process().count > 1:
        raise UserError("--seeds: cannot be combined with torchrun; train each --seed separately")
    last = config.seed + count - 1
    if last > LARGEST_SEED:
        raise UserError(f"--seeds: the last seed would be {last}, expected at most {LARGEST_SEED}")
    run = config.run.rstrip("/")
    return [config.model_copy(update={"run": f"{run}-{seed}", "seed": seed}) for seed in range(config.seed, last + 1)]


def seed_table(configs: "Sequence[Config]") -> str:
    """What the development data score by each of these runs, which are finished; mean and standard deviation; and what
    they score without a model.
    """
    from statistics import fmean, stdev

    from dragoman.evaluation import baselines
    from dragoman.run.run import Run, metric_rows

    kinds = [*(spec.kind for spec in configs[0].metrics), "loss"]
    runs = [Run.load(Path(config.run)) for config in configs]
    finals = [metric_rows(run)[-1] for run in runs]
    scores = {
        config.run: [row.get(f"final/{kind}") for kind in kinds] for config, row in zip(configs, finals, strict=True)
    }
    columns = [[value for value in column if value is not None] for column in zip(*scores.values(), strict=True)]
    scores["mean"] = [fmean(column) if column else None for column in columns]
    scores["standard deviation"] = [stdev(column) if len(column) > 1 else None for column in columns]
    measured = baselines.from_json(runs[0].folder.proof.get("baselines"))
    for baseline in measured.baselines if measured else ():
        scores[baseline.name] = [baseline.scores[kind].value if kind in baseline.scores else None for kind in kinds]
    rows = [["development data", *kinds]]
    rows += [[name, *(NONE if value is None else figure(value) for value in values)] for name, values in scores.items()]
    return aligned(rows)

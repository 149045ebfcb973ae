"""Effects of each attention mechanism on translation, alignment and speed: `make attention-table`.

Each configuration of configs/attention trains on as many pairs of the phrasebook as `dragoman demo` does, in batches of
half the size for as many steps, and so do the scores and timings; if another corpus with gold alignments is given, ways
to learn alignments train on that, as configs/alignment.yaml has it. Two processes run at a time, with one thread each.
Started again, it continues where it stopped. The tables are printed as Markdown; with several seeds, BLEU is the mean
and the standard deviation, and alignments are those of the first.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

from rich.console import Console

import dragoman
from benchmarks import provenance
from benchmarks.aligners import statistical
from benchmarks.contest import Contender, Figures, measure
from benchmarks.jobs import Job
from benchmarks.prepared import Corpus, Row, aligned, documents, phrasebook, write
from benchmarks.trainings import apart, keep_options, run_command
from dragoman.configuration import config_file
from dragoman.configuration.config import DeviceConfig
from dragoman.corpus.pharaoh import read_gold
from dragoman.errors import UserError
from dragoman.evaluation.alignment import AlignmentQuality, error_rate
from dragoman.evaluation.metrics.sacre import Bleu
from dragoman.files.reading import read_lines
from dragoman.training import session

CONFIGS = Path(__file__).resolve().parent.parent / "configs"
ALIGNER = CONFIGS / "alignment.yaml"
PLAIN, DOCUMENTS = "additive", "hierarchical"
BIASES = ("position", "markov", "fertility")
SENTENCES = 32  # in a batch
SEED = ", seed "  # between the name of a row and another seed than its own
TOGETHER = 8  # configurations whose speed is measured in turns
ROUNDS = 3


class Result(NamedTuple):
    """Results of a trained row: BLEU of the test sets, agreement with gold alignments (0 to 1), parameters."""

    bleu: dict[str, float]
    alignment: AlignmentQuality | None
    parameters: int


def mechanisms() -> list[Row]:
    """Return the rows: no attention, the scores, the timings, then every configuration."""
    plain = CONFIGS / "attention" / f"{PLAIN}.yaml"
    rows = [Row("no attention", plain, {"model.attention.score": "none", "model.decoder.attend": "after"})]
    rows += [Row(kind, plain, {"model.attention.score": kind}) for kind in ("uniform", "linear", "dot", "scaled_dot")]
    rows += [Row("bilinear", plain, {"model.attention.score": "bilinear"}), Row(PLAIN, plain)]
    rows += [Row(f"{PLAIN}, {attend}", plain, {"model.decoder.attend": attend}) for attend in ("before", "after")]
    rows += [Row(bias, plain, {"model.attention.terms": bias}) for bias in BIASES]
    paths = sorted((CONFIGS / "attention").glob("*.yaml"))
    return rows + [Row(path.stem, path) for path in paths if path.stem not in (PLAIN, DOCUMENTS)]


def of_documents() -> list[Row]:
    """Return the rows with and without attention to sentences."""
    hierarchical = CONFIGS / "attention" / f"{DOCUMENTS}.yaml"
    return [Row("all words alike", hierarchical, {"model.attention.sentences": "null"}), Row(DOCUMENTS, hierarchical)]


def aligners() -> list[Row]:
    """Return the rows for ways to learn alignments."""
    rows = [Row("plain", ALIGNER)]
    rows += [Row(bias, ALIGNER, {"model.attention.terms": bias}) for bias in BIASES]
    together = {"model.attention.terms": f"[{', '.join(BIASES)}]"}
    symmetric = {"training.objective": "agreement"}
    supervised = {"training.penalties": "[{kind: supervised, unlinked: end}]", "data.alignments": "true"}
    rows += [Row("all three", ALIGNER, together), Row("symmetric", ALIGNER, symmetric)]
    return [*rows, Row("supervised", ALIGNER, supervised)]


def measured(run: Path, prepared: Corpus) -> Result:
    """Score a run on the test sets: translations, and alignments of the one with gold alignments."""
    model = dragoman.load(run, device=DeviceConfig(threads=1))
    source, target = model.source.name, model.target.name

    def sides(part: str) -> tuple[list[str], list[str]]:
        return list(read_lines(prepared.texts / f"{part}.{source}")), list(
            read_lines(prepared.texts / f"{part}.{target}")
        )

    bleu = {}
    for part in prepared.tests:
        sources, references = sides(part)
        texts = [translation.text for translation in model.translate(sources)]
        bleu[part] = Bleu().corpus(texts, [references]).value
    agreement = None
    if prepared.gold:
        gold = read_gold(prepared.texts / f"{prepared.gold}.{source}-{target}.align")
        agreement = error_rate([scored.alignment for scored in model.score(*sides(prepared.gold))], gold)
    return Result(bleu, agreement, sum(parameter.numel() for parameter in model.model.parameters()))


def speeds(rows: Sequence[Row], prepared: Corpus, folder: Path, console: Console) -> dict[str, float]:
    """Return target tokens per processor second of training, relative to plain additive attention, all in turns."""
    jobs = {}
    plain = next((row.name for row in rows if row.name in (PLAIN, "plain", "all words alike")), None)
    if plain is None:
        return {}
    for row in rows:
        place = folder / row.slug
        place.mkdir(parents=True, exist_ok=True)
        endless = {"training.epochs": "null", "training.steps": "1000000000", "training.save_every": "1000000000"}
        config = prepared.config(row._replace(overrides={**row.overrides, **endless}), place / "run")
        write(place / "config.yaml", [config_file.dump(config)])
        jobs[row.name] = Job("train", 1, 1, str(place / "symbols"), precision="auto", warm=10)
    speed_of = {plain: 1.0}
    attended = [name for name in jobs if name != plain]
    for begin in range(0, len(attended), TOGETHER):
        group = [plain, *attended[begin : begin + TOGETHER]]
        contenders = [Contender(name, sys.executable, "benchmarks.worker", jobs[name]) for name in group]
        measured = measure(contenders, ROUNDS)
        figures = {name: figures_of for name, figures_of in measured.items() if isinstance(figures_of, Figures)}
        speed_of |= {
            name: figures_of.tokens_cpu / figures[plain].tokens_cpu
            for name, figures_of in figures.items()
            if plain in figures
        }
        for name in measured.keys() - figures.keys():
            console.print(f"speed of {name}: {measured[name]}")
    return speed_of


class Part(NamedTuple):
    """One of the tables: its rows, and their training corpus."""

    rows: list[Row]
    prepared: Corpus


def parts(options: argparse.Namespace) -> dict[str, Part]:
    texts: Path = options.folder / "texts"
    overrides = {"training.epochs": str(options.epochs), "training.batch.size": str(SENTENCES)}
    sentences = phrasebook(texts / "phrasebook", options.pairs, overrides)
    parts_by_name = {"phrasebook": Part(mechanisms(), sentences)}
    joined = documents(sentences, texts / "documents")
    longer = {**overrides, "training.epochs": str(2 * options.epochs)}  # half as many, so as many steps
    parts_by_name["documents"] = Part(of_documents(), joined._replace(overrides=longer))
    if options.alignments:
        files: Path = options.alignments
        parts_by_name[files.name] = Part(aligners(), aligned(files, texts / files.name))
    if options.only:
        row_names = [row.name for part in parts_by_name.values() for row in part.rows]
        if not set(options.only) <= set(row_names):
            raise UserError(f"--only: expected some of {'; '.join(row_names)}")
        chosen = {name: [row for row in part.rows if row.name in options.only] for name, part in parts_by_name.items()}
        parts_by_name = {name: part._replace(rows=chosen[name]) for name, part in parts_by_name.items() if chosen[name]}
    return {name: part._replace(rows=list(_seeded(part.rows, options.seeds))) for name, part in parts_by_name.items()}


def _seeded(rows: Sequence[Row], seeds: int) -> Iterator[Row]:
    """The rows, and each again with the seeds from 2 on."""
    for row in rows:
        yield row
        for seed in range(2, seeds + 1):
            yield row._replace(name=f"{row.name}{SEED}{seed}", overrides={**row.overrides, "seed": str(seed)})


def work(part: Part, row: Row, folder: Path) -> None:
    """Train a row and write its result beside its run."""
    run_config = part.prepared.config(row, folder / row.slug)
    made_with = provenance.of(run_config)
    row_result = measured(session.train(run_config, quiet=True).path, part.prepared)
    provenance.write(folder / f"{row.slug}.json", row_result._asdict(), made_with)


def result(path: Path) -> Result:
    stored = provenance.read(path)
    alignment = stored["alignment"]
    return Result(stored["bleu"], alignment and AlignmentQuality(*alignment), stored["parameters"])


def run(options: argparse.Namespace, console: Console) -> int:
    keep_options(options.folder, pairs=options.pairs, epochs=options.epochs)
    all_parts = parts(options)
    if options.row:  # this process is one of the trainings
        name, wanted = options.row
        row = next(row for row in all_parts[name].rows if row.name == wanted)
        work(all_parts[name], row, options.folder / name)
        return 0
    todo = [
        (name, row)
        for name, part in all_parts.items()
        for row in part.rows
        if not (options.folder / name / f"{row.slug}.json").is_file()
    ]

    settings = {"folder": options.folder, "pairs": options.pairs, "epochs": options.epochs, "seeds": options.seeds}
    if options.alignments:
        settings["alignments"] = options.alignments
    rest = [word for key, value in settings.items() for word in (f"--{key}", str(value))]
    tasks = {f"{name}: {row.name}": ["--row", name, row.name, *rest] for name, row in todo}
    failed = apart("benchmarks.mechanisms", tasks, options.workers, console)
    shown = Console(width=200, highlight=False, markup=False)
    for name, part in all_parts.items():
        results = {
            row.name: result(path)
            for row in part.rows
            if (path := options.folder / name / f"{row.slug}.json").is_file()
        }
        faster = speeds(
            [row for row in part.rows if row.name in results and SEED not in row.name],
            part.prepared,
            options.folder / "speed" / name,
            console,
        )
        lines = table(results, faster, part.prepared)
        if options.alignments and name == options.alignments.name:
            lines += [
                f"| {aligner} | {_shares(figures)} | | |" for aligner, figures in statistical(part.prepared).items()
            ]
        for line in lines:
            shown.print(line)
    return int(failed > 0)


def table(results: dict[str, Result], faster: dict[str, float], prepared: Corpus) -> list[str]:
    """Return a line of Markdown for each row, its other seeds included; `speed` is that of training, relative to plain
    additive attention.
    """
    tests = [f"BLEU {test}" for test in prepared.tests]
    heads = ["attention", *tests, "AER", "precision", "recall", "speed", "parameters"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for name, row_result in results.items():
        if SEED in name:
            continue
        seeds = [row_result, *(other for key, other in results.items() if key.startswith(f"{name}{SEED}"))]
        bleu = "".join(f" {_spread([other.bleu[test] for other in seeds])} |" for test in prepared.tests)
        speed = f"{faster[name]:.2f}" if name in faster else ""
        lines.append(f"| {name} |{bleu} {_shares(row_result.alignment)} | {speed} | {row_result.parameters:,} |")
    return lines


def _spread(figures: Sequence[float]) -> str:
    """Their mean, and their standard deviation if there are several."""
    return f"{mean(figures):.1f}" + (f" ± {stdev(figures):.1f}" if len(figures) > 1 else "")


def _shares(alignment: AlignmentQuality | None) -> str:
    return " | ".join(f"{100 * figure:.1f}" for figure in alignment) if alignment else " |  | "


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mechanisms", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/attention-table"), help="output folder")
    parser.add_argument(
        "--alignments", type=Path, help="folder SOURCE-TARGET with gold alignments, see docs/attention.md"
    )
    parser.add_argument("--pairs", type=int, default=20000, help="sentence pairs of the phrasebook to train on")
    parser.add_argument("--epochs", type=int, default=5, help="epochs on the phrasebook; twice as many on documents")
    parser.add_argument("--seeds", type=int, default=1, help="trainings of each row")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these rows")
    parser.add_argument("--workers", type=int, default=2, help="number of parallel trainings, with one thread each")
    parser.add_argument("--row", nargs=2, metavar=("PART", "NAME"), help=argparse.SUPPRESS)  # one of those trainings
    return run_command(run, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())

"""Other sequence tasks, compared with published results: `make tasks-table`.

Pronunciation (g2p), inflection, historical spelling (histnorm) and commands to actions (scan), each language or set
with the configuration of its task in configs/tasks. Where published results are those of ensembles, some rows use an
ensemble too, of models with different seeds. One process trains at a time by default, with one thread. Started again,
it continues where it stopped: a row that has its result is not trained again, and one that was begun continues. The
table is printed as Markdown.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

import dragoman
from benchmarks import provenance
from benchmarks.formats import converted
from benchmarks.prepared import Row, write
from benchmarks.trainings import apart, keep_options, run_command
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.corpus.examples import read_pairs
from dragoman.errors import UserError
from dragoman.evaluation.metrics.error_rates import ExactMatchRate, TokenErrorRate
from dragoman.files.reading import read_lines
from dragoman.run.run import Run
from dragoman.training import checks, session

CONFIGS = Path(__file__).resolve().parent.parent / "configs" / "tasks"
PARTS = ("train", "dev", "test")
HELD_OUT = 20  # one of so many training examples is for development if a set has no development part
JUDGED = 2000  # the most development examples

# Word error rate of the baseline of SIGMORPHON 2021, an ensemble of neural transducers, on the test sets.
HIGH = {"eng_us": 41.94}
MEDIUM = {
    "arm_e": 7.0,
    "bul": 18.3,
    "fre": 8.5,
    "geo": 0.0,
    "hbs_latn": 32.1,
    "hun": 1.8,
    "jpn_hira": 5.2,
    "kor": 16.3,
    "vie_hanoi": 2.5,
}
LOW = {
    "ady": 22.0,
    "gre": 21.0,
    "ice": 12.0,
    "ita": 19.0,
    "khm": 34.0,
    "lav": 55.0,
    "mlt_latn": 19.0,
    "rum": 10.0,
    "slv": 49.0,
}
# Word error rate of the LSTM with attention of SIGMORPHON 2020 (Gorman et al. 2020), on the test sets.
OF_2020 = {
    "ady": 28.00,
    "arm": 14.67,
    "bul": 31.11,
    "fre": 6.22,
    "geo": 26.44,
    "gre": 18.89,
    "hin": 6.67,
    "hun": 5.33,
    "ice": 10.00,
    "jpn": 7.56,
    "kor": 46.89,
    "lit": 19.11,
    "rum": 10.67,
    "vie": 4.67,
}
# Accuracy of MED (Kann and Schuetze 2016), an ensemble of five attentional networks, on the test sets.
INFLECTION = {
    "arabic": 95.47,
    "finnish": 96.80,
    "georgian": 98.50,
    "german": 95.80,
    "hungarian": 99.30,
    "maltese": 88.99,
    "navajo": 91.48,
    "russian": 91.46,
    "spanish": 98.84,
}
# Accuracy of the better of two attentional networks, at the end of the learning curves of Bollmann (2019, table 6).
HISTNORM = {
    "german-anselm": 83.69,
    "german-ridges": 84.24,
    "slovene-goo300k-bohoric": 89.77,
    "slovene-goo300k-gaj": 94.93,
}
TOKENS = {  # training examples behind these ends
    "german-anselm": 50_000,
    "german-ridges": 25_000,
    "slovene-goo300k-bohoric": 25_000,
    "slovene-goo300k-gaj": 50_000,
}
# Accuracy of the best network for each split (Lake and Baroni 2018).
SCAN = {"simple": 99.8, "length": 20.8, "addprim_jump": 1.2, "addprim_turn_left": 90.3}
# What else reads the splits that ask for what was never seen, and how it differs from the configuration.
HARD = {"model.decoder.attend": "after", "model.decoder.readout": "tanh", "training.objective": "marginal"}
SELF = "{kind: self_attention, size: 64, layers: 3, heads: 4, hidden: 128, dropout: 0.1}"
UNSEEN = ("length", "addprim_jump")
MECHANISMS = {
    "looks after": {"model.decoder.attend": "after", "model.attention.score": "scaled_dot"},
    "sparsemax": {"model.attention.normalizer": "sparsemax"},
    "hard attention": {"model.attention.normalizer": "hard", **HARD},
    "hard attention in a chain": {"model.attention.normalizer": "{kind: hard, order: 1}", **HARD},
    "convolutional encoder": {
        "model.encoder": "{kind: convolutional, size: 128, layers: 4, width: 3, dropout: 0.1}",
        "model.bridge": "mean",
    },
    "convolutional encoder, no positions": {
        "model.encoder": "{kind: convolutional, size: 128, layers: 4, width: 3, positions: none, dropout: 0.1}",
        "model.bridge": "mean",
    },
    "self-attention": {
        "model.encoder": SELF,
        "model.decoder": SELF,
        "model.bridge": "none",
        "model.attention.score": "scaled_dot",
    },
}
CHAIN = {**MECHANISMS["hard attention in a chain"], "model.output.label_smoothing": "0"}


class Task(NamedTuple):
    """A row of the table: what it trains, on which files, and the published result.

    `files` is the name of its files, compressed (.gz) or not, in the folder of all data sets, with `{}` for the part;
    `published` is a percentage, of errors if `errors` is set, else of correct examples; `most` is the number of
    training examples, taken evenly from all; `models` is the size of the ensemble.
    """

    row: Row
    format: str
    files: str
    published: float
    errors: bool = False
    most: int | None = None
    models: int = 1

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def kind(self) -> str:
        """The kind, whose rows share a mean."""
        return self.name.partition(",")[0]


class Result(NamedTuple):
    """Results of a trained row: exact matches of the development and the test set and token errors of the test set, all
    in percent; for all models of an ensemble together the parameters, the wall minutes of training, and the processor
    minutes since the row was last started.
    """

    dev: float
    test: float
    tokens: float
    parameters: int
    minutes: float
    processor: float


def tasks() -> list[Task]:
    """Return the rows: SCAN, with its configuration and then with other attention, pronunciation by size of corpus,
    inflection, with its configuration and with hard attention, and historical spelling.
    """
    all_tasks = [
        Task(Row(f"scan, {name}", CONFIGS / "scan.yaml"), "scan", f"scan/tasks_{{}}_{name}.txt", published)
        for name, published in SCAN.items()
    ]
    for split in UNSEEN:
        for name, overrides in MECHANISMS.items():
            row = Row(f"scan {split}, {name}", CONFIGS / "scan.yaml", overrides)
            all_tasks.append(Task(row, "scan", f"scan/tasks_{{}}_{split}.txt", SCAN[split]))
    pronunciation = (
        ("g2p low", "g2p_sigmorphon2021/low", "g2p-low", LOW, 3),
        ("g2p medium", "g2p_sigmorphon2021/medium", "g2p", MEDIUM, 1),
        ("g2p high", "g2p_sigmorphon2021/high", "g2p", HIGH, 1),
        ("g2p 2020", "g2p_sigmorphon2020", "g2p", OF_2020, 1),
    )
    for kind, place, config, languages, models in pronunciation:
        for name, published in languages.items():
            row = Row(f"{kind}, {name}", CONFIGS / f"{config}.yaml")
            files = f"{place}/{name}_{{}}.tsv"
            all_tasks.append(Task(row, "g2p", files, published, errors=True, models=models))
    for name, published in INFLECTION.items():
        files = f"inflection_sigmorphon2016/{name}-task1-{{}}"
        all_tasks.append(Task(Row(f"inflection, {name}", CONFIGS / "inflection.yaml"), "inflection", files, published))
        row = Row(f"inflection with hard attention, {name}", CONFIGS / "inflection.yaml", CHAIN)
        all_tasks.append(Task(row, "inflection", files, published))
    for name, published in HISTNORM.items():
        files = f"histnorm/{name}.{{}}.txt"
        row = Row(f"histnorm, {name}", CONFIGS / "histnorm.yaml")
        all_tasks.append(Task(row, "histnorm", files, published, most=TOKENS[name]))
    return all_tasks


def prepare(task: Task, data: Path, folder: Path) -> None:
    """Write {train,dev,test}.tsv of a task into the folder. Raises UserError if a file of it is missing."""
    texts = {part: _place(data / task.files.format(part)) for part in PARTS}
    files_by_task = {
        part: list(converted(path, task.format)) for part, path in texts.items() if path.is_file() or part != "dev"
    }
    if "dev" not in files_by_task:
        train = files_by_task["train"]
        files_by_task["dev"] = train[HELD_OUT - 1 :: HELD_OUT]
        files_by_task["train"] = [line for number, line in enumerate(train, start=1) if number % HELD_OUT]
    files_by_task["train"] = evenly(files_by_task["train"], task.most)
    files_by_task["dev"] = evenly(files_by_task["dev"], JUDGED)
    for part, lines in files_by_task.items():
        write(folder / f"{part}.tsv", lines)


def _place(plain: Path) -> Path:
    packed = plain.with_name(f"{plain.name}.gz")
    return packed if packed.is_file() else plain


def evenly(lines: Sequence[str], most: int | None) -> list[str]:
    """Return at most `most` of the lines, evenly spaced."""
    if most is None or len(lines) <= most:
        return list(lines)
    return [lines[number * len(lines) // most] for number in range(most)]


def config(task: Task, folder: Path, run: Path, seed: int = 1) -> Config:
    """Return the configuration of a task for the files prepared in the folder."""
    overrides = {
        "run": str(run),
        "seed": str(seed),
        "data.train": str(folder / "train.tsv"),
        "data.dev": str(folder / "dev.tsv"),
        "device.threads": "1",
        **task.row.overrides,
    }
    return checks.load_config(task.row.config, overrides)


def work(task: Task, options: argparse.Namespace) -> None:
    """Train a row, test it, and write its result beside its run."""
    folder = options.folder / "texts" / task.row.slug
    prepare(task, options.data, folder)
    places = {seed: options.folder / task.row.slug / f"seed-{seed}" for seed in range(1, task.models + 1)}
    configs = [config(task, folder, place, seed) for seed, place in places.items()]
    made_with, processor = provenance.of(*configs), time.process_time()
    runs = [session.train(run_config, quiet=True).path for run_config in configs]
    minutes, processor = sum(map(_seconds, runs)) / 60, (time.process_time() - processor) / 60
    model = dragoman.load(runs, device=DeviceConfig(threads=1))
    exact, tokens = {}, {}
    for part in ("dev", "test"):
        pairs = list(read_pairs(folder / f"{part}.tsv", "source", "target"))
        texts = [translation.text for translation in model.translate([pair.source for pair in pairs])]
        references = [[pair.target for pair in pairs]]
        exact[part] = ExactMatchRate().corpus(texts, references).value
        errors = TokenErrorRate(unit="token" if task.format in ("g2p", "scan") else "character")
        tokens[part] = errors.corpus(texts, references).value
    parameters = sum(parameter.numel() for run in runs for parameter in Run.load(run).model().parameters())
    result = Result(exact["dev"], exact["test"], tokens["test"], parameters, minutes, processor)
    provenance.write(options.folder / f"{task.row.slug}.json", result._asdict(), made_with)


def _seconds(run: Path) -> float:
    """Return the seconds that a training took, including all that were resumed."""
    *_, last = read_lines(run / "metrics.jsonl")
    return float(json.loads(last)["time"])


def table(all_tasks: Sequence[Task], results_by_task: dict[str, Result]) -> Iterator[str]:
    """Yield a line of Markdown for each row, and the mean of each kind but SCAN, whose rows are no samples."""
    yield "| task | measure | published | test | dev | error rate of tokens | minutes | of the processor | parameters |"
    yield "|" + "---|" * 9
    for kind in dict.fromkeys(task.kind for task in all_tasks):
        rows = [task for task in all_tasks if task.kind == kind]
        done = [task for task in rows if task.name in results_by_task]
        for task in done:
            scores = results_by_task[task.name]
            rest = f"{scores.tokens:.2f} | {scores.minutes:.1f} | {scores.processor:.1f} | {scores.parameters:,} |"
            yield f"| {task.name} | {_measures(task, task.published, scores)} | {rest}"
        if len(done) > 1 and not kind.startswith("scan"):
            of = "mean" if len(done) == len(rows) else f"mean of {len(done)} of {len(rows)}"
            published = sum(task.published for task in done) / len(done)
            results = [results_by_task[task.name] for task in done]
            mean = Result(*(sum(values) / len(done) for values in zip(*results, strict=True)))
            yield f"| **{kind}, {of}** | {_measures(done[0], published, mean)} | {mean.tokens:.2f} | | | |"


def _measures(task: Task, published: float, result: Result) -> str:
    test, dev = (100 - value if task.errors else value for value in (result.test, result.dev))
    return f"{'WER' if task.errors else 'accuracy'} | {published:.2f} | {test:.2f} | {dev:.2f}"


def run(options: argparse.Namespace, console: Console) -> int:
    chosen = [task for task in tasks() if not options.only or {task.name, task.kind} & set(options.only)]
    if not set(options.only or ()) <= {name for task in chosen for name in (task.name, task.kind)}:
        kinds = ", ".join(f"'{kind}'" for kind in dict.fromkeys(task.kind for task in tasks()))
        raise UserError(f"--only: expected rows such as 'scan, simple', or all of a kind: {kinds}")
    if options.row:  # this process is one of the trainings
        work(next(task for task in chosen if task.name == options.row), options)
        return 0
    rest = ["--folder", str(options.folder), "--data", str(options.data)]
    keep_options(options.folder, data=options.data)
    todo = [task for task in chosen if not (options.folder / f"{task.row.slug}.json").is_file()]
    commands = {task.name: ["--row", task.name, *rest] for task in todo}
    failed = apart("benchmarks.tasks", commands, options.workers, console)
    results = {
        task.name: Result(**provenance.read(path))
        for task in chosen
        if (path := options.folder / f"{task.row.slug}.json").is_file()
    }
    shown = Console(width=200, highlight=False, markup=False)
    for line in table(chosen, results):
        shown.print(line)
    return int(failed > 0)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tasks", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/tasks-table"), help="output folder")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the data sets, see docs/tasks.md")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these rows ('scan, simple') or kinds ('scan')")
    parser.add_argument("--workers", type=int, default=1, help="number of parallel trainings, with one thread each")
    parser.add_argument("--row", metavar="NAME", help=argparse.SUPPRESS)  # one of those trainings
    return run_command(run, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())

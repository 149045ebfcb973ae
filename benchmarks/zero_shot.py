"""Directions that were never trained: `make zero-shot`.

One model of three languages (configs/johnson2016.yaml) learns English to German and French and back. It then translates
German to French and French to German, directly and by way of English, beside models that were trained on those pairs.
Reported are BLEU and the share of sentences in the wrong language, on the phrasebook, where each language pair has
sentences of its own, and on Multi30k if it is given, where both pairs with German have half of the sentences. Two
processes run at a time, with one thread each. Started again, it continues where it stopped. The tables are printed as
Markdown.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

import dragoman
from benchmarks import provenance
from benchmarks.corpus import DEV, TEST, TRAIN
from benchmarks.prepared import write
from benchmarks.trainings import apart, keep_options, run_command
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.corpus.examples import read_pairs
from dragoman.errors import UserError
from dragoman.evaluation.languages import wrong_language
from dragoman.evaluation.metrics.sacre import Bleu
from dragoman.training import checks, session
from phrasebook import corpus

CONFIG = Path(__file__).resolve().parent.parent / "configs" / "johnson2016.yaml"
TRAINED, UNTRAINED = (("en", "de"), ("en", "fr")), ("de", "fr")
LANGUAGES = ("de", "en", "fr")
PIVOT = "en"
ALONE = 2  # factor for the epochs of a model of one direction, which has a quarter of the examples
TESTS = {"dev": 200, "test": 500}  # sentences of the phrasebook


class Table(NamedTuple):
    """Corpora in folders such as en-de below `texts`, each with train, dev and test; and the overrides they need."""

    texts: Path
    overrides: dict[str, str]
    bleu: Bleu

    def prefix(self, source: str, target: str, part: str) -> str:
        """Return the prefix of a pair's files in either direction; for copies, that of the first pair."""
        folders = ("-".join(pair) for pair in (*TRAINED, UNTRAINED) if {source, target} <= set(pair))
        return str(self.texts / next(folders) / part)


class Figures(NamedTuple):
    """Scores of a translated test set: BLEU, and the percentage in another language than the one wanted."""

    bleu: float
    wrong: float


def phrasebook(folder: Path, pairs: int) -> Table:
    """Sample the phrasebook, with different sentences for each language pair."""
    for seed, (source, target) in enumerate((*TRAINED, UNTRAINED), start=1):
        place = folder / f"{source}-{target}"
        if not (place / f"test.{target}").is_file():
            corpus.write(place, source, target, {"train": pairs, **TESTS}, seed)
    return Table(folder, {}, Bleu())


def multi30k(files: Path, folder: Path) -> Table:
    """Divide Multi30k: each pair with German has every second training sentence, English and French have the others."""
    for source, target in (*TRAINED, UNTRAINED):
        place = folder / f"{source}-{target}"
        if (place / f"test.{target}").is_file():
            continue
        place.mkdir(parents=True, exist_ok=True)
        for part, name in (("train", TRAIN), ("dev", DEV), ("test", TEST)):
            step, begin = (2, int("de" not in (source, target))) if part == "train" else (1, 0)
            chosen = list(islice(read_pairs(str(files / name), source, target), begin, None, step))
            for language, lines in zip((source, target), zip(*chosen, strict=True), strict=True):
                write(place / f"{part}.{language}", lines)
    tokenized = {f"text.{side}.pretokenizer": "whitespace" for side in ("source", "target")}
    metrics = "[{kind: bleu, tokenize: none}]"
    return Table(folder, {**tokenized, "metrics": metrics}, Bleu(tokenize="none"))


def rows() -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the models by name, with the directions that each is trained on."""
    both = [pair for one in TRAINED for pair in (one, one[::-1])]
    alone = {"-".join(pair): (pair,) for pair in (UNTRAINED, UNTRAINED[::-1])}
    return {"one model": tuple(both), "one model with copies": (*both, (PIVOT, PIVOT)), **alone}


def config(name: str, table: Table, folder: Path, epochs: int) -> Config:
    """Return the configuration of a model with its data, run folder and length of training."""
    directions = rows()[name]
    epochs *= 1 if len(directions) > 1 else ALONE
    overrides = {
        "run": str(folder / name.replace(" ", "-")),
        "device.threads": "1",
        "training.epochs": str(epochs),
        **table.overrides,
    }
    if len(directions) > 1:
        pairs = [
            {"source": source, "target": target, "train": table.prefix(source, target, "train")}
            for source, target in directions
        ]
        pairs += [{"source": source, "target": target} for source, target in (UNTRAINED, UNTRAINED[::-1])]
        pairs = [{**pair, "dev": table.prefix(pair["source"], pair["target"], "dev")} for pair in pairs]
        overrides["data.pairs"] = json.dumps(pairs)
    else:
        ((source, target),) = directions
        places = {f"data.{part}": table.prefix(source, target, part) for part in ("train", "dev")}
        overrides |= {"data.pairs": "[]", "data.source": source, "data.target": target, **places}
    return checks.load_config(CONFIG, overrides)


def work(name: str, table: Table, folder: Path, epochs: int) -> None:
    """Train a model, translate with it, and write the scores beside its run."""
    run_config = config(name, table, folder, epochs)
    made_with = provenance.of(run_config)
    run = session.train(run_config, quiet=True)
    model = dragoman.load(run.path, device=DeviceConfig(threads=1))
    figures_by_row = {}

    def measure(system: str, source: str, target: str, texts: Iterable[str], references: list[str]) -> None:
        translations = [translation.text for translation in model.translate(list(texts), to=target)]
        wrong = wrong_language(translations, [references], target, LANGUAGES)
        figures = Figures(table.bleu.corpus(translations, [references]).value, wrong.value)
        figures_by_row[f"{system} {source}-{target}"] = figures._asdict()

    several, copies = bool(model.marks), ", copies" if "copies" in name else ""
    for source, target in (*rows()[name], *((UNTRAINED, UNTRAINED[::-1]) if several else ())):
        if source == target:
            continue
        pairs = list(read_pairs(table.prefix(source, target, "test"), source, target))
        texts, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
        if not several:
            measure("supervised", source, target, texts, references)
        elif (source, target) in rows()[name]:
            measure(f"one model{copies}", source, target, texts, references)
        else:
            measure(f"zero-shot{copies}", source, target, texts, references)
            own, marks = model.processor.foreign, len(model.marks)
            model.processor.foreign = {mark: numbers[:marks] for mark, numbers in own.items()}
            measure(f"zero-shot, any symbol{copies}", source, target, texts, references)
            model.processor.foreign = own
            between = [translation.text for translation in model.translate(texts, to=PIVOT)]
            measure(f"by way of {PIVOT}{copies}", source, target, between, references)
    provenance.write(folder / f"{name.replace(' ', '-')}.json", figures_by_row, made_with)


def lines(figures_by_row: dict[str, Figures]) -> list[str]:
    """Return a line of Markdown for each direction and system."""
    heads = "| direction | system | BLEU | wrong language (%) |", "|---|---|---|---|"
    ordered = sorted(figures_by_row.items(), key=lambda item: item[0].rpartition(" ")[2])
    return [
        *heads,
        *(
            "| {2} | {0} |".format(*name.rpartition(" ")) + f" {figures.bleu:.1f} | {figures.wrong:.1f} |"
            for name, figures in ordered
        ),
    ]


def tables(options: argparse.Namespace) -> dict[str, Table]:
    texts: Path = options.folder / "texts"
    table_makers: dict[str, Callable[[], Table]] = {
        "phrasebook": lambda: phrasebook(texts / "phrasebook", options.pairs)
    }
    if options.data:
        table_makers["multi30k"] = lambda: multi30k(options.data, texts / "multi30k")
    wanted = options.row[:1] if options.row else options.only or table_makers
    if not set(wanted) <= set(table_makers):
        raise UserError(f"--only: expected some of {', '.join(table_makers)}")
    of = {"phrasebook": {"pairs": options.pairs}, "multi30k": {"data": options.data}}
    for name in wanted:
        keep_options(options.folder / name, epochs=options.epochs, **of[name])
    return {name: make() for name, make in table_makers.items() if name in wanted}


def run(options: argparse.Namespace, console: Console) -> int:
    chosen = tables(options)
    if options.row:  # this process is one of the trainings
        name, wanted = options.row
        work(wanted, chosen[name], options.folder / name, options.epochs)
        return 0
    rest = ["--folder", str(options.folder), "--pairs", str(options.pairs), "--epochs", str(options.epochs)]
    rest += ["--data", str(options.data)] if options.data else []
    results = {
        (name, row): options.folder / name / f"{row.replace(' ', '-')}.json" for name in chosen for row in rows()
    }
    tasks = {
        f"{name}: {row}": ["--row", name, row, *rest] for (name, row), path in results.items() if not path.is_file()
    }
    failed = apart("benchmarks.zero_shot", tasks, options.workers, console)
    shown = Console(width=200, highlight=False, markup=False)
    for name in chosen:
        figures_by_row: dict[str, Figures] = {}
        for (table, _), path in results.items():
            if table == name and path.is_file():
                figures_by_row |= {key: Figures(**figures) for key, figures in provenance.read(path).items()}
        for line in (f"{name}\n", *lines(figures_by_row), ""):
            shown.print(line)
    return int(failed > 0)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zero_shot", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/zero-shot"), help="output folder")
    parser.add_argument("--data", type=Path, help="folder of Multi30k's files, for a second table")
    parser.add_argument("--pairs", type=int, default=6_000, help="examples of the phrasebook for each language pair")
    parser.add_argument("--epochs", type=int, default=8, help="epochs; twice as many for one direction")
    parser.add_argument("--only", nargs="+", metavar="TABLE", help="only phrasebook or multi30k")
    parser.add_argument("--workers", type=int, default=2, help="number of parallel trainings, with one thread each")
    parser.add_argument("--row", nargs=2, metavar=("TABLE", "MODEL"), help=argparse.SUPPRESS)  # one of those trainings
    return run_command(run, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())

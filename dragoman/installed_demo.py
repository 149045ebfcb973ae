"""The demo on real text: the messages of the programs on this machine, one program playing the user's own.

A model of the messages of all other programs learns to translate with a translation memory (docs/memory.md). Training
starts from it for the one program, whose messages are the memory, and new messages of it are translated.
"""

import json
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

from dragoman.configuration.components import Spec
from dragoman.configuration.config import Config
from dragoman.configuration.messages import figure
from dragoman.corpus import installed, parts
from dragoman.corpus.cleaning import Cleaner, Rules
from dragoman.corpus.examples import read_examples
from dragoman.corpus.parts import PairWithOrigin
from dragoman.demo import mark
from dragoman.errors import UserError
from dragoman.evaluation import baselines
from dragoman.evaluation.metrics.table import METRICS
from dragoman.text.normalizer import printable
from dragoman.training import checks, session, starting
from dragoman.translation import loading

FEWEST, MOST = 400, 4_000  # messages of the program that plays the user's own
WORDS = 3  # of its messages on average, at least: shorter ones are names, of languages or places
OTHERS = 40_000  # messages of other programs, at most,
ENOUGH = 4_000  # and at least
SIZES = {"dev": 100, "test": 100}
ASIDE = 500  # messages of the other programs for development
SEED = 1
SCORES = "bleu", "chrf"  # metrics of the new messages
SHOWN = 8  # translations printed, at most


class Messages(NamedTuple):
    """The messages of the program that plays the user's own, those of others, and lines about them and about catalogues
    that cannot be read.
    """

    own: list[PairWithOrigin]
    other_programs: list[PairWithOrigin]
    description: str
    left_out: str


def main(folder: Path, language: str) -> None:
    """Write the corpora into `folder/corpus`, train in `folder/parent` and `folder/run`, and print the results.

    Started again, it continues where it stopped. Raises UserError if the machine has too few messages in the language,
    or if the folder contains anything else.
    """
    console = Console(highlight=False, soft_wrap=True)
    texts, parent, run = folder / "corpus", folder / "parent", folder / "run"
    names = (installed.ENGLISH, language)
    corpora = {"train": str(texts / "others.train.tsv"), "dev": str(texts / "others.dev.tsv")}
    data = {
        "source": names[0],
        "target": names[1],
        **corpora,
        "translation_memory": {"kind": "nearest", "threshold": 0.4},
    }
    messages = None if texts.is_dir() else _messages(language)
    config = mark(folder, "demo-installed.yaml", parent, data)
    if messages:
        _write(messages, texts, names)
        if messages.left_out:
            console.print(printable(messages.left_out), markup=False)
        console.print(f"{messages.description}, in {texts}", markup=False)
    session.train(checks.load_config(config))
    own = {"data.dev": str(texts / "own.dev.tsv"), "run": str(run)}
    options = {key: json.dumps(path, ensure_ascii=False) for key, path in own.items()}
    started = starting.configure(str(parent), [str(texts / "own.train.tsv")], options)
    console.print(f"\n{started.description}", markup=False)
    session.train(started.config)
    _show(console, texts, parent, started.config)
    following = {
        f"dragoman translate {run} new.{names[0]}": "more messages of that program",
        f"dragoman train --finetune {parent} mine.po --run runs/mine": "your own",
        f"dragoman corpus --installed {language}": "what else is here, and its licenses",
    }
    console.print("\nnext:")
    for words, what in following.items():
        console.print(f"    {words:<{max(map(len, following))}}    # {what}", markup=False)


def _messages(language: str) -> Messages:
    """Read the messages of this machine. One that the program and others have belongs to the program."""
    paths = installed.find(language, installed.folders(os.environ))
    cleaner = Cleaner(Rules(drop_copies=True))
    damaged: list[str] = []
    entries = ((domain, cleaner(unit)) for domain, unit in installed.read(paths, damaged))
    rows = [PairWithOrigin(entry, domain) for domain, entry in entries if entry]
    counts = Counter(row.origin for row in rows)
    words = Counter[str]()
    for row in rows:
        words[row.origin] += len(row.entry.source.split())
    fit = [(count, name) for name, count in counts.items() if count <= MOST and words[name] >= WORDS * count]
    count, name = max(fit, default=(0, ""))
    own = [row for row in rows if row.origin == name]
    own_keys = {row.entry.key for row in own}
    other_rows = [row for row in rows if row.entry.key not in own_keys]
    if count < FEWEST or len(other_rows) < ENOUGH:
        raise UserError(
            f"--installed {language}: {len(rows):,} messages of {len(counts):,} programs are too few for a demo, which "
            f"needs a program with {FEWEST:,} to {MOST:,} of them, of {WORDS} words or more on average, and {ENOUGH:,} "
            "of others"
        )
    count_kept = min(OTHERS, len(other_rows))
    other_rows = [
        other_rows[len(other_rows) * number // count_kept] for number in range(count_kept)
    ]  # spread over all programs
    notes = installed.describe_folders(language, paths), installed.left_out(damaged, paths)
    description = f"{len(other_rows):,} messages of {len(counts) - 1:,} programs, {installed.ENGLISH} to {language}"
    return Messages(
        own,
        other_rows,
        f"{description}, and {count:,} of '{name}', which plays your own project",
        "; ".join(filter(None, notes)),
    )


def _write(messages: Messages, texts: Path, names: tuple[str, str]) -> None:
    """Write the corpora. Their folder appears when all of them are complete: what a killed demo leaves is hidden."""
    with TemporaryDirectory(prefix=f".{texts.name}.", suffix=".part", dir=texts.parent) as above:
        new_folder = Path(above) / texts.name
        parts.write(messages.own, new_folder / "own", names, parts.DOMAIN, SIZES, SEED)
        parts.write(messages.other_programs, new_folder / "others", names, parts.DOMAIN, {"dev": ASIDE}, SEED)
        with suppress(OSError):  # it is there since just now, from another process
            new_folder.rename(texts)


def _show(console: Console, texts: Path, parent: Path, config: Config) -> None:
    """Print the scores of new messages, of the baselines and of both models, and some translations."""
    data = config.data
    examples = list(read_examples(str(texts / "own.test.tsv"), data.source, data.target))
    sources, references = (
        [str(example_row.sources[0]) for example_row in examples],
        [example_row.target for example_row in examples],
    )
    measured = baselines.measure(data, config.text, [Spec(kind) for kind in SCORES], examples)
    rows = {baseline.name: list(baseline.scores.values()) for baseline in (measured.baselines if measured else ())}
    models = loading.load(parent, translation_memory=texts / "own.train.tsv"), loading.load(Path(config.run))
    for name, model in zip(("the model of others", "the model started from it"), models, strict=True):
        outputs = [translation.text for translation in model.translate(sources)]
        rows[name] = [METRICS[kind]().corpus(outputs, [references]) for kind in SCORES]
    console.print(f"\n{len(examples):,} new messages:")
    for name, scores in rows.items():
        figures = ", ".join(f"{score.name} {figure(score.value)}" for score in scores)
        console.print(f"{name:>30}  {figures}", markup=False)
    console.print()
    shown = list(zip(sources, outputs, strict=True))  # in the order of the catalogue, so some from all of it
    for source, text in shown[:: -(-len(shown) // SHOWN)]:
        source, text = (escape(printable(line)) for line in (source, text))
        console.print(f"{source}\n[bold]{text}[/bold]")

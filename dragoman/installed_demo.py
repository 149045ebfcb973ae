"""The demo on real text: the messages of the programs on this machine, one program playing the user's own.

A model of the messages of all other programs learns to translate with a translation memory (docs/memory.md). Training
starts from it for the one program, whose messages are the memory, and new messages of it are translated.
"""

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from dragoman.corpus import installed, parts
from dragoman.corpus.cleaning import Cleaner, Rules
from dragoman.corpus.examples import Pair, read_pairs
from dragoman.corpus.parts import Origin
from dragoman.demo import mark
from dragoman.errors import UserError
from dragoman.evaluation.metrics import Bleu, Chrf
from dragoman.text.printable import printable
from dragoman.training import checks, session, starting
from dragoman.translation import loading

FEWEST, MOST = 400, 4_000  # messages of the program that plays the user's own
OTHERS = 40_000  # messages of other programs, at most,
ENOUGH = 4_000  # and at least
SIZES = {"dev": 100, "test": 100}
ASIDE = 500  # messages of the other programs for development
SEED = 1
SHOWN = 8  # translations printed


def main(folder: Path, language: str) -> None:
    """Write the corpora into `folder/corpus`, train in `folder/parent` and `folder/run`, and print the results.

    Started again, it continues where it stopped. Raises UserError if the machine has too few messages in the language,
    or if the folder contains anything else.
    """
    console = Console(highlight=False, soft_wrap=True)
    texts, parent, run = folder / "corpus", folder / "parent", folder / "run"
    names = (installed.ENGLISH, language)
    corpora = {"train": str(texts / "others.train.tsv"), "dev": str(texts / "others.dev.tsv")}
    data = {"source": names[0], "target": names[1], **corpora, "memory": {"kind": "nearest", "threshold": 0.4}}
    own, others, told = _messages(language)
    config = mark(folder, "demo-installed.yaml", parent, data)
    _write(own, texts / "own", names, SIZES)
    _write(others, texts / "others", names, {"dev": ASIDE})
    console.print(f"{told}, in {texts}", markup=False)
    session.train(checks.load_config(config))
    given = {"data.dev": json.dumps(str(texts / "own.dev.tsv")), "run": json.dumps(str(run)), "training.metric": "chrf"}
    started = starting.configure(str(parent), [str(texts / "own.train.tsv")], given)
    console.print(f"\n{started.told}", markup=False)
    session.train(started.config)
    _show(console, texts, parent, run, names)
    console.print(
        f"\nnext:\n"
        f"    dragoman translate {run} new.{names[0]}                        # more messages of that program\n"
        f"    dragoman train --start {parent} mine.po --run runs/mine    # your own\n"
        f"    dragoman corpus --installed {language}                           # what else is here, and its licences",
        markup=False,
    )


def _messages(language: str) -> tuple[list[Origin], list[Origin], str]:
    """Return the messages of the program that plays the user's own, those of others, and a line about them. A message
    that both have belongs to the one program.
    """
    paths = installed.find(language, installed.folders(os.environ))
    cleaner = Cleaner(Rules(drop_copies=True))
    entries = ((domain, cleaner(unit)) for domain, unit in installed.read(paths))
    rows = [Origin(entry, domain) for domain, entry in entries if entry]
    counts = Counter(row.origin for row in rows)
    count, name = max(((count, name) for name, count in counts.items() if count <= MOST), default=(0, ""))
    own = [row for row in rows if row.origin == name]
    known = {row.entry.key for row in own}
    others = [row for row in rows if row.entry.key not in known]
    if count < FEWEST or len(others) < ENOUGH:
        raise UserError(
            f"--installed {language}: {len(rows):,} messages of {len(counts):,} programs are too few for a demo, which "
            f"needs a program with {FEWEST:,} to {MOST:,} of them, and {ENOUGH:,} of others"
        )
    others = others[:: -(-len(others) // OTHERS)]
    told = f"{len(others):,} messages of {len(counts) - 1:,} programs, {installed.ENGLISH} to {language}"
    return own, others, f"{told}, and {count:,} of '{name}', which plays your own project"


def _write(rows: Sequence[Origin], prefix: Path, names: tuple[str, str], sizes: dict[str, int]) -> None:
    """Write the parts of a corpus, unless they are there."""
    if not all(path.is_file() for path in parts.paths(prefix, sizes).values()):
        parts.write(rows, prefix, names, parts.DOMAIN, sizes, SEED)


def _show(console: Console, texts: Path, parent: Path, run: Path, names: tuple[str, str]) -> None:
    """Print the scores of new messages, and some translations."""
    pairs = list(read_pairs(str(texts / "own.test.tsv"), *names))
    sources = [pair.source for pair in pairs]
    model = loading.load(run)
    found = [each.text for each in model.translate(sources)]
    alone = [each.text for each in loading.load(parent, memory=texts / "own.train.tsv").translate(sources)]
    console.print(f"\n{len(pairs):,} new messages:")
    for name, each in (("copied", sources), ("by the model of others", alone), ("by the model started from it", found)):
        console.print(f"{name:>30}  {_scores(each, pairs)}", markup=False)
    console.print()
    for source, text in list(zip(sources, found, strict=True))[:SHOWN]:
        source, text = (escape(printable(each)) for each in (source, text))
        console.print(f"{source}\n[bold]{text}[/bold]")


def _scores(found: Sequence[str], pairs: Sequence[Pair]) -> str:
    references = [pair.target for pair in pairs]
    scores = (metric.corpus(found, [references]) for metric in (Bleu(), Chrf()))
    return ", ".join(f"{score.name} {score.value:.1f}" for score in scores)

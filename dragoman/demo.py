"""The demo, end to end: an embedded corpus, training, scores, translations with alignments, report."""

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

from rich.console import Console
from rich.markup import escape

from dragoman import inspection, reporting
from dragoman.corpus.examples import Pair, read_pairs
from dragoman.corpus.pharaoh import Gold, pharaoh, read_gold
from dragoman.errors import UserError
from dragoman.evaluation.metrics.sacre import Bleu
from dragoman.files.writing import write_atomically
from dragoman.reporting import TranslatedRun
from dragoman.run.run import Run
from dragoman.text.normalizer import printable
from dragoman.training import checks, session
from dragoman.translation import loading
from dragoman.translation.translator import Translator
from dragoman.visualization import heatmap

SOURCE, TARGET = "en", "fr"
CORPUS = "demo.zip"  # written by `python -m phrasebook` in the repository
SIZES = {"train": 20_000, "dev": 500, "test": 1_000, "compositional": 1_000}
SHOWN = 10  # translations printed
REPORTED = 300  # test sentences in the report


class DemoTestSet(NamedTuple):
    """A test set of the phrasebook."""

    pairs: list[Pair]
    gold: list[Gold]

    @property
    def sources(self) -> list[str]:
        return [pair.source for pair in self.pairs]

    @property
    def targets(self) -> list[str]:
        return [pair.target for pair in self.pairs]


def main(folder: Path) -> None:
    """Unpack the corpus into `folder/corpus`, train in `folder/run`, and print the results.

    Started again, it continues where it stopped. Raises UserError if the folder contains anything else.
    """
    console = Console(highlight=False, soft_wrap=True)
    texts, run = folder / "corpus", folder / "run"
    config = write_config(texts, run)
    write_corpus(texts, SIZES)
    console.print(f"phrasebook: {SIZES['train']:,} sentence pairs, unpacked into {texts}", markup=False)
    for pair in read_some(texts / "train", 3):
        console.print(f"    {pair.source}  =  {pair.target}", style="dim", markup=False)
    session.train(checks.load_config(config))
    model = loading.load(run)
    test, compositional = read(texts, "test"), read(texts, "compositional")
    console.print()
    for name, part in (("test", test), ("compositional", compositional)):
        translations = model.translate(part.sources, details=False)
        score = Bleu().corpus([translation.text for translation in translations], [part.targets])
        console.print(f"{name:>14}  {score}")
    agreement = inspection.agreement(model, test.sources, test.targets, test.gold)
    console.print(f"{'attention':>14}  {agreement} against the phrasebook's own alignments")
    show(console, model, compositional.sources[:SHOWN])
    page = write_report(model, run, test)
    console.print(
        f"\nreport: {page} (open it in a browser)\n\nnext:\n"
        f'    echo "My teacher isn\'t reading the letter." | dragoman translate {run} --show\n'
        f"    dragoman info {run}\n"
        f"    dragoman init my.en my.fr -o config.yaml    # your own sentence pairs\n"
        f"    dragoman train config.yaml",
        markup=False,
    )


def write_corpus(folder: Path, sizes: Mapping[str, int]) -> None:
    """Write the first pairs of each split of the embedded corpus, unless the files are there already.

    The files of a split are SPLIT.en, SPLIT.fr and SPLIT.en-fr.align, with the links between words.
    """
    with resources.files("dragoman").joinpath(CORPUS).open("rb") as packed, ZipFile(packed) as archive:
        for split, size in sizes.items():
            for name in (f"{split}.{SOURCE}", f"{split}.{TARGET}", f"{split}.{SOURCE}-{TARGET}.align"):
                if not (folder / name).is_file():
                    with archive.open(name) as lines, write_atomically(folder / name, "wb") as file:
                        file.writelines(islice(lines, size))


def write_report(model: Translator, run: Path, part: DemoTestSet) -> Path:
    """Write the report of the run with test sentences, and return its path."""
    sentences, links = inspection.translated(model, part.pairs[:REPORTED], part.gold[:REPORTED])
    loaded = Run.load(run)
    reporting.write_page(loaded.folder.report, [TranslatedRun(loaded, sentences, links=links)])
    return loaded.folder.report


def write_config(texts: Path, run: Path) -> Path:
    """Write the demo's configuration, with the paths of its corpus and its run, beside the corpus."""
    data = {"source": SOURCE, "target": TARGET, "train": str(texts / "train"), "dev": str(texts / "dev")}
    return mark(texts.parent, "demo.yaml", run, data)


def mark(folder: Path, packaged: str, run: Path, data: Mapping[str, Any]) -> Path:
    """Write a packaged configuration, with its run and data, to the folder of a demo, and return its path.

    It is the first file in the folder, and so shows that the others belong to a demo. Raises UserError if other files
    are there without it, since no run or corpus of a user may be overwritten.
    """
    path = folder / "config.yaml"
    run_path, paths = (json.dumps(value, ensure_ascii=False) for value in (str(run), data))
    places = f"run: {run_path}\ndata: {paths}\n"  # JSON is YAML, whatever a path contains
    text = resources.files("dragoman").joinpath(packaged).read_text("utf-8") + places
    if path.is_file() and path.read_bytes() == text.encode():
        return path
    if folder.exists() and (not folder.is_dir() or any(folder.glob("[!.]*"))):  # hidden: left by a killed process
        raise UserError(f"{folder}: is in use, and not by this demo; choose another folder: dragoman demo FOLDER")
    with write_atomically(path) as file:
        file.write(text)
    return path


def read(texts: Path, name: str) -> DemoTestSet:
    """Read a test set with its gold alignments."""
    pairs = list(read_pairs(str(texts / name), SOURCE, TARGET))
    return DemoTestSet(pairs, read_gold(texts / f"{name}.{SOURCE}-{TARGET}.align"))


def read_some(prefix: Path, count: int) -> list[Pair]:
    """Read the first pairs of a corpus."""
    return list(islice(read_pairs(str(prefix), SOURCE, TARGET), count))


def show(console: Console, model: Translator, sources: Sequence[str]) -> None:
    """Print translations with their alignments, and the attention of the first as a heat map."""
    console.print()
    translations = model.translate(sources)
    for translation in translations:
        source, target = (escape(printable(text)) for text in (translation.source, translation.text))
        console.print(f"{source}\n[bold]{target}[/bold]    [dim]{pharaoh(translation.alignment)}[/dim]")
    first = translations[0]
    console.print(heatmap.terminal(first.attention, first.source_words, first.words))

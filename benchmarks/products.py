"""What translates the strings of a product best: `make products-table`.

For several products and languages: the nearest neighbor in the product's own strings, and models that start from a
parent of other programs' messages: without a translation memory, with the most similar string of it, with two that
cover more words, and with further languages as sources. The folder of `--data` has these files, each with a header that
names English, the further languages and the target:

    parent.LANGUAGE.tsv, parent-dev.LANGUAGE.tsv     messages of other programs
    PRODUCT/memory.LANGUAGE.tsv                      a product's own strings
    PRODUCT/dev.LANGUAGE.tsv, test.LANGUAGE.tsv      new strings of the product

If the folder of `--folder` has imported models as `imported-LANGUAGE` (`dragoman import`), runs that start from them
are rows, too. The table has BLEU, chrF and TER, what BLEU is above the nearest neighbor with its 95 % interval over
strings, the characters that an editor inserts, deletes or replaces in percent of the reference's, the share of strings
that are right as they are and with at most 10 % of such changes, and the processor's milliseconds a string.
`--epochs` are those of the parents. `--test` shows the test strings. Started again, it continues where it stopped.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

import dragoman
from benchmarks import provenance, trainings
from benchmarks.prepared import Row
from benchmarks.small import MEMORY, PARENT
from benchmarks.trainings import Table, markdown, result, trained
from dragoman.configuration.config import Config, DeviceConfig
from dragoman.corpus.examples import Pair, read_pairs, read_texts
from dragoman.corpus.tables import rows as table_rows
from dragoman.corpus.translation_memory import NearestMemory
from dragoman.evaluation.baselines import ANY
from dragoman.evaluation.metrics.sacre import Bleu, Chrf, Ter
from dragoman.evaluation.significance import compare
from dragoman.run.folder import RunFolder
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import punctuation
from dragoman.training import checks
from dragoman.training.starting import OPTIONS

PARTS = ("dev", "test")
READER = {**MEMORY, "model.combination": "hierarchical"}
COVERING = {"data.translation_memory": "{kind: covering, threshold: 0.3, count: 2}"}
KINDS = {
    "alone": {},
    "memory": READER,
    "covering memory": {**READER, **COVERING},
    "memory and languages": {**READER, "training.source_dropout": "0.1"},
}
SYMBOLS = {"memory and languages": 12_000}  # of a parent; others have those of its configuration
IMPORTED = "imported"
CHANGED = 0.1  # the most changes in a string that is nearly right, as a share of its characters


class Result(NamedTuple):
    """Translations of the development and the test strings, minutes of training, and seconds of translation."""

    dev: list[str]
    test: list[str]
    minutes: float
    seconds: float


def rows(options: argparse.Namespace) -> list[Row]:
    """Return the parents of every language, and what starts from them for every product."""
    names = {path.name: path for path in sorted(options.data.iterdir())}
    languages = [name.split(".")[1] for name in names if name.startswith("parent.")]
    rows_of_table = [Row(f"parent, {language}, {kind}", PARENT) for language in languages for kind in KINDS]
    for product in (path for path in names.values() if path.is_dir()):
        for language in languages:
            if (product / f"memory.{language}.tsv").is_file():
                kinds = [*KINDS, *[IMPORTED] * RunFolder(options.folder / f"{IMPORTED}-{language}").config.is_file()]
                rows_of_table += [Row(f"{product.name}, {language}, {kind}", PARENT) for kind in kinds]
    return rows_of_table


def config(row: Row, options: argparse.Namespace) -> Config:
    """Return a row's configuration with its data and run folder."""
    product, language, kind = row.name.split(", ")
    is_parent = product == "parent"
    folder: Path = options.data if is_parent else options.data / product
    train, dev = (f"{name}.{language}.tsv" for name in (("parent", "parent-dev") if is_parent else ("memory", "dev")))
    columns = _columns(folder / train)
    sources = columns[:-1] if kind == "memory and languages" else columns[:1]
    overrides = {
        "run": str(options.folder / row.slug),
        "data.source": json.dumps(sources),
        "data.target": columns[-1],
        "data.train": str(folder / train),
        "data.dev": str(folder / dev),
        "device.threads": "1",
    }
    if is_parent:
        count = SYMBOLS.get(kind)
        subwords = {f"text.{side}.tokenizer": f"{{kind: bpe, vocab_size: {count}}}" for side in ("source", "target")}
        overrides["training.epochs"] = str(options.epochs)
        return checks.load_config(row.config, {**overrides, **KINDS[kind], **(subwords if count else {})})
    parent = options.folder / (
        f"{IMPORTED}-{language}" if kind == IMPORTED else Row(f"parent, {language}, {kind}", PARENT).slug
    )
    starting = {key: json.dumps(value) for key, value in OPTIONS.items()}
    starting |= {"training.metric": "chrf", "training.init_from": str(parent), "text.vocabulary_from": str(parent)}
    return checks.load_config(RunFolder(parent).config, {**overrides, **starting})


def _columns(path: Path) -> list[str]:
    return next(table_rows(str(path))).cells


def work(row: Row, options: argparse.Namespace) -> None:
    """Train a row and, unless it is a parent, translate the new strings of its product."""
    run_config = config(row, options)
    made_with = provenance.of(run_config)
    run, minutes = trained(row, run_config, options)
    product, language, _ = row.name.split(", ")
    texts: dict[str, list[str]] = {part: [] for part in PARTS}
    began = time.process_time()
    if product != "parent":
        model = dragoman.load(run, device=DeviceConfig(threads=1))
        names = (*run_config.data.source, run_config.data.target)
        for part in PARTS:
            lines = read_texts(str(options.data / product / f"{part}.{language}.tsv"), names)
            translations = model.translate([line[:-1] for line in lines], details=False)
            texts[part] = [translation.text for translation in translations]
    written = Result(texts["dev"], texts["test"], minutes, time.process_time() - began)
    provenance.write(result(row, options), written._asdict(), made_with)


def show(table_rows: list[Row], options: argparse.Namespace) -> None:
    results = {row.name: Result(**provenance.read(result(row, options))) for row in table_rows}
    for product, language in dict.fromkeys(tuple(name.split(", ")[:2]) for name in results):
        if product == "parent":
            continue
        for part in PARTS if options.test else PARTS[:1]:
            lines = _lines(options.data / product, language, part, results)
            head = (f"{product}, {language}, {part}", "BLEU", "above the nearest, 95 %", "chrF", "TER", "to change")
            markdown((*head, "right", "nearly right", "ms a string", "minutes"), *lines)


def _lines(folder: Path, language: str, part: str, results: dict[str, Result]) -> Iterator[tuple[str, ...]]:
    """Yield the lines of a table: the nearest neighbor, and the rows of a product and a language."""
    source, *_ = _columns(folder / f"memory.{language}.tsv")
    corpora = {name: folder / f"{name}.{language}.tsv" for name in (part, "memory")}
    pairs, memory = (list(read_pairs(str(path), source, language)) for path in corpora.values())
    references = [pair.target for pair in pairs]
    of_product = {kind: results.get(f"{folder.name}, {language}, {kind}") for kind in (*KINDS, IMPORTED)}
    own = {kind: row_result for kind, row_result in of_product.items() if row_result}
    systems = [nearest(pairs, memory), *(getattr(row_result, part) for row_result in own.values())]
    counts = [Bleu().counts(texts, [references]) for texts in systems]
    (first, *scores) = compare(Bleu(), counts, 1)
    yield ("nearest neighbor", f"{first.score.value:.1f}", "", *figures(systems[0], references), "", "")
    for (kind, row_result), score in zip(own.items(), scores, strict=True):
        low, high = score.difference
        parent = results.get(f"parent, {language}, {kind}")
        minutes = f"{row_result.minutes:.1f}" + (f" + {parent.minutes:.0f}" if parent else "")
        milliseconds = 1e3 * row_result.seconds / (len(row_result.dev) + len(row_result.test))
        effort = figures(getattr(row_result, part), references)
        yield (kind, f"{score.score.value:.1f}", f"{low:+.1f} to {high:+.1f}", *effort, f"{milliseconds:.0f}", minutes)


def figures(texts: Sequence[str], references: Sequence[str]) -> list[str]:
    """Return chrF and TER, and the shares of characters to change, and of texts that are right, and nearly so."""
    changes = np.array([Levenshtein.distance(*pair) for pair in zip(texts, references, strict=True)])
    lengths = np.array([len(reference) for reference in references])
    values = [metric.corpus(texts, [references]).value for metric in (Chrf(), Ter())]
    shares = [changes.sum() / lengths.sum(), *(np.mean(changes <= most * lengths) for most in (0, CHANGED))]
    return [*(f"{value:.1f}" for value in values), *(f"{100 * share:.0f} %" for share in shares)]


def nearest(pairs: Sequence[Pair], memory: Sequence[Pair]) -> list[str]:
    """Return the translation of the most similar source for each pair."""
    matcher = NearestMemory(memory, Normalizer(lowercase=False), punctuation, threshold=ANY)
    return [next((match.translation for match in matcher.matches(pair.source)), "") for pair in pairs]


def parents(options: argparse.Namespace) -> tuple[tuple[str, ...], ...]:
    """Return the rows that others start from."""
    return (tuple(row.name for row in rows(options) if row.name.startswith("parent, ")),)


TABLE = Table(
    "benchmarks.products",
    str(__doc__),
    rows,
    folder="runs/products-table",
    data="data/products",
    epochs=6,  # of a parent
    first=parents,
    flags={"--test": "also show the scores of the test strings"},
)


def main(arguments: list[str] | None = None) -> int:
    return trainings.main(TABLE, work, show, arguments)


if __name__ == "__main__":
    sys.exit(main())

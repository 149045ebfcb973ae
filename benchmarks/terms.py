"""What a glossary costs and gains: `make terms-table`.

The model is that of `--run`, and by default that of `dragoman demo`, trained in `runs/demo` unless it is there.
`--source` and `--reference` are sentences for it (by default the demo's test sentences), and `--links` their word
links, a line each, such as `0-0 1-2`. A sentence has one term: its longest source word with one link, to a word of the
reference that has no other. The model translates each sentence without a glossary, with one that has this term, and
with terms that are only favored, by several weights (`--glossary-weight`).

In the first table the translation of a term is a word that no corpus has, the reference's word spelled backwards; BLEU
and chrF are of translations in which it is spelled forwards again. In the second it is the reference's word, of
sentences whose translation lacks that. The tables are printed as Markdown.
"""

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

import dragoman
from benchmarks import explanations
from benchmarks.trainings import markdown, run_command
from dragoman.configuration.config import DeviceConfig
from dragoman.corpus.pharaoh import Links, read_pharaoh
from dragoman.errors import UserError
from dragoman.evaluation.metrics.sacre import Bleu, Chrf
from dragoman.files.reading import existing, read_lines
from dragoman.text.glossary import Glossary, Term, Wholes
from dragoman.text.pretokenizer import punctuation
from dragoman.translation.transforms.terms import LexicalConstraints
from dragoman.translation.translator import Translator

WEIGHTS = (1, 2, 4, 8)
SHORTEST = 4  # letters of a term, and of its translation


class Item(NamedTuple):
    """A sentence, its reference, a word of the one and the word of the other that translates it."""

    source: str
    reference: str
    term: str
    translation: str

    def backwards(self) -> "Item":
        """The same with a translation that no corpus has."""
        return self._replace(translation=self.translation[::-1].lower())


def item(source: str, reference: str, links: Links) -> Item | None:
    """Return a sentence with its term; None if it has none."""
    words = [[text[slice(*span)] for span in punctuation(text)] for text in (source, reference)]
    counts = [Counter(link[side] for link in links) for side in (0, 1)]
    pairs = [(words[0][one], words[1][other]) for one, other in links if counts[0][one] == counts[1][other] == 1]
    fit = [
        pair
        for pair in sorted(pairs)
        if all(word.isalpha() and len(word) >= SHORTEST for word in pair)
        and all(text.count(word) == 1 for text, word in zip((source, reference), pair, strict=True))
    ]
    return Item(source, reference, *max(fit, key=lambda pair: len(pair[0]))) if fit else None


def translations(model: Translator, items: Sequence[Item], weight: float | None) -> list[str]:
    """Return the translations of sentences, each with a glossary of its term."""
    constraints = [
        LexicalConstraints(Glossary([Term(item_terms.term, (item_terms.translation,))]), weight) for item_terms in items
    ]
    return [
        translation.text
        for item_terms, constraint in zip(items, constraints, strict=True)
        for translation in model.translate([item_terms.source], constraints=constraint)
    ]


def has(text: str, word: str) -> bool:
    """Tell whether a text has a word, with a capital or without."""
    return any(True for _ in Wholes(text.lower()).occurrences([word.lower()]))


def rows(model: Translator, items: Sequence[Item], free: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each way to translate sentences, and the translations. `free` are those without a glossary."""
    yield "no glossary", list(free)
    yield "`--glossary`", translations(model, items, None)
    for weight in WEIGHTS:
        yield f"`--glossary-weight {weight}`", translations(model, items, weight)


def show(model: Translator, items: Sequence[Item], free: Sequence[str], *, backwards: bool) -> None:
    """Print a table: how many translations have their terms, BLEU and chrF."""
    directed = [term_item.backwards() for term_item in items] if backwards else items
    lines = []
    for name, outputs in rows(model, directed, free):
        there = sum(has(text, term_item.translation) for text, term_item in zip(outputs, directed, strict=True))
        pairs = zip(outputs, directed, items, strict=True)
        texts = [forwards(text, made_from, term_item) if backwards else text for text, made_from, term_item in pairs]
        right = [[term_item.reference for term_item in items]]
        scores = (f"{metric.corpus(texts, right).value:.1f}" for metric in (Bleu(), Chrf()))
        lines.append((name, f"{there} of {len(items)}", *scores))
    markdown(("", "terms there", "BLEU", "chrF"), *lines)


def forwards(text: str, reversed_item: Item, original: Item) -> str:
    """Return a translation with the reference's word in the place of that which was made of it."""
    capital = reversed_item.translation.capitalize(), original.translation.capitalize()
    return text.replace(reversed_item.translation, original.translation).replace(*capital)


def run(options: argparse.Namespace, console: Console) -> int:
    files = options.source, options.reference, options.links
    if options.run is None:
        folder = explanations.trained(Path("runs/demo"))
        texts = folder.parent / "corpus"
        files = texts / "test.en", texts / "test.fr", texts / "test.en-fr.align"
    elif None in files:
        raise UserError("--run goes with --source, --reference and --links")
    else:
        folder = options.run
    model = dragoman.load(folder, device=DeviceConfig(threads=1))
    sources, references, links = (list(read_lines(existing(path))) for path in files)
    lines = zip(sources, references, (read_pharaoh(line).possible for line in links), strict=True)
    items = [term_item for term_item in itertools.starmap(item, lines) if term_item]
    console.print(f"{len(items):,} of {len(sources):,} sentences have a term")
    free = [term_item.text for term_item in model.translate([term_item.source for term_item in items])]
    show(model, items[: options.sentences], free[: options.sentences], backwards=True)
    lacking = [number for number, term_item in enumerate(items) if not has(free[number], term_item.translation)]
    console.print(f"{len(lacking):,} translations lack their terms")
    chosen = lacking[: options.sentences]
    show(model, [items[number] for number in chosen], [free[number] for number in chosen], backwards=False)
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.terms", description=__doc__)
    parser.add_argument("--run", type=Path, help="run folder (default: that of the demo)")
    for name, text in (("source", "sentences"), ("reference", "their references"), ("links", "their word links")):
        parser.add_argument(f"--{name}", type=Path, help=text)
    parser.add_argument("--sentences", type=int, default=200, help="the most sentences of a table")
    return run_command(run, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())

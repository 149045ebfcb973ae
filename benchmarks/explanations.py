"""How explanations agree with gold links, and whether contrasts name the word that differs: `make explanations-table`.

The model is that of `dragoman demo`, trained in the folder `demo` unless it is there. Of each target word of a test set
the source word that did most, by each method, is a link. The minimal pairs are sentences of the phrasebook, not of the
training data, that differ in one word: it is asked why the first has its own translation, and not that of the second.
Started again, it continues where it stopped. The tables are printed as Markdown.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

import dragoman
from benchmarks import provenance
from benchmarks.trainings import markdown, run_command
from dragoman import demo
from dragoman.configuration.config import DeviceConfig
from dragoman.corpus.examples import read_pairs
from dragoman.corpus.pharaoh import Links
from dragoman.evaluation.alignment import AlignmentQuality, error_rate, links
from dragoman.run.run import Run
from dragoman.text.pipeline import TextPipeline
from dragoman.training import checks, session
from dragoman.translation.explanation.explanation import METHODS, Explanation
from dragoman.translation.translator import Translator
from phrasebook import corpus

TESTS = ("test", "compositional")
SENTENCES = 500  # of each test set
TOGETHER = 50  # explained at once
DRAWN, SEED = 4_000, 2  # sentences among which minimal pairs are found
PAIRS = 50
SHORTEST = 4  # words of a sentence in a minimal pair
ABSOLUTE = "|gradient|"
WAYS = (*METHODS, ABSOLUTE)


class Minimal(NamedTuple):
    """A source, its translation, that of a source which differs in the word of this number, and the two words."""

    source: str
    translation: str
    other: str
    place: int
    words: tuple[str, str]


def trained(folder: Path) -> Path:
    """Return the run of the demo, made unless it is there."""
    texts, run = folder / "corpus", folder / "run"
    config = demo.write_config(texts, run)
    demo.write_corpus(texts, demo.SIZES)
    session.train(checks.load_config(config), quiet=True)
    return run


def minimal_pairs(folder: Path, pipeline: TextPipeline) -> list[Minimal]:
    """Return sentences that differ in one word, as their translations do: each frame and each pair of words once."""
    if not (folder / f"test.{demo.SOURCE}").is_file():
        corpus.write(folder, demo.SOURCE, demo.TARGET, {"test": DRAWN}, SEED)
    minimal: list[Minimal] = []
    frames: dict[tuple[Any, ...], tuple[str, str]] = {}
    used = set[Any]()
    for source, translation in read_pairs(str(folder / "test"), demo.SOURCE, demo.TARGET):
        words = tuple(pipeline.words(pipeline.encode(source)).words)
        for place, word in enumerate(words):
            frame = (*words[:place], None, *words[place + 1 :])
            other, theirs = frames.setdefault(frame, (source, translation))
            differs = pipeline.words(pipeline.encode(other)).words[place]
            keys = {frame, frozenset((word, differs)), source, other}
            if word == differs or theirs == translation or len(words) < SHORTEST or used & keys:
                continue
            used |= keys
            minimal.append(Minimal(source, translation, theirs, place, (word, differs)))
    return minimal[:PAIRS]


def explained(
    model: Translator, sources: Sequence[str], targets: Sequence[str], contrasts: Sequence[str] = ()
) -> Iterator[Explanation]:
    """Yield the explanations of given pairs, and why they are not the others."""
    for first in range(0, len(sources), TOGETHER):
        part = slice(first, first + TOGETHER)
        scored = model.score(sources[part], targets[part])
        yield from model.explain([score.translation for score in scored], contrasts[part])


def maps(explanation: Explanation) -> dict[str, Any]:
    """Return the map of words (target words, source words) by each way."""
    matrices: dict[str, Any] = {method: explanation.matrix(method).attention for method in METHODS}
    return {**matrices, ABSOLUTE: np.abs(matrices["gradient"])}


def agreement(model: Translator, texts: Path, test: str) -> dict[str, Any]:
    """Return how the links by each way agree with gold links (AER, precision, recall), and for how many target words
    they are those of attention.
    """
    part = demo.read(texts, test)
    all_maps = [maps(maps_of) for maps_of in explained(model, part.sources[:SENTENCES], part.targets[:SENTENCES])]
    links_of: dict[str, list[Links]] = {way: [links(maps_of[way]) for maps_of in all_maps] for way in WAYS}
    words = sum(len(maps_of["attention"]) for maps_of in all_maps)
    same = {
        way: sum(len(one & other) for one, other in zip(links_of["attention"], links_of[way], strict=True))
        for way in WAYS
    }
    scores = {way: error_rate(links_of[way], part.gold[:SENTENCES]) for way in WAYS}
    return {way: [*scores[way], same[way] / words] for way in WAYS}


def named(model: Translator, folder: Path) -> dict[str, Any]:
    """Return how many contrasts of minimal pairs name the word that differs, and the pairs with what was named."""
    pairs = minimal_pairs(folder, model.source.text)
    sources, targets, contrasts = (
        [getattr(contrast_pair, name) for contrast_pair in pairs] for name in ("source", "translation", "other")
    )
    right = dict.fromkeys(METHODS, 0)
    explanations: list[Any] = []
    for pair, explanation in zip(pairs, explained(model, sources, targets, contrasts), strict=True):
        assert explanation.contrast is not None
        (seen,), words = explanation.contrast.sources, explanation.attended[0].words
        best = {method: int(np.argmax(getattr(seen, method))) for method in METHODS}
        for method, place in best.items():
            right[method] += place == pair.place
        explanations.append({**pair._asdict(), "named": {method: words[place] for method, place in best.items()}})
    return {"pairs": len(pairs), "right": right, "named": explanations}


def run(options: argparse.Namespace, console: Console) -> int:
    parts = {name: options.folder / f"{name}.json" for name in (*TESTS, "minimal")}
    if not all(path.is_file() for path in parts.values()):
        options.folder.mkdir(parents=True, exist_ok=True)
        folder = trained(options.demo or options.folder / "demo")
        model, config = dragoman.load(folder, device=DeviceConfig(threads=1)), Run.load(folder).config
        for name, path in parts.items():
            if not path.is_file():
                origin = provenance.of(config)
                texts = folder.parent / "corpus"
                result_of = (
                    named(model, options.folder / "minimal") if name == "minimal" else agreement(model, texts, name)
                )
                provenance.write(path, result_of, origin)
                console.print(name)
    show(parts)
    return 0


def show(parts: dict[str, Path]) -> None:
    """Print the tables."""
    results = {name: provenance.read(path) for name, path in parts.items()}
    heads = [f"{head} {test}" for test in TESTS for head in ("AER", "as attention")]
    rows = [
        [f"`{way}`".replace("|", "\\|"), *(cell for test in TESTS for cell in _cells(results[test][way]))]
        for way in WAYS
    ]
    markdown(["links by", *heads], *rows)
    right, pairs = results["minimal"]["right"], results["minimal"]["pairs"]
    markdown(["contrast by", f"names the word that differs, of {pairs}"], *([f"`{m}`", str(right[m])] for m in METHODS))


def _cells(figures: Sequence[float]) -> list[str]:
    *score, same = figures
    return [f"{100 * AlignmentQuality(*score).error_rate:.1f}", f"{100 * same:.0f} %"]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explanations", description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("runs/explanations-table"), help="output folder")
    parser.add_argument(
        "--demo", type=Path, help="folder of a demo whose model is explained; it is continued if need be"
    )
    return run_command(run, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())

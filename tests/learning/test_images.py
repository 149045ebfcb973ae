"""Translating what only a picture decides."""

import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

import dragoman
from dragoman.training import checks, session

COLORS = {"rot": (1.0, 0.0, 0.0), "blau": (0.0, 0.0, 1.0), "gelb": (1.0, 1.0, 0.0), "weiß": (1.0, 1.0, 1.0)}
SHAPES = {
    "Kreuz": ["#..#", ".##.", ".##.", "#..#"],
    "Quadrat": ["####", "####", "####", "####"],
    "Strich": ["....", "####", "....", "...."],
}
PLACES = {"here": "hier", "there": "dort", "everywhere": "überall", "nowhere": "nirgends"}
CHANCE = 1 / (len(COLORS) * len(SHAPES))
CELL, GRID = 4, 3  # pixels of a shape, shapes beside each other in a picture
COUNTS = {"train": 600, "dev": 20, "test": 120}
CONFIG = """
seed: 5
device: {name: cpu, threads: 1, precision: float32}
data: {source: [en, image], target: de, features: image}
text: {shared_vocabulary: false, source: {tokenizer: word}, target: {tokenizer: word}}
model:
  embedding: {size: 16}
  encoder: {kind: rnn, size: 16}
  features: {kind: projection, size: 32}
  decoder: {kind: rnn, size: 32, attend: between, readout: deep}
training:
  epochs: null
  steps: 300
  batch: {size: 32}
  optimizer: {kind: adam, learning_rate: 0.01}
  schedule: {kind: cosine, steps: 300}
  validate_every: 300
  metric: loss
metrics: [bleu]
search: greedy
"""


class Corpus(NamedTuple):
    """What stands in the source, in the pictures (N, regions, numbers), and below them."""

    sources: list[str]
    images: npt.NDArray[np.float32]
    captions: list[str]


def corpus(count: int, seed: int) -> Corpus:
    """Pictures of 12 x 12 pixels with noise, and one colored shape in one of nine cells, which are the regions."""
    chosen, generator = random.Random(seed), np.random.default_rng(seed)
    images = generator.normal(0, 0.1, (count, GRID * CELL, GRID * CELL, 3))
    sources, captions = [], []
    for image in images:
        color, shape, place = (chosen.choice(list(names)) for names in (COLORS, SHAPES, PLACES))
        top, left = (CELL * chosen.randrange(GRID) for _ in range(2))
        drawn = np.array([[pixel == "#" for pixel in row] for row in SHAPES[shape]])
        image[top : top + CELL, left : left + CELL] += drawn[..., None] * np.array(COLORS[color])
        sources.append(f"a shape {place}")
        captions.append(f"{shape} {color} {PLACES[place]}")
    cells = images.reshape(count, GRID, CELL, GRID, CELL, 3).swapaxes(2, 3).reshape(count, GRID**2, -1)
    return Corpus(sources, cells.astype(np.float32), captions)


def shape_of(images: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """A vector of each picture as a whole (N, numbers), such as a network finds: its cell that is not blank."""
    cell = np.abs(images).sum(2).argmax(1)
    return images[np.arange(len(images)), cell]


def train(folder: Path, options: dict[str, str], *, vectors: bool = False) -> dragoman.Translator:
    for number, part in enumerate(("train", "dev")):
        sample = corpus(COUNTS[part], number)
        for name, lines in (("en", sample.sources), ("de", sample.captions)):
            (folder / f"{part}.{name}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        np.save(folder / f"{part}.image.npy", shape_of(sample.images) if vectors else sample.images)
    (folder / "config.yaml").write_text(CONFIG, "utf-8")
    places = {"run": str(folder / "run"), "data.train": str(folder / "train"), "data.dev": str(folder / "dev")}
    config = checks.load_config(folder / "config.yaml", {**places, **options})
    return dragoman.load(session.train(config, quiet=True).path)


def right(translator: dragoman.Translator, texts: list[Any], captions: list[str]) -> float:
    """The share of captions that are right from the first to the last word."""
    outputs = [translation.text for translation in translator.translate(texts)]
    return sum(one == other for one, other in zip(outputs, captions, strict=True)) / len(captions)


@pytest.mark.slow
@pytest.mark.spec("C10")
@pytest.mark.parametrize("combination", ["concatenation", "hierarchical"])
def test_a_picture_decides_and_is_looked_at_where_something_is(tmp_path: Path, combination: str) -> None:
    translator = train(tmp_path, {"model.combination": combination})
    test = corpus(COUNTS["test"], 2)
    pairs = list(zip(test.sources, test.images, strict=True))
    assert right(translator, pairs, test.captions) >= 0.95
    sentence_pairs = list(zip(test.sources, np.roll(test.images, 1, 0), strict=True))
    assert right(translator, sentence_pairs, test.captions) <= CHANCE + 0.12
    cells = np.abs(test.images).sum(2).argmax(1)
    named = [
        translation.sources[1].attention[0].argmax() for translation in translator.translate(pairs)
    ]  # by the word for the shape
    assert np.mean(named == cells) >= 0.9


@pytest.mark.slow
@pytest.mark.spec("C10")
def test_without_the_picture_it_is_chance(tmp_path: Path) -> None:
    translator = train(tmp_path, {"data.source": "en", "data.features": "[]"})
    test = corpus(COUNTS["test"], 2)
    assert right(translator, test.sources, test.captions) <= CHANCE + 0.12


@pytest.mark.slow
@pytest.mark.spec("C12")
def test_a_vector_of_the_picture_starts_the_decoder(tmp_path: Path) -> None:
    longer = {"training.steps": "600", "training.schedule": "{kind: cosine, steps: 600}"}
    translator = train(tmp_path, {"model.initial_state_only": "image", **longer}, vectors=True)
    test = corpus(COUNTS["test"], 2)
    vectors = shape_of(test.images)
    assert right(translator, list(zip(test.sources, vectors, strict=True)), test.captions) >= 0.95
    pairs = list(zip(test.sources, np.roll(vectors, 1, 0), strict=True))
    assert right(translator, pairs, test.captions) <= CHANCE + 0.12
    (translation,) = translator.translate([(test.sources[0], vectors[0])])
    assert translation.shares["image"].tolist() == [0.0] * len(translation.words)  # it is not attended to

"""What a contrast names is what makes the difference."""

import random
from typing import NamedTuple

import numpy as np
import pytest

import dragoman
from dragoman.training import session
from dragoman.translation.explanation.explanation import Explanation
from tests import toy

PAIRS = 60
OPTIONS = {
    "model.embedding": {"size": 24},
    "model.encoder": {"kind": "rnn", "size": 24},
    "model.decoder": {"kind": "rnn", "size": 48, "readout": "deep"},
    "training.epochs": None,
    "training.steps": 300,
    "training.validate_every": 300,
    "training.schedule": {"kind": "cosine", "steps": 300},
    "training.optimizer": {"kind": "adam", "learning_rate": 0.02},
}


class Minimal(NamedTuple):
    """A source, its translation, that of a source which differs in one word, and the number of that word."""

    source: str
    translation: str
    other: str
    place: int


def german(words: list[str]) -> str:
    """Word by word, in the order of English."""
    return " ".join(toy.GERMAN[word] for word in words)


def minimal_pairs() -> list[Minimal]:
    """Sentences of three or four different words."""
    generator, pairs = random.Random(7), list[Minimal]()
    for _ in range(PAIRS):
        *words, instead = generator.sample(list(toy.WORDS), generator.randint(4, 5))
        place = generator.randrange(len(words))
        other = [*words[:place], instead, *words[place + 1 :]]
        pairs.append(Minimal(" ".join(words), german(words), german(other), place))
    return pairs


@pytest.fixture(scope="module")
def explanations(tmp_path_factory: pytest.TempPathFactory) -> list[Explanation]:
    """Why the translations of minimal pairs are not those of the others, by a model that translates all of them."""
    folder = toy.corpus(tmp_path_factory.mktemp("german"))
    for name, count, seed in (("train", 400, 1), ("dev", 8, 2)):
        lines = [source for source, _ in toy.pairs(count, seed)]
        toy.write(folder, name, [(line, german(line.split())) for line in lines])
    model = dragoman.load(session.train(toy.config(folder, folder / "run", OPTIONS), quiet=True).path)
    sources, translations, alternatives, _ = zip(*minimal_pairs(), strict=True)
    outputs = model.translate(sources)
    assert [output.text for output in outputs] == list(translations)
    return model.explain(outputs, alternatives)


@pytest.mark.parametrize("method", ["gradient", "erasure"])
def test_a_contrast_names_the_word_that_differs(explanations: list[Explanation], method: str) -> None:
    named = [
        int(np.argmax(getattr(explanation.contrast.sources[0], method)))
        for explanation in explanations
        if explanation.contrast
    ]
    right = sum(place == pair.place for place, pair in zip(named, minimal_pairs(), strict=True))
    assert right >= 0.9 * PAIRS

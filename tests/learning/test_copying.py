"""Names that nobody has seen are copied, by models that can."""

import random
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.training import session
from tests import toy

FRAMES = [
    ("{0} sees {1}", "{0} voit {1}"),
    ("{1} hears {0} here", "ici {1} entend {0}"),
    ("my old friend {0}", "mon vieil ami {0}"),
]
FREQUENT = {"kind": "word", "minimum_frequency": 20}
OPTIONS: dict[str, Any] = {
    "text.source.tokenizer": FREQUENT,
    "text.target.tokenizer": FREQUENT,
    "training.epochs": None,
    "training.steps": 250,
    "training.validate_every": 250,
    "training.optimizer": {"kind": "adam", "learning_rate": 0.02},
}


def lines(count: int, seed: int) -> list[tuple[str, str]]:
    """Sentences about people who are met once."""
    generator, pairs = random.Random(seed), list[tuple[str, str]]()
    for number in range(count):
        names = ["".join(generator.choices("abcdefgh", k=5)) for _ in range(2)]
        source, target = (text.format(*names) for text in FRAMES[number % len(FRAMES)])
        pairs.append((source, target))
    return pairs


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    toy.write(folder, "train", lines(240, 1))
    toy.write(folder, "dev", lines(60, 2))
    (folder / "toy.yaml").write_text(toy.CONFIG, encoding="utf-8")
    return folder


def exact(names: Path, name: str, output: Any, steps: int = 250) -> float:
    """The share of the development sentences that a model with this output translates to the last word."""
    options = {**OPTIONS, "model.output": output, "training.steps": steps}
    folder = session.train(toy.config(names, names / name, options), quiet=True).path
    translations = dragoman.load(folder, replace_unk=False).translate([source for source, _ in lines(60, 2)])
    return (
        sum(translation.text == target for translation, (_, target) in zip(translations, lines(60, 2), strict=True))
        / 60
    )


@pytest.mark.spec("D5")
def test_half_of_the_words_are_new_and_are_copied(names: Path) -> None:
    vocabulary = {word for _, target in lines(240, 1) for word in target.split()}
    words = [word for _, target in lines(60, 2) for word in target.split()]
    assert sum(word not in vocabulary for word in words) >= 0.45 * len(words)
    assert exact(names, "mixture", "pointer_generator") > 0.9
    assert exact(names, "switch", {"kind": "pointer", "supervised": True}) > 0.9
    assert exact(names, "plain", "softmax", steps=60) == 0.0  # however long it learns

"""Words that nobody has seen are understood by their characters, by models that read these."""

import random
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.configuration.components import Spec
from dragoman.training import session
from tests import toy

TENSES = {"ed": "war", "ing": "ist", "s": "sind"}  # by the end of a word
FREQUENT = {"kind": "word", "minimum_frequency": 20}
OPTIONS: dict[str, Any] = {
    "text.source.tokenizer": FREQUENT,
    "text.target.tokenizer": FREQUENT,
    "training.epochs": None,
    "training.steps": 150,
    "training.validate_every": 150,
    "training.optimizer": {"kind": "adam", "learning_rate": 0.01},
}
RNN = {"kind": "character_rnn", "characters": 8, "hidden": 12}
CNN = {"kind": "character_cnn", "characters": 8, "widths": [1, 2, 3], "filters": 4}


def lines(count: int, seed: int) -> list[tuple[str, str]]:
    """Sentences with a word whose stem is met once."""
    generator, pairs = random.Random(seed), list[tuple[str, str]]()
    for _ in range(count):
        end = generator.choice(list(TENSES))
        stem = "".join(generator.choices("abkmotu", k=5))
        pairs.append((f"we {stem}{end}", f"wir {TENSES[end]} es"))
    return pairs


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    toy.write(folder, "train", lines(240, 1))
    toy.write(folder, "dev", lines(60, 2))
    (folder / "toy.yaml").write_text(toy.CONFIG, encoding="utf-8")
    return folder


def right(folder: Path, name: str, options: dict[str, Any]) -> float:
    """The share of the development sentences that such a model translates to the last word."""
    run = session.train(toy.config(folder, folder / name, {**OPTIONS, **options}), quiet=True).path
    translations = dragoman.load(run).translate([source for source, _ in lines(60, 2)])
    return (
        sum(translation.text == target for translation, (_, target) in zip(translations, lines(60, 2), strict=True))
        / 60
    )


@pytest.mark.spec("D14")
def test_a_hybrid_knows_a_new_word_by_its_end(words: Path) -> None:
    hybrid = {"kind": "hybrid", "characters": 8, "layers": 1}
    assert right(words, "hybrid", {"model.embedding.source": hybrid}) > 0.9


@pytest.mark.spec("D12", "D13")
@pytest.mark.parametrize(("source", "target"), [(CNN, "lookup"), (RNN, CNN)])
def test_a_new_word_is_known_by_its_end(source: Any, target: Any, words: Path) -> None:
    options = {"model.embedding.source": source, "model.embedding.target": target, "seed": 2}
    assert right(words, f"{source['kind']} {'both' if target == CNN else 'alone'}", options) > 0.9


def test_a_table_knows_no_new_word(words: Path) -> None:
    vocabulary = {word for source, _ in lines(240, 1) for word in source.split()}
    new = [word for source, _ in lines(60, 2) for word in source.split() if word != "we"]
    assert sum(word in vocabulary for word in new) <= 0.1 * len(new)
    assert right(words, "lookup", {}) < 0.4


STEMS = {"go": "geh", "sing": "sing", "wait": "wart", "buy": "kauf"}
ENDS = {"you": "st", "they": "en", "past": "te"}
HYBRID: dict[str, Any] = {
    "model.output": {"kind": "hybrid", "size": 24, "characters": 8, "beam": 3},
    "text.source.tokenizer": {"kind": "word"},
    "text.target.tokenizer": {"kind": "word", "vocab_size": 2},
    "training.steps": 360,
    "training.validate_every": 360,
    "seed": 1,
}


def forms(count: int, seed: int) -> list[tuple[str, str]]:
    """Sentences with a word of many, each of which is rare."""
    generator = random.Random(seed)
    drawn = [(generator.choice(list(ENDS)), generator.choice(list(STEMS))) for _ in range(count)]
    return [(f"{end} {stem} here", f"hier {STEMS[stem]}{ENDS[end]} es") for end, stem in drawn]


@pytest.mark.spec("D15")
def test_words_outside_the_vocabulary_are_spelled(tmp_path: Path) -> None:
    """And a model of words can say none of them."""
    new = forms(40, 2)
    toy.write(tmp_path, "train", forms(240, 1))
    toy.write(tmp_path, "dev", new)
    (tmp_path / "toy.yaml").write_text(toy.CONFIG, encoding="utf-8")
    shares = []
    for name, changes in (("hybrid", {}), ("words", {"model.output": "softmax", "training.steps": 60})):
        options = {**OPTIONS, **HYBRID, **changes}
        translator = dragoman.load(session.train(toy.config(tmp_path, tmp_path / name, options), quiet=True).path)
        assert translator.target.vocabulary.symbols([4, 5]) == ["es", "hier"]
        for search in ("greedy", "beam"):
            translations = translator.translate([source for source, _ in new], search=Spec(search))
            shares.append(
                sum(translation.text == target for translation, (_, target) in zip(translations, new, strict=True)) / 40
            )
            assert name == "words" or not any("<unk>" in translation.text for translation in translations)
    assert min(shares[:2]) > 0.9
    assert max(shares[2:]) == 0.0

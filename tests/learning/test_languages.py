"""A model of three languages learns four directions, and in a fifth it writes the language that is asked for."""

from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.training import checks, session
from tests import toy

WORDS = {"pretokenizer": "whitespace", "tokenizer": "word"}
OPTIONS: dict[str, Any] = {
    "text": {"shared_vocabulary": True, "source": WORDS, "target": WORDS},
    "model.embedding": {"size": 16, "tie": "all"},
    "model.encoder": {"kind": "rnn", "size": 16, "dropout": 0.1},
    "model.decoder": {"kind": "rnn", "size": 32, "readout": "deep"},
    "training.epochs": 20,
    "training.patience": None,
    "training.validate_every": 800,
    "training.schedule": {"kind": "cosine", "steps": 1600},
    "training.optimizer": {"kind": "adam", "learning_rate": 0.02},
}


@pytest.mark.slow
@pytest.mark.spec("E1")
@pytest.mark.spec("E2")
def test_zero_shot_translations_are_in_the_right_language(tmp_path: Path) -> None:
    pairs = toy.languages(tmp_path, train=320, longest=4)
    options = {"run": str(tmp_path / "run"), "data": {"pairs": pairs, "filter_target_vocabulary": False}, **OPTIONS}
    config = checks.load_config(tmp_path / "toy.yaml", {key: toy._yaml(value) for key, value in options.items()})
    translator = dragoman.load(session.train(config, quiet=True).path)
    lines = {name: (tmp_path / f"test.{name}").read_text("utf-8").splitlines() for name in ("en", "de", "fr")}
    words = {name: {word for line in translate for word in line.split()} for name, translate in lines.items()}

    def translate(source: str, target: str) -> list[str]:
        return [translation.text for translation in translator.translate(lines[source], to=target)]

    for source, target, _ in toy.DIRECTIONS:
        right = sum(text == line for text, line in zip(translate(source, target), lines[target], strict=True))
        assert right >= 25, (source, target)
    translated_words = [word for text in translate("de", "fr") for word in text.split()]
    assert sum(word in words["fr"] for word in translated_words) >= 0.95 * len(translated_words)
    pivoted = [sentence.text for sentence in translator.translate(translate("de", "en"), to="fr")]
    assert sum(text == line for text, line in zip(pivoted, lines["fr"], strict=True)) >= 25

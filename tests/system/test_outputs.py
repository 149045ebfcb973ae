"""Runs with every output of the table: trained, loaded, described, and translating alone and with others."""

from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.errors import UserError
from dragoman.model.output.table import OUTPUTS
from dragoman.run.run import Run, facts
from dragoman.training import checks, session
from tests import toy

LINES = ["one two", "three", "six five four"]
OPTIONS: dict[str, dict[str, Any]] = {"nce": {"samples": 5}, "partitioned": {"portion": 5}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run with each output."""
    folder = tmp_path_factory.mktemp("outputs")
    texts = toy.corpus(folder / "corpus")
    folders = {}
    for kind in OUTPUTS:
        options = {"training.epochs": 1, "model.output": {"kind": kind, **OPTIONS.get(kind, {})}}
        folders[kind] = session.train(toy.config(texts, folder / kind, options), quiet=True).path
    return folders


@pytest.mark.slow
@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_run_translates_scores_and_is_described(kind: str, runs: dict[str, Path]) -> None:
    translator = dragoman.load(runs[kind])
    translations = translator.translate(LINES)
    scored = translator.score(LINES, [candidate.text for candidate in translations])
    for translation, score in zip(translations, scored, strict=True):
        assert translation.log_prob == pytest.approx(score.log_prob, abs=1e-4)
    assert kind in str(facts(Run.load(runs[kind])))
    if not OUTPUTS[kind].spells:  # test_characters.py
        assert dragoman.load([runs[kind], runs["softmax"]]).translate(LINES)


@pytest.mark.slow
@pytest.mark.parametrize("kind", OUTPUTS)
def test_int8_knows_outputs_of_one_matrix(kind: str, runs: dict[str, Path]) -> None:
    if OUTPUTS[kind].portable:
        assert dragoman.load(runs[kind], engine="int8").translate(LINES)
    else:
        with pytest.raises(UserError, match=f"engine int8 does not support the output '{kind}'"):
            dragoman.load(runs[kind], engine="int8")


@pytest.mark.parametrize("kind", ["huffman", "adaptive"])
def test_a_tie_that_cannot_be_is_told_before_data_are_read(kind: str, tmp_path: Path) -> None:
    options = {"model.output": kind, "model.embedding.tie": "output", "model.decoder.readout_size": 12}
    with pytest.raises(UserError, match=r"model\.output: has .* no embedding is tied") as raised:
        toy.config(toy.corpus(tmp_path), tmp_path / "run", options)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", ["nce", "partitioned", "classes"])
def test_a_tie_that_can_be_is_fine(kind: str, tmp_path: Path) -> None:
    options = {**toy.SUBWORDS, "model.output": kind, "model.decoder.readout_size": 12}
    assert checks.problems(toy.config(toy.corpus(tmp_path), tmp_path / "run", options)) == []

"""From corrections of users to a better run, and the gate before the service."""

import json
import random
import shutil
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sentencex")
from starlette.testclient import TestClient
from typer.testing import CliRunner

import dragoman
from dragoman.cli import app
from dragoman.corpus.examples import read_texts
from dragoman.errors import UserError
from dragoman.evaluation.metrics.table import METRICS
from dragoman.model.weights import read_tensors, write_tensors
from dragoman.run.run import Run
from dragoman.serving.app import create
from dragoman.serving.backend import Backend
from dragoman.serving.client_limits import AccessControl, RequestLimits
from dragoman.serving.corrections import Corrections
from dragoman.serving.models import ServedModel
from dragoman.serving.prometheus import Metrics
from dragoman.serving.service import Service
from dragoman.training import checks, session
from dragoman.translation.comparison import Comparison
from tests import toy

pytestmark = pytest.mark.slow
RIGHT = {**toy.WORDS, "IV": "quatre"}
WRONG = {**RIGHT, "four": "trois"}  # what the run has learned, from a corpus that seldom has the word
Pairs = list[tuple[str, str]]


def pairs(count: int, seed: int, words: dict[str, str], rare: float) -> Pairs:
    """Sentences of which a share has the word `four`."""
    generator, lines = random.Random(seed), Pairs()
    other_words = [word for word in words if word != "four"]
    for _ in range(count):
        source = generator.choices(other_words, k=generator.randint(3, 6))
        if generator.random() < rare:
            source[generator.randrange(len(source))] = "four"
        lines.append((" ".join(source), " ".join(words[word] for word in reversed(source))))
    return lines


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a run that has an error, 200 corrections of it, and the run that has learned from them."""
    folder = tmp_path_factory.mktemp("learned")
    toy.write(folder, "train", pairs(500, 1, WRONG, 0.05))
    toy.write(folder, "dev", pairs(120, 2, RIGHT, 0.05))
    options = {
        "training.epochs": None,
        "training.steps": 300,
        "training.validate_every": 150,
        "training.schedule": {"kind": "cosine", "steps": 300},
        "training.optimizer": {"kind": "adam", "learning_rate": 0.02},
        "data.train": "train",
        "data.dev": "dev",
        "run": "old",
    }
    (folder / "toy.yaml").write_text(toy.CONFIG, "utf-8")
    with chdir(folder):
        session.train(
            checks.load_config("toy.yaml", {key: json.dumps(value) for key, value in options.items()}), quiet=True
        )
        service = Service([ServedModel.load(Path("old"))], corrections=Corrections(Path("db")))
        limits = RequestLimits()
        with TestClient(create(Backend(service, limits, AccessControl(limits), Metrics()))) as client:
            for source, target in pairs(200, 3, RIGHT, 1.0):
                suggestion = {"q": source, "s": target, "source": "en", "target": "fr"}
                assert client.post("/suggest", json=suggestion).json() == {"success": True}
        words = ["train", "--corrections", "db", "--finetune", "old", "--run", "new"]
        outcome = CliRunner().invoke(app, words)
        assert outcome.exit_code == 0, (outcome.output, outcome.exception)
        assert "not worse than old on 60 sentences" in outcome.output
        yield folder


def bleu(run: Path, test_pairs: Pairs) -> float:
    texts = [translation.text for translation in dragoman.load(run).translate([source for source, _ in test_pairs])]
    return METRICS["bleu"]().corpus(texts, [[target for _, target in test_pairs]]).value


def test_a_systematic_error_is_gone_and_nothing_else_is_lost(learned: Path) -> None:
    with_error, without_error = pairs(100, 4, RIGHT, 1.0), pairs(200, 5, RIGHT, 0.0)
    old, new = learned / "old", learned / "new"
    texts = {
        run: [translation.text for translation in dragoman.load(run).translate([s for s, _ in with_error])]
        for run in (old, new)
    }
    right = {
        run: np.mean([text == target for text, (_, target) in zip(texts[run], with_error, strict=True)])
        for run in texts
    }
    assert right[old] < 0.1
    assert right[new] > 0.9
    assert bleu(new, without_error) > bleu(old, without_error) - 0.5


def test_the_figures_are_kept_and_what_is_held_out_was_not_learned(learned: Path) -> None:
    verdict = Comparison.read(learned / "new" / "gate.json")
    assert verdict.passed
    assert (verdict.sentences, verdict.against) == (60, "old")
    assert [figure.metric for figure in verdict.figures] == ["BLEU-2", "chrF2"]
    config = Run.load(learned / "new").config
    assert config.training.require_gate
    assert config.data.train == ("new-data/train", "train")
    with chdir(learned):
        parts = {part: list(read_texts(f"new-data/{part}", ("en", "fr"))) for part in ("train", "dev", "held")}
        dev_rows = list(read_texts("dev", ("en", "fr")))
    assert [len(parts[part]) for part in ("dev", "held")] == [60 + 18, 60]
    assert parts["held"] == dev_rows[1::2]
    assert parts["dev"][:60] == dev_rows[::2]
    assert not {source for source, _ in parts["train"]} & {source for source, _ in parts["dev"][60:]}


def test_a_worse_run_does_not_serve(learned: Path, tmp_path: Path) -> None:
    worse = tmp_path / "worse"
    shutil.copytree(learned / "new", worse)
    path, noise = worse / "model.safetensors", np.random.default_rng(1)
    tensors, note = read_tensors(path)
    for tensor in tensors.values():
        tensor += tensor.new_tensor(noise.normal(0, 0.7, tensor.shape))
    write_tensors(path, tensors, note)
    with pytest.raises(UserError, match="was not compared"):
        ServedModel.load(worse)
    options = ["--source", "new-data/held.en", "--reference", "new-data/held.fr"]
    with chdir(learned):
        outcome = CliRunner().invoke(app, ["gate", str(worse), "--against", "old", *options])
    assert outcome.exit_code == 1
    verdict = Comparison.read(worse / "gate.json")
    assert all(figure.worse and figure.after < figure.before and figure.p < 0.05 for figure in verdict.figures)
    with pytest.raises(UserError, match="is worse than old"):
        ServedModel.load(worse)
    ServedModel.load(learned / "new")

"""A task that is no translation, from files to whole lines that are right: small commands to actions."""

import itertools
import random
from pathlib import Path

import pytest

import dragoman
from dragoman.evaluation.metrics.error_rates import ExactMatchRate
from dragoman.training import checks, session

CONFIG = Path(__file__).resolve().parent.parent.parent / "configs" / "tasks" / "scan.yaml"
TIMES = {"": 1, "twice": 2, "thrice": 3}


def commands() -> list[tuple[str, str]]:
    """`hop left twice then wave` and `LEFT HOP LEFT HOP WAVE`: all of them, in an arbitrary order."""
    simple = []
    for verb, side, times in itertools.product(("hop", "spin", "wave"), ("", "left", "right"), TIMES):
        words = [word for word in (verb, side, times) if word]
        simple.append((" ".join(words), " ".join([side.upper(), verb.upper()] * TIMES[times]).strip()))
    pairs = [
        (f"{one} then {other}", f"{phrase} {after}")
        for (one, phrase), (other, after) in itertools.product(simple, simple)
    ]
    tidy = [(read, " ".join(written.split())) for read, written in (*simple, *pairs)]
    random.Random(1).shuffle(tidy)
    return tidy


@pytest.mark.spec("E4")
def test_commands_are_learned_from_the_configuration_of_their_task(tmp_path: Path) -> None:
    sentence_pairs = commands()
    parts = {"train": sentence_pairs[:600], "dev": sentence_pairs[600:650], "test": sentence_pairs[650:]}
    for name, pairs in parts.items():
        (tmp_path / f"{name}.tsv").write_text("".join(f"{read}\t{written}\n" for read, written in pairs), "utf-8")
    changed = {
        "run": str(tmp_path / "run"),
        "data.train": str(tmp_path / "train.tsv"),
        "data.dev": str(tmp_path / "dev.tsv"),
        "training.epochs": "16",
        "training.batch": "{size: 32, type: sentences}",
        "training.schedule": "{kind: cosine, warmup: 30, steps: 304}",
        "training.optimizer": "{kind: adam, learning_rate: 0.006}",
    }
    run = session.train(checks.load_config(CONFIG, changed), quiet=True).path
    sources, references = zip(*parts["test"], strict=True)
    texts = [translation.text for translation in dragoman.load(run).translate(sources)]
    assert ExactMatchRate().corpus(texts, [list(references)]).value >= 95

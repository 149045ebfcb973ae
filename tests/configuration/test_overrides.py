"""Overrides on the command line: what they reach, and how their faults are reported."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.configuration.components import Spec
from dragoman.configuration.config import Config, DeviceConfig

DATA = "data: {source: en, target: de, train: corpus/train, dev: corpus/dev}\n"
Load = Callable[..., Config]
Faults = Callable[..., list[str]]


def test_overrides_reach_sections_and_specs(load: Load) -> None:
    text = DATA + "model:\n  attention: {score: {kind: additive, size: 64}}\ntraining: {steps: 10}\n"
    config = load(
        text,
        overrides={
            "model.decoder.size": "128",
            "model.attention.score": "dot",
            "training.steps": "null",
            "training.clip_norm": "1e-3",
            "data.source": "no",
            "text.source.tokenizer": "{kind: word, vocab_size: 9}",
            "text.target.tokenizer": "{kind: word, vocab_size: 9}",
        },
    )
    assert config.model.decoder == Spec("rnn", {"size": 128})
    assert config.model.attention.score == Spec("dot")
    assert config.training.steps is None
    assert config.training.clip_norm == 0.001
    assert config.data.source == ("no",)
    assert config.text.target.tokenizer == Spec("word", {"vocab_size": 9})


def test_overrides_may_be_values_of_python(load: Load) -> None:
    config = load(
        DATA,
        overrides={
            "seed": np.int64(7),
            "run": Path("yes"),
            "device": DeviceConfig(name="cpu", threads=2),
            "data.train": ["a", "no", "1", "b: c"],
            "text.shared_vocabulary": False,
            "model.attention.terms": ["coverage"],
            "model.attention.score": {"kind": "additive", "size": 3},
            "model.decoder": Spec("rnn", {"size": 9}),
            "training.steps": 10,
            "training.epochs": None,
            "training.clip_norm": 1e-05,
            "metrics": ("bleu", Spec("chrf", {"order": 2})),
        },
    )
    assert (config.seed, config.run, config.text.shared_vocabulary) == (7, "yes", False)
    assert config.device == DeviceConfig(name="cpu", threads=2)
    assert config.data.train == ("a", "no", "1", "b: c")
    assert config.model.attention.terms == (Spec("coverage"),)
    assert config.model.attention.score == Spec("additive", {"size": 3})
    assert config.model.decoder == Spec("rnn", {"size": 9})
    assert (config.training.steps, config.training.epochs, config.training.clip_norm) == (10, None, 1e-05)
    assert config.metrics == (Spec("bleu"), Spec("chrf", {"order": 2}))


@pytest.mark.parametrize("value", [b"3", {3}, 3j, [b"3"], {"size": b"3"}, {3: 3}], ids=str)
def test_an_override_that_yaml_cannot_write_is_told_by_its_key(load: Load, value: Any) -> None:
    with pytest.raises(TypeError, match=r"^overrides: model\.decoder: expected text, numbers, "):
        load(DATA, overrides={"model.decoder": value})


@pytest.mark.parametrize("written", ["score: additive", "score: {kind: additive, size: 3}", "score: {}", ""])
def test_an_option_of_a_spec_however_it_is_written(load: Load, written: str) -> None:
    text = DATA + f"model: {{attention: {{{written}}}}}"
    config = load(text, overrides={"model.attention.score.size": "7"})
    assert config.model.attention.score == Spec("additive", {"size": 7})


def test_overrides_do_not_depend_on_their_order(load: Load) -> None:
    options = {"model.decoder.size": "7", "model.decoder": "rnn", "model.decoder.cell": "lstm"}
    for order in itertools.permutations(options.items()):
        assert load(DATA, overrides=dict(order)).model.decoder == Spec("rnn", {"size": 7, "cell": "lstm"})


def test_everything_by_overrides(load: Load) -> None:
    options = {"data.source": "en", "data.target": "fr", "data.train": "[a, b]", "data.dev": "d", "run": "r"}
    assert load("", overrides=options).data.train == ("a", "b")


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("model.decoder.siez", "3", "--model.decoder.siez: unknown key, did you mean 'size'?"),
        ("model.decoder.size", "big", '--model.decoder.size: expected a whole number, found "big"'),
        ("modle.decoder.size", "3", "--modle.decoder.size: modle: unknown key, did you mean 'model'?"),
        (
            "model.attention.score",
            "dott",
            "--model.attention.score: unknown kind 'dott', did you mean 'dot'?",
        ),
        ("training.clip_norm", "-1", "--training.clip_norm: must be more than 0, found -1"),
        (
            "training.clip_norm.size",
            "3",
            '--training.clip_norm.size: training.clip_norm: expected a number or null, found {"size": 3}',
        ),
        ("seed", "", "--seed: expected a whole number, found nothing (null)"),
        ("seed", "1.5", "--seed: expected a whole number, found 1.5"),
        ("seed", "[1", "--seed: not readable as YAML (expected ',' or ']', but got '<stream end>')"),
        ("seed", ".nan", "--seed: .nan is not a finite number"),
        ("training.clip_norm", float("nan"), "--training.clip_norm: .nan is not a finite number"),
        ("training.clip_norm", float("-inf"), "--training.clip_norm: -.inf is not a finite number"),
        ("seed", None, "--seed: expected a whole number, found nothing (null)"),
        ("seed", ["x"], '--seed: expected a whole number, found ["x"]'),
        (
            "",
            "3",
            f"--: unknown key, expected one of {', '.join(sorted(Config.model_fields))}",
        ),
        (
            "model.attention",
            "{score: dot, scores: dot}",
            "--model.attention: model.attention.scores: unknown key, did you mean 'score'?",
        ),
    ],
)
def test_a_fault_of_an_override_names_the_option(faults: Faults, key: str, value: Any, line: str) -> None:
    assert faults(DATA + "training: {clip_norm: 1.0}", overrides={key: value}) == [line]


def test_an_override_below_a_text_tells_both(faults: Faults) -> None:
    messages = faults(DATA + "run: here", overrides={"run.x": "3"})
    assert messages == ['--run.x: run: expected text, found {"kind": "here", "x": 3}']


def test_faults_of_the_file_come_before_those_of_overrides(faults: Faults) -> None:
    message = faults(DATA + "seed: x", overrides={"run": "3", "training.average_checkpoints.count": "0"})
    assert [line.split(" ")[0] for line in message] == [
        "run.yaml:2:",
        "--run:",
        "--training.average_checkpoints.count:",
    ]


def test_an_override_repairs_a_fault_of_the_file(load: Load) -> None:
    text = DATA + "seed: x\nmodel: {decoder: {kind: rnnn, hidden: 3}}"
    assert load(text, overrides={"seed": "3", "model.decoder": "rnn"}).seed == 3

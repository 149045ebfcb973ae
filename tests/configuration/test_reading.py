"""What a configuration means: defaults, short forms, YAML's traps."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.configuration.components import Spec
from dragoman.configuration.config import Config

DATA = "data: {source: en, target: de, train: corpus/train, dev: corpus/dev}\n"
Load = Callable[..., Config]
Faults = Callable[..., list[str]]


def test_only_the_data_must_be_given(load: Load) -> None:
    config = load(DATA)
    assert config.data.train == ("corpus/train",)
    assert config.model.decoder == Spec("rnn")
    assert config.training.epochs == 30
    assert config.training.steps is None
    assert config == Config(data=config.data)


@pytest.mark.parametrize("text", ["", "# nothing but a comment\n", "---\n", "data:\n", "run: runs/x\n"])
def test_missing_data_are_told_key_by_key(faults: Faults, text: str) -> None:
    messages = faults(text)
    assert [line.split(" ")[1] for line in messages] == [f"data.{key}:" for key in ("source", "target", "train", "dev")]
    description = "source language = file suffix (PREFIX.en), or a list of several sources"
    assert messages[0] == f"run.yaml:1: data.source: required: {description}"


def test_norwegian_and_small_numbers(load: Load) -> None:
    text = "data: {source: no, target: en, train: t, dev: d}\ntraining: {optimizer: {learning_rate: 1e-3}}\n"
    config = load(text)
    assert config.data.source == ("no",)
    assert config.training.optimizer == Spec("adam", {"learning_rate": 0.001})


def test_sections_of_nothing_but_comments_are_the_default(load: Load) -> None:
    assert load(DATA + "model:\n  attention:\n    # score: dot\ntraining:\n") == load(DATA)


def test_a_component_is_a_kind_or_a_mapping_with_or_without_it(load: Load) -> None:
    for text in ("decoder: rnn", "decoder: {kind: rnn}", "decoder: {}"):
        assert load(DATA + f"model: {{{text}}}").model.decoder == Spec("rnn")
    assert load(DATA + "model: {decoder: {size: 64}}").model.decoder == Spec("rnn", {"size": 64})


def test_one_or_several_corpora_and_metrics(load: Load) -> None:
    text = DATA.replace("corpus/train", "[a, b.tsv]") + "metrics: [bleu, {kind: chrf, word_order: 2}]\n"
    config = load(text)
    assert config.data.train == ("a", "b.tsv")
    assert config.metrics == (Spec("bleu"), Spec("chrf", {"word_order": 2}))
    assert load(DATA + "metrics: bleu").metrics == (Spec("bleu"),)
    assert load(DATA + "metrics: {kind: bleu, order: 2}").metrics == (Spec("bleu", {"order": 2}),)


def test_whole_numbers_do_for_fractions(load: Load) -> None:
    config = load(DATA + "training: {clip_norm: 5}")
    assert config.training.clip_norm == 5.0
    assert isinstance(config.training.clip_norm, float)


def test_reading_from_standard_input(tmp_path: Path) -> None:
    code = "from dragoman.configuration.config_file import load; print(*load('-').data.source)"
    command = [sys.executable, "-c", code]
    outcome = subprocess.run(command, input=DATA, capture_output=True, text=True, check=True)
    assert outcome.stdout == "en\n"


def test_a_file_with_a_byte_order_mark_and_windows_line_ends(load: Load) -> None:
    assert load("\ufeff" + DATA.replace("\n", "\r\n") + "seed: 3\r\n").seed == 3

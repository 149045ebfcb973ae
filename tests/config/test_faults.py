"""Every fault of a configuration file is told at once, with file, line and key."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman import configuration
from dragoman.components import Problem, Spec
from dragoman.config import Config
from dragoman.configuration import ConfigError
from dragoman.errors import UserError

DATA = "data: {source: en, target: de, train: corpus/train, dev: corpus/dev}\n"
Load = Callable[..., Config]
Faults = Callable[..., list[str]]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("modle: {}", "modle: unknown key, did you mean 'model'?"),
        ("model: {encoder: rnn, atention: {}}", "model.atention: unknown key, did you mean 'attention'?"),
        ("training: {batch: {units: tokens}}", "training.batch.units: unknown key, did you mean 'unit'?"),
        ("device: {colour: red}", "device.colour: unknown key, expected one of name, precision, threads"),
        ("model: {decoder: {siez: 3}}", "model.decoder.siez: unknown key, did you mean 'size'?"),
        (
            "model: {attention: {score: dott}}",
            "model.attention.score: unknown kind 'dott', did you mean 'dot'?",
        ),
        ("seed: true", "seed: expected a whole number, found true"),
        ("seed: -1", "seed: must be at least 0, found -1"),
        ("seed: 5000000000", "seed: must be less than 4294967296, found 5000000000"),
        ("seed: '1'", 'seed: expected a whole number, found "1"'),
        ("seed: 1.0", "seed: expected a whole number, found 1.0"),
        ("seed:", "seed: expected a whole number, found nothing (null)"),
        ("seed: [1]", "seed: expected a whole number, found [1]"),
        ("seed: .inf", "seed: .inf is not a finite number"),
        ("run: 2026", "run: expected text, found 2026 (in quotes it is text)"),
        ("run: ''", "run: must not be empty"),
        ('run: "a\\0b"', 'run: expected text, found "a\\u0000b"'),
        ("text: {joint: yes}", 'text.joint: expected true or false, found "yes"'),
        ("text: {joint: 1}", "text.joint: expected true or false, found 1"),
        ("text: {source: en}", 'text.source: expected the keys lowercase, tokeniser, unit; found "en"'),
        (
            "training: 5",
            "training: expected the keys epochs, steps, batch, objective, penalties, source_dropout, optimiser, ",
        ),
        ("training: {clip: 0}", "training.clip: must be more than 0, found 0"),
        ("training: {clip: '1'}", 'training.clip: expected a number or null, found "1"'),
        ("training: {average: 0}", "training.average: must be at least 1, found 0"),
        ("training: {epochs: 0}", "training.epochs: must be at least 1, found 0"),
        ("training: {metric: blue}", "training.metric: 'blue' is not listed in metrics; did you mean 'bleu'?"),
        ("training: {steps: 1e4}", "training.steps: expected a whole number or null, found 10000.0"),
        ("model: {embedding: {dropout: 1}}", "model.embedding.dropout: must be less than 1, found 1"),
        ("search: 3", "search: expected a kind or a mapping with 'kind', found 3"),
        ("search: {kind: 3}", "search: expected a kind or a mapping with 'kind', found {\"kind\": 3}"),
        (
            "metrics: [bleu, 3]",
            "metrics: expected a list, each a kind or a mapping with 'kind', found [\"bleu\", 3]",
        ),
        ("seed: 1\nseed: 2", "seed: duplicate key, already on line 2"),
    ],
)
def test_a_fault_has_its_line_and_key(faults: Faults, text: str, line: str) -> None:
    (found,) = faults(DATA + text)
    number = 3 if "\n" in text else 2
    assert found.startswith(f"run.yaml:{number}: {line}")


def test_all_faults_come_at_once_in_the_order_of_the_file(faults: Faults) -> None:
    text = """run: [1]
data:
  source: 1
  target: de
  train: []
  dve: corpus/dev
text:
  joint: perhaps
  joint: true
model:
  decoder:
    cell: grue
    size: large
    hidden: 3
  attention:
    score:
      kind: aditive
training:
  clip: -1
  patience: .nan
"""
    assert faults(text) == [
        "run.yaml:1: run: expected text, found [1]",
        "run.yaml:2: data.dev: required: the same for the pairs that training is judged by",
        "run.yaml:3: data.source: expected a list, each text, found 1 (in quotes it is text)",
        "run.yaml:5: data.train: required: prefix of the training files, or a .tsv, .csv or .jsonl with such columns",
        "run.yaml:6: data.dve: unknown key, did you mean 'dev'?",
        "run.yaml:9: text.joint: duplicate key, already on line 8",
        "run.yaml:12: model.decoder.cell: expected one of gru, lstm, found \"grue\" (did you mean 'gru'?)",
        'run.yaml:13: model.decoder.size: expected a whole number, found "large"',
        "run.yaml:14: model.decoder.hidden: unknown key, expected one of cell, size",
        "run.yaml:17: model.attention.score.kind: unknown kind 'aditive', did you mean 'additive'?",
        "run.yaml:19: training.clip: must be more than 0, found -1",
        "run.yaml:20: training.patience: .nan is not a finite number",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("model:\n\tdecoder: rnn", "run.yaml:3: a tab; YAML indents with spaces"),
        ("model: {decoder: rnn", "run.yaml:2: not readable as YAML"),
        ("model: 'rnn", "run.yaml:2: not readable as YAML"),
    ],
)
def test_broken_yaml_is_one_line(faults: Faults, text: str, line: str) -> None:
    (found,) = faults(DATA + text)
    assert found.startswith(line)


@pytest.mark.parametrize(
    ("text", "value"), [("- a\n- b\n", '["a", "b"]'), ("just a text", '"just a text"'), ("3", "3")]
)
def test_something_else_than_a_mapping(faults: Faults, text: str, value: str) -> None:
    assert faults(text) == [f"run.yaml:1: expected keys and values, found {value}"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        configuration.load(tmp_path / "none.yaml")
    with pytest.raises(UserError, match="is a folder"):
        configuration.load(tmp_path)
    binary = tmp_path / "model.safetensors"
    binary.write_bytes(b"\x08\x00\x00\x00{}\xff\xfe\x00")
    with pytest.raises(UserError, match=r"model\.safetensors:1: not UTF-8") as error:
        configuration.load(binary)
    assert "\n" not in str(error.value)
    binary.write_bytes(b"\x08\x00\x00\x00{}")
    with pytest.raises(ConfigError, match=r"model\.safetensors:1: not readable as YAML"):
        configuration.load(binary)


MEASURED = "expected one of accuracy, bleu, chrf, loss, perplexity"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "text: {joint: false}\nmodel: {embedding: {tie: all}}",
            "run.yaml:3: model.embedding.tie: 'all' needs one inventory (text.joint: true)",
        ),
        (
            "training:\n  epochs: null",
            "run.yaml:2: training.steps: training would never end: epochs and steps are both null",
        ),
        ("training: {metric: ter}", f"run.yaml:2: training.metric: 'ter' is not listed in metrics; {MEASURED}"),
        ("metrics: [chrf, bleu, chrf]", "run.yaml:2: metrics.2: 'chrf' is there already"),
    ],
)
def test_contradictions(faults: Faults, text: str, line: str) -> None:
    assert faults(DATA + text) == [line]


def test_one_language_on_both_sides_is_one_file_unless_a_table_has_both(load: Load, faults: Faults) -> None:
    text = DATA.replace("target: de", "target: en")
    (line,) = faults(text)
    assert line == "run.yaml:1: data.target: 'en' is data.source too, so both are one file"
    assert load(text.replace("train,", "train.tsv,").replace("dev}", "dev.tsv.gz}")).data.target == "en"


def test_separate_inventories_may_differ_and_joint_ones_may_be_tied(load: Load) -> None:
    assert load(DATA + "text: {joint: false, source: {unit: word}}").text.source.unit == Spec("word")
    assert load(DATA + "text: {source: {unit: {dropout: 0.1}}}").text.joint
    assert load(DATA + "model: {embedding: {tie: all}}").model.embedding.tie == "all"
    assert load(DATA + "training: {epochs: null, steps: 3, metric: loss}\nmetrics: []").metrics == ()


def test_a_wrong_value_makes_no_contradiction_but_parts_are_still_checked(faults: Faults) -> None:
    text = DATA + "text: {joint: nope, source: {unit: word}}\nmodel: {decoder: {size: 0}}\n"
    assert faults(text) == [
        'run.yaml:2: text.joint: expected true or false, found "nope"',
        "run.yaml:3: model.decoder.size: must be at least 1, found 0",
    ]


def test_problems_of_parts_that_the_user_did_not_write_are_at_the_nearest_key(faults: Faults) -> None:
    def check(found: Config) -> list[Problem]:
        return [Problem(("model", "bridge", "kind"), "does not fit"), Problem((), "too slow")]

    assert faults(DATA + "model: {}", checks=[check]) == [
        "run.yaml:1: too slow",
        "run.yaml:2: model.bridge: does not fit",
    ]

"""All faults of a configuration file are reported at once, with file, line and key."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.configuration import config_file
from dragoman.configuration.components import Problem, Spec
from dragoman.configuration.config import Config
from dragoman.configuration.config_file import ConfigError
from dragoman.errors import UserError
from tests.golden import Golden

DATA = "data: {source: en, target: de, train: corpus/train, dev: corpus/dev}\n"
Load = Callable[..., Config]
Faults = Callable[..., list[str]]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("modle: {}", "modle"),
        ("model: {encoder: rnn, atention: {}}", "model.atention"),
        ("training: {batch: {units: symbols}}", "training.batch.units"),
        ("device: {color: red}", "device.color"),
        ("model: {decoder: {siez: 3}}", "model.decoder.siez"),
        (
            "model: {attention: {score: dott}}",
            "model.attention.score",
        ),
        ("seed: true", "seed"),
        ("seed: -1", "seed"),
        ("seed: 5000000000", "seed"),
        ("seed: '1'", "seed"),
        ("seed: 1.0", "seed"),
        ("seed:", "seed"),
        ("seed: [1]", "seed"),
        ("seed: .inf", "seed"),
        ("run: 2026", "run"),
        ("run: ''", "run"),
        ('run: "a\\0b"', "run"),
        ("text: {shared_vocabulary: yes}", "text.shared_vocabulary"),
        ("text: {shared_vocabulary: 1}", "text.shared_vocabulary"),
        ("text: {source: en}", "text.source"),
        (
            "training: 5",
            "training",
        ),
        ("training: {clip_norm: 0}", "training.clip_norm"),
        ("training: {clip_norm: '1'}", "training.clip_norm"),
        ("training: {average_checkpoints: {count: 0}}", "training.average_checkpoints.count"),
        ("training: {epochs: 0}", "training.epochs"),
        (
            "training: {metric: blue}",
            "training.metric",
        ),
        ("training: {steps: 1e4}", "training.steps"),
        ("model: {embedding: {dropout: 1}}", "model.embedding.dropout"),
        ("search: 3", "search"),
        ("search: {kind: 3}", "search"),
        (
            "metrics: [bleu, 3]",
            "metrics",
        ),
        ("seed: 1\nseed: 2", "seed"),
    ],
)
def test_a_fault_has_its_line_and_key(faults: Faults, text: str, key: str, golden: Golden) -> None:
    (message,) = faults(DATA + text)
    number = 3 if "\n" in text else 2
    assert message.startswith(f"run.yaml:{number}: {key}: ")
    golden(message, text)


@pytest.mark.parametrize(
    ("train", "mixture", "key"),
    [
        ("one", "temperature: 2", "data.temperature"),
        ("[one, two]", "temperature: 0", "data.temperature"),
        ("one", "weights: [2]", "data.weights"),
        ("[one, two]", "weights: [1, 2, 3]", "data.weights"),
        ("[one, two]", "weights: [1, 0]", "data.weights"),
        ("[one, two]", "weights: 3", "data.weights"),
        ("[one, two]", "{weights: [1, 2], temperature: 2}", "data.weights"),
    ],
)
def test_a_fault_of_a_mixture_has_its_line_and_key(
    faults: Faults, train: str, mixture: str, key: str, golden: Golden
) -> None:
    lines = mixture.strip("{}").replace("], ", "]\n  ")
    (message,) = faults(f"data:\n  source: en\n  target: de\n  dev: dev\n  train: {train}\n  {lines}\n")
    assert message.startswith(f"run.yaml:6: {key}: ")
    golden(message, f"{train} {mixture}")


@pytest.mark.parametrize("mixture", ["temperature: 5", "weights: [1]"])
def test_a_mixture_of_one_pair_has_nothing_to_draw_from(faults: Faults, mixture: str, golden: Golden) -> None:
    trained, zero_shot = "{source: en, target: de, train: [a, b], dev: c}", "{source: fr, target: de, dev: c}"
    (message,) = faults(f"data:\n  pairs: [{trained}, {zero_shot}]\n  {mixture}\n")
    golden(message)


def test_all_faults_come_at_once_in_the_order_of_the_file(faults: Faults, golden: Golden) -> None:
    text = """run: [1]
data:
  source: 1
  target: de
  train: []
  dve: corpus/dev
text:
  shared_vocabulary: perhaps
  shared_vocabulary: true
model:
  decoder:
    cell: grue
    size: large
    hidden: 3
  attention:
    score:
      kind: aditive
training:
  clip_norm: -1
  patience: .nan
"""
    messages = faults(text)
    places = [
        "1: run",
        "2: data.dev",
        "3: data.source",
        "5: data.train",
        "6: data.dve",
        "9: text.shared_vocabulary",
        "12: model.decoder.cell",
        "13: model.decoder.size",
        "14: model.decoder.hidden",
        "17: model.attention.score.kind",
        "19: training.clip_norm",
        "20: training.patience",
    ]
    for line, place in zip(messages, places, strict=True):
        assert line.startswith(f"run.yaml:{place}: ")
    golden("\n".join(messages))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("model:\n\tdecoder: rnn", "run.yaml:3"),
        ("model: {decoder: rnn", "run.yaml:2"),
        ("model: 'rnn", "run.yaml:2"),
    ],
)
def test_broken_yaml_is_one_line(faults: Faults, text: str, place: str, golden: Golden) -> None:
    (message,) = faults(DATA + text)
    assert message.startswith(f"{place}: ")
    golden(message, text)


@pytest.mark.parametrize(
    ("text", "value"), [("- a\n- b\n", '["a", "b"]'), ("just a text", '"just a text"'), ("3", "3")]
)
def test_something_else_than_a_mapping(faults: Faults, text: str, value: str) -> None:
    assert faults(text) == [f"run.yaml:1: expected keys and values, found {value}"]


def test_files_that_cannot_be_read(tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(UserError) as raised:
        config_file.load(tmp_path / "none.yaml")
    golden(str(raised.value))
    with pytest.raises(UserError) as raised:
        config_file.load(tmp_path)
    golden(str(raised.value))
    binary = tmp_path / "model.safetensors"
    binary.write_bytes(b"\x08\x00\x00\x00{}\xff\xfe\x00")
    with pytest.raises(UserError, match=r"model\.safetensors:1:") as error:
        config_file.load(binary)
    golden(str(error.value))
    assert "\n" not in str(error.value)
    binary.write_bytes(b"\x08\x00\x00\x00{}")
    with pytest.raises(ConfigError, match=r"model\.safetensors:1:") as raised:
        config_file.load(binary)
    golden(str(raised.value))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            "text: {shared_vocabulary: false}\nmodel: {embedding: {tie: all}}",
            "run.yaml:3: model.embedding.tie",
        ),
        (
            "training:\n  epochs: null",
            "run.yaml:2: training.steps",
        ),
        ("training: {metric: ter}", "run.yaml:2: training.metric"),
        ("metrics: [chrf, bleu, chrf]", "run.yaml:2: metrics.2"),
    ],
)
def test_contradictions(faults: Faults, text: str, place: str, golden: Golden) -> None:
    (message,) = faults(DATA + text)
    assert message.startswith(f"{place}: ")
    golden(message, text)


def test_one_language_on_both_sides_is_one_file_unless_a_table_has_both(load: Load, faults: Faults) -> None:
    text = DATA.replace("target: de", "target: en")
    (line,) = faults(text)
    assert line == "run.yaml:1: data.target: 'en' is also data.source, so both sides would be the same file"
    assert load(text.replace("train,", "train.tsv,").replace("dev}", "dev.tsv.gz}")).data.target == "en"


def test_separate_inventories_may_differ_and_joint_ones_may_be_tied(load: Load) -> None:
    assert load(DATA + "text: {shared_vocabulary: false, source: {tokenizer: word}}").text.source.tokenizer == Spec(
        "word"
    )
    assert load(DATA + "text: {source: {tokenizer: {dropout: 0.1}}}").text.shared_vocabulary
    assert load(DATA + "model: {embedding: {tie: all}}").model.embedding.tie == "all"
    assert load(DATA + "training: {epochs: null, steps: 3, metric: loss}\nmetrics: []").metrics == ()


def test_a_wrong_value_makes_no_contradiction_but_parts_are_still_checked(faults: Faults) -> None:
    text = DATA + "text: {shared_vocabulary: nope, source: {tokenizer: word}}\nmodel: {decoder: {size: 0}}\n"
    assert faults(text) == [
        'run.yaml:2: text.shared_vocabulary: expected true or false, found "nope"',
        "run.yaml:3: model.decoder.size: must be at least 1, found 0",
    ]


def test_problems_of_parts_that_the_user_did_not_write_are_at_the_nearest_key(faults: Faults) -> None:
    def check(config: Config) -> list[Problem]:
        return [Problem(("model", "bridge", "kind"), "does not fit"), Problem((), "too slow")]

    assert faults(DATA + "model: {}", checks=[check]) == [
        "run.yaml:1: too slow",
        "run.yaml:2: model.bridge: does not fit",
    ]

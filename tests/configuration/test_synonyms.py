"""Names of the field for what has another name here: each leads to one that is valid."""

from pathlib import Path

import pytest

from dragoman.configuration import components, sections
from dragoman.configuration.config import Config
from dragoman.configuration.config_file import ConfigError
from dragoman.configuration.sections import keys_of
from dragoman.configuration.synonyms import NAMES, PLACES, own_name, place
from dragoman.training import checks
from tests.golden import Golden


def _options() -> set[str]:
    """The names of all options of parts."""
    tables = checks.PARTS.values()
    return {name for table in tables for part in table.values() for name in components.options(part)}


def test_every_synonym_leads_to_a_name_that_is_there() -> None:
    kinds = {kind for table in checks.PARTS.values() for kind in table}
    keys = {key.rpartition(".")[2] for key in keys_of(Config)}
    values = {"cuda", "bfloat16", "float32", "tokens", "sentences", "attentional"}
    assert {own for names in NAMES.values() for own in names} <= kinds | keys | values | _options() | {"beam"}


def test_every_place_is_a_key_or_an_option_of_a_part() -> None:
    keys = set(keys_of(Config))
    for path in PLACES.values():
        section, _, name = path.rpartition(".")
        assert path in keys or (section in keys and name in _options()), path


@pytest.mark.parametrize("key", list(keys_of(Config)))
def test_no_key_is_called_unknown(key: str) -> None:
    """A synonym that is itself valid where it stands is left alone."""
    assert place(key.rpartition(".")[2], [key]) == key


def test_a_valid_name_is_preferred_in_order() -> None:
    assert own_name("beam-size", ["beam", "greedy"]) == "beam"
    assert own_name("Beam_Size", ["size", "beam"]) == "size"
    assert own_name("gpu", ["auto", "cpu"]) is None
    assert place("epochs", ["training.epochs", "training.steps"]) == "training.epochs"
    assert place("size", ["model.embedding.size", "training.batch.size"]) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("epochs: 3", "training.epochs"),
        ("lr: 0.1", "training.optimizer.learning_rate"),
        ("beam_size: 5", "search.size"),
        ("device: {name: gpu}", "cuda"),
        ("model: {attention: {score: general}}", "bilinear"),
        ("model: {attention: {score: luong}}", "bilinear"),
        ("model: {attention: {score: bahdanau}}", "additive"),
        ("model: {attention: {score: mlp}}", "additive"),
        ("model: {attention: {score: concat}}", "additive"),
        ("model: {encoder: transformer}", "self_attention"),
        ("model: {encoder: {kind: rnn, num_layers: 2}}", "layers"),
        ("model: {decoder: {kind: rnn, input_feeding: input_feeding}}", "attentional"),
        ("training: {lr: 0.1}", "training.optimizer.learning_rate"),
        ("training: {optimizer: {kind: adam, lr: 0.1}}", "learning_rate"),
        ("training: {batch_size: 3}", "training.batch.size"),
        ("search: {kind: beam, beam_size: 5}", "size"),
    ],
)
def test_messages_name_what_is_meant(line: str, expected: str, tmp_path: Path, golden: Golden) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(f"data: {{source: en, target: fr, train: train, dev: dev}}\n{line}\n", encoding="utf-8")
    with pytest.raises(ConfigError) as raised:
        checks.load_config(file)
    assert str(raised.value).startswith(f"{file}:2: ")
    assert f"did you mean '{expected}'?" in str(raised.value)
    golden(str(raised.value))


def test_the_keys_of_a_section_include_those_within() -> None:
    keys = list(keys_of(Config))
    assert {"run", "training.batch.size", "model.embedding.size"} <= set(keys)
    assert sections.validate(Config, {"data": {}, "nonsense": 1})[1][0].message.startswith(
        "unknown key, expected one of"
    )

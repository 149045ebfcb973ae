"""A configuration written as YAML is complete, explained and loads equal."""

import subprocess
import sys
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from dragoman.configuration import config, config_file, data, sections
from dragoman.configuration.components import Spec
from dragoman.configuration.config import Config
from dragoman.training import checks

DATA = "data: {source: en, target: de, train: corpus/train, dev: corpus/dev}\n"
Load = Callable[..., Config]

NAMES = st.text(max_size=6).filter(lambda name: name != "kind")
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
)
SPECS = st.recursive(
    st.builds(Spec, st.text(max_size=6), st.dictionaries(NAMES, SCALARS | st.lists(SCALARS, max_size=2), max_size=3)),
    lambda inner: st.builds(Spec, st.text(max_size=6), st.dictionaries(NAMES, inner | st.lists(inner), max_size=2)),
    max_leaves=4,
)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
COUNT = st.integers(1, 10**9)


def drawn(draw: st.DrawFn) -> Config:
    return Config(
        run=draw(TEXT),
        seed=draw(st.integers(0, 2**32 - 1)),
        data=data.DataConfig(
            source="a" + draw(TEXT),
            target="b" + draw(TEXT),
            train=tuple(draw(st.lists(TEXT, min_size=1, max_size=3))),
            dev=draw(TEXT),
            max_ratio=draw(st.floats(1, 1e300)),
        ),
        text=config.TextConfig(
            shared_vocabulary=False, source=config.LanguageConfig(tokenizer=draw(SPECS), lowercase=True)
        ),
        model=config.ModelConfig(
            encoder=draw(SPECS), attention=config.AttentionConfig(score=draw(SPECS)), decoder=draw(SPECS)
        ),
        training=config.TrainingConfig(
            epochs=None, steps=draw(COUNT), clip_norm=draw(st.none() | st.floats(1e-9, 1e9)), metric="loss"
        ),
        metrics=(draw(SPECS),),
    )


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(configuration=st.composite(drawn)())
@pytest.mark.slow
def test_what_is_dumped_loads_equal(load: Load, configuration: Config) -> None:
    assert load(config_file.dump(configuration), checks=()) == configuration
    assert load(config_file.commented(configuration), checks=()) == configuration
    assert Config.model_validate_json(configuration.model_dump_json()) == configuration


@pytest.mark.parametrize("tables", [{}, checks.PARTS], ids=["plain", "with kinds"])
def test_the_commented_file_explains_every_key(load: Load, tables: sections.Tables) -> None:
    loaded = load(DATA)
    text = config_file.commented(loaded, tables)
    lines = text.rstrip("\n").split("\n")
    assert max(map(len, lines)) <= 110
    for number, line in enumerate(lines):
        assert not line or "#" in line or lines[number - 1].lstrip().startswith("#"), line
    assert config_file.dump(load(text)) == config_file.dump(loaded)
    assert "None" not in text


def test_differences_name_the_innermost_keys(load: Load) -> None:
    one = load(DATA)
    other = load(DATA + "seed: 2\nmodel: {decoder: {size: 3}, embedding: {size: 3}}")
    assert list(sections.differences(one, one)) == []
    assert list(sections.differences(one, other)) == [("seed",), ("model", "embedding", "size"), ("model", "decoder")]


def test_a_configuration_does_not_change(load: Load) -> None:
    loaded = load(DATA)
    with pytest.raises(ValidationError):
        loaded.seed = 2  # type: ignore[misc]
    assert hash(loaded) == hash(load(DATA))


def test_reading_a_configuration_needs_no_torch() -> None:
    code = (
        "import sys, dragoman.configuration.config; print([name for name in ('torch', 'numpy') if name in sys.modules])"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout == "[]\n"


def test_the_representation_has_the_keys_that_are_not_as_by_default() -> None:
    config = Config.model_validate(
        {
            "data": {"source": "en", "target": "fr", "train": "t", "dev": "d"},
            "training": {"batch": {"size": 9}},
            "search": {"kind": "beam", "size": 3},
        }
    )
    text = """Config
  data:
    source: [en]
    target: fr
    train: [t]
    dev: d
  training:
    batch:
      size: 9
  search:
    kind: beam
    size: 3"""
    assert repr(config) == str(config) == text

"""Parameters of the parts of a model."""

import pytest

from dragoman.configuration.config import ModelConfig
from dragoman.model import build
from dragoman.model.parameters import count_parameters


@pytest.mark.parametrize("tie", ["none", "all"])
def test_parameters_are_counted_by_part_and_once(tie: str) -> None:
    model = ModelConfig.model_validate({"embedding": {"tie": tie}})
    parts = count_parameters(model, (30,), 30)
    built = build.build(model, (30,), 30)
    assert sum(parts.values()) == sum(parameter.numel() for parameter in built.parameters())
    assert parts["encoder"] == sum(parameter.numel() for parameter in built.source_encoders[0].encoder.parameters())
    assert ("target embedding" in parts) == (tie == "none")

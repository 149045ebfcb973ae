"""The way back from our parameters to the tensors of another program, by the same map as the way here.

A map of an importer takes tensors and puts parameters that are rearrangements of them. `TensorRecorder` gives it the
numbers of places instead of tensors, so that each parameter shows where its numbers come from; `invert` puts ours back
there. So no map is declared twice.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from dragoman.configuration.config import ModelConfig
from dragoman.errors import UserError
from dragoman.interop.foreign_model import Array, TensorMap
from dragoman.run.run import Run
from dragoman.training.checks import complete

CONSTANTS: Final = 0  # places from here down are numbers that no tensor has: zeros, and the logits of NEVER
TABLES: Final = ("embedding.table", "output.weight", "output.bias")  # with rows for symbols that the others may lack
# Options without a part in log P
TRAINING: Final = {
    "dropout",
    "recurrent_dropout",
    "variational",
    "label_smoothing",
    "alignment_head",
    "alignment_layer",
}


@dataclass
class TensorRecorder(TensorMap):
    """A file that has every tensor: its numbers are their places, counted from 1 over all tensors that were taken."""

    path: Path = Path()
    tensors: Mapping[str, Array] = field(default_factory=dict)
    places: dict[str, Array] = field(default_factory=dict)
    count: int = 0

    def take(self, name: str, shape: Sequence[int]) -> Array:
        if name not in self.places:
            size = math.prod(shape)
            self.places[name] = np.arange(self.count + 1, self.count + size + 1).reshape(tuple(shape))
            self.count += size
        return self.places[name]

    def take_shared(self, names: Sequence[str], shape: Sequence[int]) -> Array:
        return self.take(names[0], shape)

    def take_sum(self, names: Sequence[str], shape: Sequence[int]) -> Array:
        """The first; the others become 0."""
        first, *_ = [self.take(name, shape) for name in names]
        return first

    def put(self, name: str, tensor: Array) -> None:
        self.taken[name] = np.array(tensor)


def invert(recorder: TensorRecorder, parameters: Mapping[str, Array], origin: Path) -> dict[str, Array]:
    """The tensors of the other program that become these parameters. UserError if there are none."""
    values = np.zeros(recorder.count + 1, np.float32)
    is_set = np.zeros(recorder.count + 1, bool)
    for name in recorder.taken.keys() & parameters.keys():
        places, ours = recorder.taken[name].astype(np.int64), parameters[name]
        has_place = places > CONSTANTS
        constant = ours[~has_place] == recorder.taken[name][~has_place]
        if not constant.all() and not name.endswith(TABLES):
            raise UserError(f"{origin}: {name}: expected 0 where the other program has no parameter, found others")
        there, numbers = places[has_place], ours[has_place]
        if (is_set[there] & (values[there] != numbers)).any():
            raise UserError(f"{origin}: {name}: expected the numbers of another parameter, found others")
        values[there], is_set[there] = numbers, True
    return {name: values[places] for name, places in recorder.places.items()}


def check_model(run: Run, expected: Mapping[str, Any], program: str) -> None:
    """UserError names the first key of the section `model` of a run with another value than `expected`, which is the
    section of the other program's model.
    """
    config = run.config.model_copy(update={"model": ModelConfig.model_validate(expected)})
    own, other = (_normalized(model.model_dump()) for model in (run.config.model, complete(config).model))
    if difference := next(_differences(own, other, "model"), None):
        key, present, wanted = difference
        raise UserError(f"{run.folder.path}: {key}: {program} has {_show(wanted)}, this run has {_show(present)}")


def _normalized(model: dict[str, Any]) -> dict[str, Any]:
    """The section with defaults that depend on other options."""
    for half in (model["encoder"], model["decoder"]):
        if "norm" in half:
            half["hidden"] = half["hidden"] or 4 * half["size"]
            half["final_norm"] = half["norm"] == "before" if half["final_norm"] is None else half["final_norm"]
        if "readout_size" in half:
            half["readout_size"] = half["readout_size"] or model["embedding"]["size"]
    return model


def _differences(own: Any, other: Any, key: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield keys with their values; the kind of a part first, since parts of other kinds have other options."""
    if isinstance(own, dict) and isinstance(other, dict):
        for name in sorted((own.keys() | other.keys()) - TRAINING, key=lambda name: (name != "kind", name)):
            yield from _differences(own.get(name), other.get(name), f"{key}.{name}".removesuffix(".kind"))
    elif own != other:
        yield key, own, other


def _show(value: Any) -> str:
    return json.dumps(value.get("kind", value) if isinstance(value, dict) else value)

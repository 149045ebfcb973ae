"""Layer normalization in Marian's and Nematus' recurrent models: names of tensors, and where biases are added.

Marian's `s2s` normalizes all gates together and adds biases outside. Nematus normalizes each matrix with the bias
inside: on the side of the input in encoders, in the first cell of a decoder and in those of its upper layers; on the
side of the state in its other cells. Transitions of encoders, which have no input, add it after the norm.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, Final, NamedTuple, final

import numpy as np

from dragoman.interop.foreign_model import Array, TensorMap

SCORE: Final = "decoder.attention.attention.score"
STATE, LOGIT = "decoder_ff_state", "decoder_ff_logit_l1"
SIDES: Final = {"norm_input": ("W", "gamma1"), "norm_hidden": ("U", "gamma2")}


class CellPlace(NamedTuple):
    """Where a cell is: whether it adds biases as those of encoders do, whether it is one of `final` cells, and whether
    it is a transition, without an input.
    """

    of_encoder: bool
    final: bool
    transition: bool


class NormTensors(ABC):
    """Puts the norms of a model's cells and linear layers."""

    kind: ClassVar[str]  # as `PROJECTION_NORMS` names it
    linear_names: ClassVar[dict[str, tuple[str, ...]]] = {}  # of the tensors of each linear layer of ours

    def __init__(self, tensors: TensorMap, size: int) -> None:
        self.tensors, self.size = tensors, size

    @abstractmethod
    def put_linear(self, ours: str, outputs: int) -> None:
        """Put the norm of a linear layer of ours."""

    @abstractmethod
    def put_cell(self, ours: str, theirs: str, order: tuple[int, ...], place: CellPlace) -> None:
        """Put the norms of a cell, whose gates have this order."""

    def split_bias(self, bias: Array, place: CellPlace, *, resets: bool) -> tuple[Array, Array]:
        """The bias on the side of the input and that on the side of the state. In `final` cells with a reset gate, that
        of the candidate is inside the gate.
        """
        inside = (np.arange(len(bias)) >= 2 * self.size) & (place.final and resets)
        return np.where(inside, 0, bias), np.where(inside, bias, 0)


@final
class NoNorms(NormTensors):
    """A model without normalization."""

    kind = "none"

    def put_linear(self, ours: str, outputs: int) -> None:
        """Put nothing."""

    def put_cell(self, ours: str, theirs: str, order: tuple[int, ...], place: CellPlace) -> None:
        """Put nothing."""


@final
class MarianNorms(NormTensors):
    """Gains alone; `gamma1` on the side of the input, `gamma2` on that of the state."""

    kind = "marian"
    linear_names: ClassVar[dict[str, tuple[str, ...]]] = {
        "bridge.projections.0": (f"{STATE}_gamma",),
        f"{SCORE}.state": ("decoder_att_gamma1",),
        f"{SCORE}.query": ("decoder_att_gamma2",),
        **{f"decoder.features.mix.maps.{ours}": (f"{LOGIT}_gamma{n}",) for ours, n in enumerate((1, 2, 0))},
    }

    def put_linear(self, ours: str, outputs: int) -> None:
        (gain,) = self.linear_names[ours]
        self.tensors.put(f"{ours}.norm.norm.weight", self.tensors.take(gain, (1, outputs))[0])

    def put_cell(self, ours: str, theirs: str, order: tuple[int, ...], place: CellPlace) -> None:
        for side, (_, name) in SIDES.items():
            if side == "norm_input" and place.transition:
                continue
            gates = self.tensors.take(f"{theirs}_{name}", (1, len(order) * self.size))[0].reshape(len(order), -1)
            self.tensors.put(f"{ours}.{side}.norm.weight", gates[list(order)].ravel())


@final
class NematusNorms(NormTensors):
    """Gains and biases of each matrix."""

    kind = "nematus"
    linear_names: ClassVar[dict[str, tuple[str, ...]]] = {
        "bridge.projections.0": (f"{STATE}_ln_s", f"{STATE}_ln_b"),
        f"{SCORE}.state": ("decoder_Wc_att_lns", "decoder_Wc_att_lnb"),
        f"{SCORE}.query": ("decoder_W_comb_att_lns", "decoder_W_comb_att_lnb"),
        **{
            f"decoder.features.mix.maps.{ours}": (f"{LOGIT}_ln_s{n}", f"{LOGIT}_ln_b{n}")
            for ours, n in enumerate((1, 2, 0))
        },
    }

    def put_linear(self, ours: str, outputs: int) -> None:
        for part, name in zip(("weight", "bias"), self.linear_names[ours], strict=True):
            self.tensors.put(f"{ours}.norm.norms.0.{part}", self.tensors.take(name, (1, outputs))[0])

    def put_cell(self, ours: str, theirs: str, order: tuple[int, ...], place: CellPlace) -> None:
        for side, (letter, _) in SIDES.items():
            if side == "norm_input" and place.transition:
                continue
            for number, (matrix, gates) in enumerate(((letter, 2), (f"{letter}x", 1))):
                for part, name in (("weight", "lns"), ("bias", "lnb")):
                    tensor = self.tensors.take(f"{theirs}_{matrix}_{name}", (1, gates * self.size))[0]
                    self.tensors.put(f"{ours}.{side}.norms.{number}.{part}", tensor)

    def split_bias(self, bias: Array, place: CellPlace, *, resets: bool) -> tuple[Array, Array]:
        of_state = not place.of_encoder and (place.final or place.transition)
        return (0 * bias, bias) if of_state else (bias, 0 * bias)


NORMS: Final = {norms.kind: norms for norms in (NoNorms, MarianNorms, NematusNorms)}

"""What a term is: something that attention knows of its own past, or of places."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from torch import Tensor, nn

from dragoman.model.memory import Memory
from dragoman.model.shapes import Float


class Sizes(NamedTuple):
    """What a term may need to know of the parts around it."""

    query: int
    state: int  # of the encoder
    embedding: int  # of the target's symbols
    symbols: int | None  # in the source's vocabulary, if it has one


class TermInput(NamedTuple):
    """What a term sees at a step; T counts the hypotheses of a sentence that are at that step."""

    query: Float[Tensor, "B T Q"]
    embedded: Float[Tensor, "B T E"]  # the symbol read last, y_(t-1)
    weights: Float[Tensor, "B T S"]  # of the step before; 0 at the first


class TermOutput(NamedTuple):
    """What a term says at a step, and what it carries to the next one."""

    carried: Any
    features: Float[Tensor, "B T S F"] | None = None  # the score takes them in
    prior: Float[Tensor, "B T S"] | None = None  # added to the energies as it is; -inf hides a position


class Term(nn.Module, ABC):
    """`terms = term(term_input, prepared, carried)`, once a step, before the energies of that step.

    What the source alone says is found once per sentence, in `prepare`; what changes from step to step is carried, so
    that no term keeps anything. Both are nested tuples of tensors. Carried ones have a row for each hypothesis and, if
    they have positions of the source, these on the axis after it: (R, S, ...) or (R, ...); `forward` sees them as
    (B, T, ...). At padded positions a term may say anything; nothing that it says elsewhere depends on what is there.
    """

    hides = False  # whether it keeps positions from being seen; some is always left
    is_hard = False  # whether only one is left, so that no gradient says which it should be
    reads_ahead = False  # whether it depends on what follows a symbol
    reads_symbols = False  # whether it depends on which symbol is where
    updates_unseen = (
        False  # whether a position changes before it is seen, as it cannot where the source is still arriving
    )

    def __init__(self, sizes: Sizes, features: int) -> None:
        super().__init__()
        self.features = features  # F, how many it gives; 0 for a prior

    def prepare(self, memory: Memory) -> Any:
        return ()

    @abstractmethod
    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Any:
        """What is carried into the first step; `weights` are 0."""

    @abstractmethod
    def forward(self, term_input: TermInput, prepared: Any, carried: Any) -> TermOutput: ...

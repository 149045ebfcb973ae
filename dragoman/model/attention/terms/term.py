"""The interface of terms: what attention knows of its own past, or of positions."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from torch import Tensor, nn

from dragoman.model.memory import Memory
from dragoman.model.shapes import Float


class TermSizes(NamedTuple):
    """The sizes of other parts that a term may need."""

    query: int
    state: int  # of the encoder
    embedding: int = 0  # of the target's symbols, for terms that read these
    symbols: int | None = None  # in the source's vocabulary, if it has one
    source: int = 0  # the number of the source


class TermInput(NamedTuple):
    """The inputs of a term at a step; T is the number of hypotheses of a sentence at that step."""

    query: Float[Tensor, "B T Q"]
    embedded: Float[Tensor, "B T E"]  # the symbol read last, y_(t-1)
    weights: Float[Tensor, "B T S"]  # of the step before; 0 at the first


class TermOutput(NamedTuple):
    """The output of a term at a step, and the state that it carries to the next."""

    carried: Any
    features: Float[Tensor, "B T S F"] | None = None  # read by the score
    prior: Float[Tensor, "B T S"] | None = None  # added to the energies; -inf hides a position


class AttentionTerm(nn.Module, ABC):
    """`terms = term(term_input, prepared, carried)`, once a step, before the energies of that step.

    What depends only on the source is computed once per sentence, in `prepare`; what changes from step to step is
    carried, so that terms are stateless. Both are nested tuples of tensors. Carried tensors have a row for each
    hypothesis and, if they have source positions, these on the next axis: (R, S, ...) or (R, ...); `forward` gets them
    as (B, T, ...). At padding the output of a term is arbitrary; elsewhere it does not depend on padding.
    """

    hides = False  # whether it hides positions; at least one is always left
    is_hard = False  # whether only one is left, so that no gradient reaches the choice
    reads_ahead = False  # whether it depends on later symbols
    reads_symbols = False  # whether it depends on the symbols themselves
    by_symbol: ClassVar[tuple[str, ...]] = ()  # its parameters with a row for each symbol of the source
    updates_unseen = False  # whether hidden positions are updated, which is impossible before they arrive

    def __init__(self, sizes: TermSizes, features: int) -> None:
        super().__init__()
        self.source = sizes.source
        self.features = features  # F, how many it gives; 0 for a prior

    def prepare(self, memory: Memory) -> Any:
        """Return what depends on the source alone, computed once for all steps."""
        return ()

    @abstractmethod
    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Any:
        """Return the state carried into the first step; `weights` are 0."""

    @abstractmethod
    def forward(self, term_input: TermInput, prepared: Any, carried: Any) -> TermOutput:
        """Return the features or prior of each position at a step, and the state carried into the next."""

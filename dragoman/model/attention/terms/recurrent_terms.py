"""Terms with a recurrent cell at each source position, which reads the earlier steps."""

from typing import Any, NamedTuple, final

import torch
from torch import Tensor

from dragoman.configuration.values import Size, Width
from dragoman.model.attention.terms.history import neighborhood
from dragoman.model.attention.terms.term import AttentionTerm, TermInput, TermOutput, TermSizes
from dragoman.model.embedding import LookupEmbedding
from dragoman.model.memory import Memory
from dragoman.model.recurrent import CELLS, Cell, CellKind, CellState, Lstm
from dragoman.model.shapes import Float


class TrackedState(NamedTuple):
    """The state of a cell at each position, and whether a step has been made (0 or 1)."""

    state: CellState
    begun: Float[Tensor, "B T S"]


class RecurrentTerm(AttentionTerm):
    """`C_tj = cell(C_(t-1),j; input_tj)` at each position, with shared weights; C_(t-1),j are the features.

    The inputs of a step are known only after it, so the next step does the update; the first step sees C_0j. `size` is
    the number of features at each position.
    """

    updates_unseen = True

    def __init__(self, sizes: TermSizes, cell: Cell) -> None:
        super().__init__(sizes, cell.size)
        self.cell = cell

    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Any:
        zeros = weights.new_zeros(*weights.shape, self.cell.size)
        return TrackedState((zeros,) * self.cell.components, weights)

    def follow(self, projected: Float[Tensor, "B T S G"], track: TrackedState) -> TermOutput:
        """Update the state with this input, from the second step on."""
        # Each position of each row is a row of the cell: (B T S, D).
        rows = tuple(part.flatten(0, 2) for part in track.state)
        begun = track.begun.flatten().bool().unsqueeze(1)
        updated = self.cell(projected.flatten(0, 2), rows)
        state = tuple(
            # Before the first step there is no input yet: the state stays as it began.
            torch.where(begun, new, old).view_as(part)
            for new, old, part in zip(updated, rows, track.state, strict=True)
        )
        return TermOutput(TrackedState(state, torch.ones_like(track.begun)), state[0])


@final
class NeuralCoverage(RecurrentTerm):
    """`C_tj = f(C_(t-1),j, h_j, s_t, alpha_tj)` from `C_0j = 0` (Tu et al. 2016, neural; f is a GRU, or tanh: `rnn`).

    s_t is the query of alpha_t; if the decoder attends before its update, this is s_(t-1), as in the paper.
    """

    def __init__(self, sizes: TermSizes, *, cell: CellKind = "gru", size: Size = 10) -> None:
        super().__init__(sizes, CELLS[cell](sizes.state + sizes.query + 1, size))
        self.sizes = sizes

    def prepare(self, memory: Memory) -> Float[Tensor, "B S G"]:
        return self.cell.project(memory.states)

    def start(self, weights: Float[Tensor, "B S"], prepared: Float[Tensor, "B S G"]) -> Any:
        """Return the tracked state and the last query, projected; the first step ignores the query."""
        return super().start(weights, prepared), weights.new_zeros(weights.size(0), prepared.size(2))

    def forward(self, term_input: TermInput, prepared: Float[Tensor, "B S G"], carried: Any) -> TermOutput:
        track, query = carried
        # W [h; s; alpha] as three products: that of h is made once for the sentence, that of s once for the step.
        weights = self.cell.project(term_input.weights.unsqueeze(-1), self.sizes.state + self.sizes.query)
        terms = self.follow(prepared.unsqueeze(1) + query.unsqueeze(2) + weights, track)
        # This step's query belongs to the update that the next step makes.
        return terms._replace(carried=(terms.carried, self.cell.project(term_input.query, self.sizes.state)))


@final
class CoverageEmbedding(RecurrentTerm):
    """`C_tj = GRU(C_(t-1),j; [y_t, alpha_tj])`, C_0j learned for each source symbol (Mi et al. 2016)."""

    reads_symbols = True
    by_symbol = ("embedding.table",)

    def __init__(self, sizes: TermSizes, *, size: Size = 10) -> None:
        super().__init__(sizes, CELLS["gru"](sizes.embedding + 1, size))
        assert sizes.symbols is not None
        self.embedding = LookupEmbedding(range(sizes.symbols), size)
        self.symbol_size = sizes.embedding

    def prepare(self, memory: Memory) -> Float[Tensor, "B S D"]:
        full: Tensor = self.embedding(memory.ids)
        return full

    def start(self, weights: Float[Tensor, "B S"], prepared: Float[Tensor, "B S D"]) -> TrackedState:
        return TrackedState((prepared,), weights)

    def forward(self, term_input: TermInput, prepared: Float[Tensor, "B S D"], carried: TrackedState) -> TermOutput:
        symbol = self.cell.project(term_input.embedded)
        weights = self.cell.project(term_input.weights.unsqueeze(-1), self.symbol_size)
        return self.follow(symbol.unsqueeze(2) + weights, carried)


@final
class Recurrent(RecurrentTerm):
    """`C_tj = LSTM(C_(t-1),j; alpha_t,j-k ... alpha_t,j+k)` from zeros (Yang et al. 2016); `width` is k."""

    def __init__(self, sizes: TermSizes, *, size: Size = 10, width: Width = 5) -> None:
        super().__init__(sizes, Lstm(2 * width + 1, size))
        self.width = width

    def forward(self, term_input: TermInput, prepared: Any, carried: TrackedState) -> TermOutput:
        return self.follow(self.cell.project(neighborhood(term_input.weights, self.width)), carried)

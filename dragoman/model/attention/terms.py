"""Terms: what attention knows of its own past, and of places. One class per equation, one table entry per class."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.components import Count, Positive, Size
from dragoman.model.attention.scores import Additive
from dragoman.model.embedding import Embedding
from dragoman.model.linear import Linear, product_kind
from dragoman.model.memory import Memory
from dragoman.model.recurrent import CELLS, Cell, CellKind, CellState, Lstm
from dragoman.model.shapes import Bool, Float, Int


class Sizes(NamedTuple):
    """What a term may need to know of the parts around it."""

    query: int
    state: int  # of the encoder
    embedding: int  # of the target's symbols
    symbols: int  # in the source's vocabulary


class Moment(NamedTuple):
    """What a term sees at a step; T counts the hypotheses of a sentence that are at that step."""

    query: Float[Tensor, "B T Q"]
    embedded: Float[Tensor, "B T E"]  # the symbol read last, y_(t-1)
    weights: Float[Tensor, "B T S"]  # of the step before; 0 at the first


class Said(NamedTuple):
    """What a term says at a step, and what it carries to the next one."""

    carried: Any
    features: Float[Tensor, "B T S F"] | None = None  # the score takes them in
    prior: Float[Tensor, "B T S"] | None = None  # added to the energies as it is; -inf hides a position


class Term(nn.Module, ABC):
    """`said = term(moment, prepared, carried)`, once a step, before the energies of that step.

    What the source alone says is found once per sentence, in `prepare`; what changes from step to step is carried, so
    that no term keeps anything. Both are nested tuples of tensors. Carried ones have a row for each hypothesis and, if
    they have positions of the source, these on the axis after it: (R, S, ...) or (R, ...); `forward` sees them as
    (B, T, ...). At padded positions a term may say anything; nothing that it says elsewhere depends on what is there.
    """

    hides = False  # whether it keeps positions from being seen; some is always left
    decides = False  # whether only one is left, so that no gradient says which it should be
    reads_ahead = False  # whether it depends on what follows a symbol
    ages = False  # whether a position changes before it is seen, as it cannot where the source is still arriving

    def __init__(self, sizes: Sizes, features: int) -> None:
        super().__init__()
        self.features = features  # F, how many it gives; 0 for a prior

    def prepare(self, memory: Memory) -> Any:
        return ()

    @abstractmethod
    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Any:
        """What is carried into the first step; `weights` are 0."""

    @abstractmethod
    def forward(self, moment: Moment, prepared: Any, carried: Any) -> Said: ...


@final
class Wait(Term):
    """Target symbol t sees the first `t + k - 1` source symbols, the end symbol among them (Ma et al. 2019, wait-k).

    That makes a model that translates while its source arrives, if nothing else tells it of what is hidden.
    """

    hides = True

    def __init__(self, sizes: Sizes, *, k: Count = 3) -> None:
        super().__init__(sizes, 0)
        self.k = k

    def prepare(self, memory: Memory) -> Int[Tensor, "B S"]:
        """How many symbols stand before each."""
        return memory.mask.cumsum(1) - 1

    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Any:
        return weights.new_zeros(weights.size(0))  # t - 1

    def forward(self, moment: Moment, prepared: Any, carried: Any) -> Said:
        hidden = prepared.unsqueeze(1) >= carried.unsqueeze(2) + self.k
        return Said(carried + 1, prior=torch.zeros_like(moment.weights).masked_fill(hidden, float("-inf")))


@final
class Shift(Term):
    """Reads on or writes: a position that only moves to the right (Yu, Buys and Blunsom 2016, segment to segment).

    `e_ti = v^T tanh(W s_t + U h_i + b)`, `p(emit at i) = sigmoid(e_ti)`; from `a_(t-1)` on, symbol t is written at the
    first position where that is above a half, and at the last one of the source at the latest. All others are hidden.
    Trained by the objective `segment`, which sums over all positions.
    """

    hides = True
    decides = True

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes, 0)
        self.score = Additive(sizes.query, sizes.state)

    def prepare(self, memory: Memory) -> tuple[Float[Tensor, "B S A"], Bool[Tensor, "B S"]]:
        return self.score.keys(memory.states.to(product_kind(memory.states)), memory.mask), memory.mask

    def energies(self, query: Float[Tensor, "B T Q"], prepared: Any) -> Float[Tensor, "B T S"]:
        """The log-odds of writing at each position."""
        energies: Tensor = self.score(query, prepared[0])
        return energies

    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Any:
        return weights.new_zeros(weights.size(0))  # a_0, the first position

    def forward(self, moment: Moment, prepared: Any, carried: Any) -> Said:
        mask = prepared[1].unsqueeze(1)
        place = torch.arange(mask.size(2), device=mask.device)
        last = (place * mask).amax(2, keepdim=True)
        writes = (self.energies(moment.query, prepared) > 0) & mask & (place >= carried.unsqueeze(2)) | (place == last)
        at = (writes.cumsum(2) == 0).sum(2)
        prior = torch.zeros_like(moment.weights).masked_fill(place != at.unsqueeze(2), float("-inf"))
        return Said(at.to(carried.dtype), prior=prior)


def around(numbers: Float[Tensor, "B T S"], width: int) -> Float[Tensor, "B T S F"]:
    """Those of the positions j - width ... j + width, for each j; 0 outside."""
    return functional.pad(numbers, (width, width)).unfold(-1, 2 * width + 1, 1)


@final
class Position(Term):
    """`log(1 + t), log(1 + j), log(1 + |F|)` as features (Cohn et al. 2016).

    t and j are counted from 1; |F| is the number of source symbols, the end symbol included.
    """

    reads_ahead = True  # |F|

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes, 3)

    def prepare(self, memory: Memory) -> Float[Tensor, "B S F"]:
        places = memory.mask.cumsum(1)
        counts = torch.stack([places, places[:, -1:].expand_as(places)], -1)
        return counts.to(torch.promote_types(memory.states.dtype, torch.float32)).log1p()

    def start(self, weights: Float[Tensor, "B S"], prepared: Float[Tensor, "B S F"]) -> Float[Tensor, "B S"]:
        """t - 1, at each position: as one number a row the exporter to ONNX could not follow it."""
        return weights

    def forward(self, moment: Moment, prepared: Float[Tensor, "B S F"], carried: Float[Tensor, "B T S"]) -> Said:
        step = (carried.amax(-1, keepdim=True) + 1).expand_as(carried)  # positions that arrive late know no steps
        places = prepared.unsqueeze(1).expand(*step.shape, -1)
        return Said(step, torch.cat([step.log1p().unsqueeze(-1), places], -1))


@final
class Markov(Term):
    """`alpha_(t-1),j-k ... alpha_(t-1),j+k` as features (Cohn et al. 2016); `width` is k."""

    def __init__(self, sizes: Sizes, *, width: Count = 1) -> None:
        super().__init__(sizes, 2 * width + 1)
        self.width = width

    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Any:
        return ()

    def forward(self, moment: Moment, prepared: Any, carried: Any) -> Said:
        return Said((), around(moment.weights, self.width))


@final
class Fertility(Term):
    """`sum_(t'<t) alpha_t',j-k ... sum_(t'<t) alpha_t',j+k` as features (Cohn et al. 2016, local); `width` is k."""

    def __init__(self, sizes: Sizes, *, width: Count = 1) -> None:
        super().__init__(sizes, 2 * width + 1)
        self.width = width

    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Float[Tensor, "B S"]:
        return weights

    def forward(self, moment: Moment, prepared: Any, carried: Float[Tensor, "B T S"]) -> Said:
        total = carried + moment.weights
        return Said(total, around(total, self.width))


@final
class Coverage(Term):
    """`C_tj = C_(t-1),j + alpha_tj / Phi_j` from `C_0j = 0`; C_(t-1),j is the feature (Tu et al. 2016, linguistic).

    `Phi_j = N sigm(U_f h_j)` is how many words position j is to become; `fertility` is N. Without it Phi_j = 1.
    """

    def __init__(self, sizes: Sizes, *, fertility: Positive | None = None) -> None:
        super().__init__(sizes, 1)
        self.most = fertility or 1.0
        self.fertility = None if fertility is None else Linear(sizes.state, 1, bias=False)

    def prepare(self, memory: Memory) -> Any:
        if self.fertility is None:
            return ()
        expected: Tensor = self.fertility(memory.states).squeeze(-1)
        # What stands at padding could make Phi 0 there, and 0 / 0 would spoil the gradient.
        return self.most * torch.sigmoid(expected.masked_fill(~memory.mask, 0.0))

    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Float[Tensor, "B S"]:
        return weights

    def forward(self, moment: Moment, prepared: Any, carried: Float[Tensor, "B T S"]) -> Said:
        added = moment.weights if self.fertility is None else moment.weights / prepared.unsqueeze(1)
        covered = carried + added
        return Said(covered, covered.unsqueeze(-1))


class Track(NamedTuple):
    """The state of a cell at each position, and whether a step has been made: 0 or 1."""

    state: CellState
    begun: Float[Tensor, "B T S"]


class Tracker(Term):
    """`C_tj = cell(C_(t-1),j; input_tj)` at each position, with shared weights; C_(t-1),j are the features.

    What happened at a step is known to the next one, which then does the update; the first step sees C_0j.
    """

    ages = True

    def __init__(self, sizes: Sizes, cell: Cell) -> None:
        super().__init__(sizes, cell.size)
        self.cell = cell

    def start(self, weights: Float[Tensor, "B S"], prepared: Any) -> Any:
        zeros = weights.new_zeros(*weights.shape, self.cell.size)
        return Track((zeros,) * self.cell.components, weights)

    def follow(self, projected: Float[Tensor, "B T S G"], track: Track) -> Said:
        """The update with this input, from the second step on."""
        rows = tuple(part.flatten(0, 2) for part in track.state)
        begun = track.begun.flatten().bool().unsqueeze(1)
        updated = self.cell(projected.flatten(0, 2), rows)
        state = tuple(
            torch.where(begun, new, old).view_as(part)
            for new, old, part in zip(updated, rows, track.state, strict=True)
        )
        return Said(Track(state, torch.ones_like(track.begun)), state[0])


@final
class NeuralCoverage(Tracker):
    """`C_tj = f(C_(t-1),j, h_j, s_t, alpha_tj)` from `C_0j = 0` (Tu et al. 2016, neural; f is a GRU, or tanh: `rnn`).

    s_t is the query that alpha_t comes from, s_(t-1) where the decoder attends before its update, as in the paper.
    """

    def __init__(self, sizes: Sizes, *, cell: CellKind = "gru", size: Size = 10) -> None:
        super().__init__(sizes, CELLS[cell](sizes.state + sizes.query + 1, size))
        self.sizes = sizes

    def prepare(self, memory: Memory) -> Float[Tensor, "B S G"]:
        return self.cell.project(memory.states)

    def start(self, weights: Float[Tensor, "B S"], prepared: Float[Tensor, "B S G"]) -> Any:
        """With the track the last query, projected, which is read once there is one."""
        return super().start(weights, prepared), weights.new_zeros(weights.size(0), prepared.size(2))

    def forward(self, moment: Moment, prepared: Float[Tensor, "B S G"], carried: Any) -> Said:
        track, query = carried
        weights = self.cell.project(moment.weights.unsqueeze(-1), self.sizes.state + self.sizes.query)
        said = self.follow(prepared.unsqueeze(1) + query.unsqueeze(2) + weights, track)
        return said._replace(carried=(said.carried, self.cell.project(moment.query, self.sizes.state)))


@final
class CoverageEmbedding(Tracker):
    """`C_tj = GRU(C_(t-1),j; [y_t, alpha_tj])`, C_0j learnt for each source symbol (Mi et al. 2016)."""

    def __init__(self, sizes: Sizes, *, size: Size = 10) -> None:
        super().__init__(sizes, CELLS["gru"](sizes.embedding + 1, size))
        self.embedding = Embedding(sizes.symbols, size)
        self.symbol_size = sizes.embedding

    def prepare(self, memory: Memory) -> Float[Tensor, "B S D"]:
        full: Tensor = self.embedding(memory.ids)
        return full

    def start(self, weights: Float[Tensor, "B S"], prepared: Float[Tensor, "B S D"]) -> Track:
        return Track((prepared,), weights)

    def forward(self, moment: Moment, prepared: Float[Tensor, "B S D"], carried: Track) -> Said:
        symbol = self.cell.project(moment.embedded)
        weights = self.cell.project(moment.weights.unsqueeze(-1), self.symbol_size)
        return self.follow(symbol.unsqueeze(2) + weights, carried)


@final
class Recurrent(Tracker):
    """`C_tj = LSTM(C_(t-1),j; alpha_t,j-k ... alpha_t,j+k)` from zeros (Yang et al. 2016); `width` is k."""

    def __init__(self, sizes: Sizes, *, size: Size = 10, width: Count = 5) -> None:
        super().__init__(sizes, Lstm(2 * width + 1, size))
        self.width = width

    def forward(self, moment: Moment, prepared: Any, carried: Track) -> Said:
        return self.follow(self.cell.project(around(moment.weights, self.width)), carried)


TERMS: dict[str, type[Term]] = {
    "coverage": Coverage,
    "neural_coverage": NeuralCoverage,
    "coverage_embedding": CoverageEmbedding,
    "position": Position,
    "markov": Markov,
    "fertility": Fertility,
    "recurrent": Recurrent,
    "wait": Wait,
    "shift": Shift,
}

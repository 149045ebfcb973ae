"""The recurrent decoder."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, cast, final

import torch
from torch import Tensor, nn

from dragoman.components import Layers, Rate, Size
from dragoman.model.attention.attention import Attention, Glimpse, History
from dragoman.model.decoder.decoder import Decoder, EachPosition, State, Step, Unrolled
from dragoman.model.dropout import Dropout
from dragoman.model.features import FEATURES, FeaturesKind, Sizes
from dragoman.model.linear import loop
from dragoman.model.memory import Memory, StateShape
from dragoman.model.recurrent import CELLS, Cell, CellKind, CellState
from dragoman.model.shapes import Float

AttendKind = Literal["before", "after", "between"]
FeedKind = Literal["nothing", "context", "attentional"]


class Masks(NamedTuple):
    """Variational dropout of one sentence, drawn when it starts; None where nothing is shared over time."""

    fed: Tensor | None
    context: Tensor | None
    layers: tuple[Tensor | None, ...]
    recurrent: tuple[Tensor | None, ...]  # one a cell, the second cell of the first layer last
    features: Tensor | None


class Moving(NamedTuple):
    """What changes from step to step."""

    layers: tuple[CellState, ...]
    fed: Float[Tensor, "B X"]  # what the next step is fed beside its symbol; size 0 for `feed: nothing`
    history: History  # of attention


class _Turn(NamedTuple):
    """What one turn of the recurrence made."""

    layers: tuple[CellState, ...]
    output: Float[Tensor, "B D"]  # of the top layer
    glimpse: Glimpse


@final
class RnnDecoder(Decoder):
    """A stack of recurrent cells that looks at the source once per symbol.

    `attend` says when: `before` the update, with s_(t-1) as query and the context among the cell's inputs (CN, AN);
    `after` it, with s_t as query (NT, Luong); `between` the two cells of the first layer, the conditional GRU
    (Firat and Cho; LH 4.1), with any cell. Query and state are the top layer's, except that `between` queries with
    the first cell's output (with `residual`, `before` queries with the top cell's own state). `feed` is what the
    next step is given beside its symbol: `nothing`, the `context` (NT (72)) or the `attentional` vector, which is
    the features (Luong's input feeding: concatenated with the embedding). `features` are what the output layer
    reads; see `features.py`.

    `dropout` acts on contexts and fed vectors where they enter a cell, between layers, and on the features where the
    output layer reads them; `recurrent_dropout` on h where it enters the recurrent matrix of a cell, with one mask a
    cell for a whole sentence. `size` is that of each cell's state, `features_size` that of the features (by default
    the size of the embeddings, so that the output layer can be tied to them).
    """

    def __init__(
        self,
        input_size: int,
        memory_size: int,
        attend_to: Callable[[int, int], Attention],
        *,
        cell: CellKind = "gru",
        size: Size = 512,
        layers: Layers = 1,
        attend: AttendKind = "after",
        feed: FeedKind = "nothing",
        features: FeaturesKind = "tanh",
        features_size: Size | None = None,
        residual: bool = False,
        dropout: Rate = 0.0,
        variational: bool = True,
        recurrent_dropout: Rate = 0.0,
        layer_norm: bool = False,
    ) -> None:
        super().__init__()
        attention = attend_to(size, memory_size)
        if attention.size == 0 and (attend != "after" or feed == "context"):
            raise ValueError(
                f"has no attention (score: none), so there is no context to attend {attend} or to feed; "
                "use attend: after with feed: nothing or attentional"
            )
        if feed == "attentional" and features == "concat":
            raise ValueError(
                "feed: attentional feeds the vector that features: tanh or deep make, and features: concat makes none"
            )
        if features == "concat" and features_size is not None:
            raise ValueError(
                "features: concat has the size of state and context; features_size goes with tanh and deep"
            )
        self.attention = attention
        self.attends = attention.size > 0
        self.features = FEATURES[features](Sizes(size, attention.size, input_size, features_size or input_size))
        self.features_size = self.features.size
        self.feed = feed
        self.fed_size = {"nothing": 0, "context": attention.size, "attentional": self.features.size}[feed]
        self.attend = TIMINGS[attend]
        self.input_size = input_size
        first = input_size + self.fed_size + (attention.size if attend == "before" else 0)
        cells = nn.ModuleList(
            CELLS[cell](inputs, size, layer_norm=layer_norm) for inputs in [first] + [size] * (layers - 1)
        )
        self.cells = cast(Sequence[Cell], cells)
        self.second = CELLS[cell](attention.size, size, layer_norm=layer_norm) if attend == "between" else None
        self.residual = residual
        self.dropout = Dropout(dropout, variational)
        self.recurrent_dropout = Dropout(recurrent_dropout)
        self.state_shape = StateShape(layers, size, CELLS[cell].components)

    def start(self, memory: Memory, layers: tuple[CellState, ...]) -> State:
        like = layers[0][0]
        size = self.state_shape.size
        masks = Masks(
            fed=self.dropout.mask(like, self.fed_size),
            context=self.dropout.mask(like, self.attention.size),
            layers=tuple(self.dropout.mask(like, size) for _ in layers[1:]),
            recurrent=tuple(
                self.recurrent_dropout.mask(like, size) for _ in range(len(layers) + (self.second is not None))
            ),
            features=self.dropout.mask(like, self.features.size),
        )
        attended = self.attention.prepare(memory)
        moving = Moving(layers, like.new_zeros(like.size(0), self.fed_size), self.attention.start(attended))
        return State(moving, attended, masks)

    def step(self, embedded: Float[Tensor, "B E"], state: State) -> Step:
        turn, state = self._advance(embedded, self.cells[0].project(embedded), state)
        if self.feed == "attentional":
            features = state.moving.fed
        else:
            features = self.features(turn.output, turn.glimpse.context, embedded)
        return Step(self.dropout.step(features, state.masks.features), turn.glimpse.history.weights, state)

    def unroll(self, embedded: Float[Tensor, "B T E"], state: State) -> Unrolled:
        """What does not depend on the loop is computed for all steps at once."""
        turns: list[_Turn] = []
        fed: list[Tensor] = []
        projected = self.cells[0].project(embedded)
        with loop():
            for now, now_projected in zip(embedded.unbind(1), projected.unbind(1), strict=True):
                turn, state = self._advance(now, now_projected, state)
                turns.append(turn)
                fed.append(state.moving.fed)
        if self.feed == "attentional":
            features = torch.stack(fed, 1)
        else:
            outputs = torch.stack([turn.output for turn in turns], 1)  # (B, T, D)
            contexts = torch.stack([turn.glimpse.context for turn in turns], 1)  # (B, T, C)
            features = self.features(outputs, contexts, embedded)
        weights = torch.stack([turn.glimpse.history.weights for turn in turns], 1)
        drawn = [turn.glimpse.drawn for turn in turns if turn.glimpse.drawn is not None]
        features = self.dropout.steps(features, state.masks.features)
        return Unrolled(features, weights, torch.stack(drawn, 1) if drawn else None)

    @property
    def looks_last(self) -> bool:
        """Whether no step depends on where another has looked."""
        return self.attend is attend_after and self.feed == "nothing"

    def each_position(self, embedded: Float[Tensor, "B T E"], state: State) -> EachPosition:
        """For a decoder that looks last: the steps without their look, and the features had each seen each position."""
        outputs = []
        with loop():
            for projected in self.cells[0].project(embedded).unbind(1):
                first = self.cells[0](projected, state.moving.layers[0], state.masks.recurrent[0])
                layers, output = self.climb(first, state)
                state = state._replace(moving=state.moving._replace(layers=layers))
                outputs.append(output)
        queries = torch.stack(outputs, 1)
        grid = queries.size(0), queries.size(1), state.fixed.values.size(1), -1
        seen = state.fixed.values.unsqueeze(1).expand(grid)
        features = self.features(queries.unsqueeze(2).expand(grid), seen, embedded.unsqueeze(2).expand(grid))
        return EachPosition(queries, self.dropout.steps(features.flatten(1, 2), state.masks.features).view_as(features))

    def _advance(self, embedded: Tensor, projected: Tensor, state: State) -> tuple[_Turn, State]:
        """One turn, and the state after it, with what the next step is to be fed."""
        if self.fed_size:
            fed = self.dropout.step(state.moving.fed, state.masks.fed)
            projected = projected + self.cells[0].project(fed, self.input_size)
        turn = self.attend(self, embedded, projected, state)
        if self.feed == "context":
            fed = turn.glimpse.context
        elif self.feed == "attentional":
            fed = self.features(turn.output, turn.glimpse.context, embedded)
        else:
            fed = state.moving.fed
        return turn, state._replace(moving=Moving(turn.layers, fed, turn.glimpse.history))

    def look(self, query: Float[Tensor, "B D"], embedded: Float[Tensor, "B E"], state: State) -> Glimpse:
        glimpse: Glimpse = self.attention(query, embedded, state.fixed, state.moving.history)
        return glimpse

    def climb(self, first: CellState, state: State) -> tuple[tuple[CellState, ...], Float[Tensor, "B D"]]:
        """From the first layer's new state to the top: all new states, and the output of the last layer.

        Each layer reads the output of the one below; with `residual` it is added to its own.
        """
        layers, output = [first], first[0]
        for depth, cell in enumerate(list(self.cells)[1:], start=1):
            dropped = self.dropout.step(output, state.masks.layers[depth - 1])
            new = cell(cell.project(dropped), state.moving.layers[depth], state.masks.recurrent[depth])
            layers.append(new)
            output = output + new[0] if self.residual else new[0]
        return tuple(layers), output


def attend_before(decoder: RnnDecoder, embedded: Tensor, projected: Tensor, state: State) -> _Turn:
    """`c_t = attend(s_(t-1))`, `s_t = cell([x_t; c_t], s_(t-1))`."""
    glimpse = decoder.look(state.moving.layers[-1][0], embedded, state)
    dropped = decoder.dropout.step(glimpse.context, state.masks.context)
    cell = decoder.cells[0]
    projected = projected + cell.project(dropped, decoder.input_size + decoder.fed_size)
    first = cell(projected, state.moving.layers[0], state.masks.recurrent[0])
    return _Turn(*decoder.climb(first, state), glimpse)


def attend_after(decoder: RnnDecoder, embedded: Tensor, projected: Tensor, state: State) -> _Turn:
    """`s_t = cell(x_t, s_(t-1))`, `c_t = attend(s_t)`."""
    first = decoder.cells[0](projected, state.moving.layers[0], state.masks.recurrent[0])
    layers, output = decoder.climb(first, state)
    return _Turn(layers, output, decoder.look(output, embedded, state))


def attend_between(decoder: RnnDecoder, embedded: Tensor, projected: Tensor, state: State) -> _Turn:
    """`s' = cell_1(x_t, s_(t-1))`, `c_t = attend(s')`, `s_t = cell_2(c_t, s')`."""
    assert decoder.second is not None
    middle = decoder.cells[0](projected, state.moving.layers[0], state.masks.recurrent[0])
    glimpse = decoder.look(middle[0], embedded, state)
    dropped = decoder.dropout.step(glimpse.context, state.masks.context)
    first = decoder.second(decoder.second.project(dropped), middle, state.masks.recurrent[-1])
    return _Turn(*decoder.climb(first, state), glimpse)


TIMINGS = {"before": attend_before, "after": attend_after, "between": attend_between}

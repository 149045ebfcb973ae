"""Simultaneous translation: models that read their source in parts, searched like any other."""

import sys
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import torch
from torch import Tensor

from dragoman.data.batch import SourceBatch, TokenBatch, pad_tokens
from dragoman.data.vocabulary import EOS
from dragoman.model.predictor import Prediction, Predictor
from dragoman.model.seq2seq import ModelState, Seq2Seq
from dragoman.model.shapes import Int
from dragoman.search.constraints import Constraint
from dragoman.search.decoding import Decoding
from dragoman.search.greedy import GreedyStrategy
from dragoman.search.hypothesis import Paths
from dragoman.search.limits import LengthLimit

UNKNOWN = sys.maxsize  # the limit while the source may still go on


@dataclass(frozen=True, eq=False)
class StreamState:
    """The model's state (None before its first input), and how many source and target symbols it has read."""

    model: ModelState | None
    source: int
    target: int


class EmittedSymbol(NamedTuple):
    """A target symbol, how many parts of the source had been read when it was chosen, and the attention to their
    symbols then.
    """

    symbol: int
    read: int
    attention: tuple[float, ...] = ()


class StreamingPredictor(Predictor[StreamState]):
    """A model whose only source arrives in parts of several symbols, without the end symbol. No part is read before it
    is needed, and predictions depend on the symbols read alone, never on what follows. Predictions have no attention,
    since its number of positions grows with each step; `attention` is that of the last one.
    """

    def __init__(self, model: Seq2Seq, parts: Iterable[list[int]], limit: LengthLimit, device: torch.device) -> None:
        self.start_id = model.start_id
        self.model = model
        self.limit = limit
        self.device = device
        self.ids: list[int] = []  # the source symbols read so far
        self.parts = 0  # the number of parts read so far
        self.ended = False  # whether the whole source has been read
        self.attention: tuple[float, ...] = ()  # to the symbols read
        self._arriving = iter(parts)

    def begin(self, sources: tuple[SourceBatch, ...]) -> StreamState:
        return StreamState(None, 0, 0)

    @abstractmethod
    def predict(self, symbols: Int[Tensor, "R"], state: StreamState) -> Prediction[StreamState]: ...

    def reorder(
        self, state: StreamState, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None
    ) -> StreamState:
        assert rows.tolist() == [0]  # greedy search follows one hypothesis
        return state

    @property
    @abstractmethod
    def max_steps(self) -> int:
        """The step at which the end is forced, given what has been read."""

    @property
    def min_steps(self) -> int:
        """The first step at which there may be an end, given what has been read."""
        return self.limit.min_steps((self.sequence([*self.ids, EOS]),))[0]

    def take(self) -> None:
        """Read the next part."""
        part = next(self._arriving, None)
        if part is None:
            self.ended = True
        else:
            self.ids += part
            self.parts += 1

    def seen(self, state: StreamState, source: list[int]) -> StreamState:
        """Return the state after reading the source up to these symbols."""
        sequence = (self.sequence(source),)
        if state.model is None:
            return replace(state, model=self.model.begin(sequence), source=len(source))
        if len(source) > state.source:
            return replace(state, model=self.model.extend(state.model, sequence), source=len(source))
        return state

    def predicted(self, symbols: Int[Tensor, "R"], state: StreamState) -> Prediction[StreamState]:
        assert state.model is not None
        step = self.model.predict(symbols, state.model)
        return step.followed_by(StreamState(step.state, state.source, state.target + 1))

    def decided(self, step: Prediction[StreamState]) -> Prediction[StreamState]:
        """Return the prediction that is made, without its attention, which is kept apart."""
        self.attention = tuple(step.attention[0][0, : len(self.ids)].tolist())
        return replace(step, attention=())

    def sequence(self, ids: list[int]) -> TokenBatch:
        return pad_tokens([ids]).to(self.device)

    def steps(self, ids: list[int]) -> int:
        """Return the step at which the end of a translation of these symbols is forced."""
        return self.limit.max_steps((self.sequence(ids),))[0]


@final
class WaitKPolicy(StreamingPredictor):
    """`P(y_t | y_<t, x_(<= t+k-1))`: k source symbols are read first, then one more before each further target symbol
    (Ma et al. 2019, wait-k; test-time wait-k if the model was not trained with it).
    """

    def __init__(
        self, model: Seq2Seq, parts: Iterable[list[int]], limit: LengthLimit, device: torch.device, k: int
    ) -> None:
        super().__init__(model, parts, limit, device)
        self.k = k
        self._visible: list[int] = []

    def predict(self, symbols: Int[Tensor, "R"], state: StreamState) -> Prediction[StreamState]:
        while len(self.ids) < state.target + self.k and not self.ended:
            self.take()
        # The end symbol is read like any other, once the source is known to end.
        whole = [*self.ids, EOS] if self.ended else self.ids
        self._visible = whole[: state.target + self.k]
        return self.decided(self.predicted(symbols, self.seen(state, self._visible)))

    @property
    def max_steps(self) -> int:
        return self.steps(self._visible) if self.ended else UNKNOWN


@final
class AdaptivePolicy(StreamingPredictor):
    """The model decides when to read (the term `shift`). An end symbol is appended to what has been read; as long as
    attention is highest there, another part is read. The same happens when the translation reaches the length limit of
    what has been read.
    """

    def predict(self, symbols: Int[Tensor, "R"], state: StreamState) -> Prediction[StreamState]:
        while True:
            whole = [*self.ids, EOS]
            state = self.seen(state, whole)
            step = self.predicted(symbols, state)
            # Attention to the provisional end means that what is to be translated next has not arrived yet.
            at_the_end = int(step.attention[0].argmax().item()) >= len(self.ids)
            if self.ended or not (at_the_end or state.target >= self.steps(whole)):
                return self.decided(step)
            self.take()

    @property
    def max_steps(self) -> int:
        return self.steps([*self.ids, EOS]) if self.ended else UNKNOWN


@torch.inference_mode()
def stream(model: StreamingPredictor, constraint: Constraint | None = None) -> Iterator[EmittedSymbol]:
    """Search greedily, and yield each symbol as soon as it is chosen."""
    # Parts may be empty, and nothing is translated before there is a symbol.
    while not (model.ids or model.ended):
        model.take()
    if not model.ids:
        return
    max_steps, min_steps = (lambda: [model.max_steps]), (lambda: [model.min_steps])
    decoding = Decoding(model, GreedyStrategy(), max_steps, model.device, min_steps=min_steps, constraint=constraint)
    (sentence,) = decoding.sentences
    for _ in decoding.steps((), Paths(())):
        if not sentence.finished:
            yield EmittedSymbol(sentence.beam[0].symbol, model.parts, model.attention)

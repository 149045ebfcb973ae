"""Translating while the source arrives: models that read a source in parts, searched like any other."""

import sys
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import torch
from torch import Tensor

from dragoman.data.batch import Sequence, SourceBatch, pad
from dragoman.data.vocabulary import EOS
from dragoman.model.decoder.decoder import State
from dragoman.model.predictor import Prediction, Predictor
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.shapes import Int
from dragoman.search.constraints import Constraint
from dragoman.search.decoding import Decoding
from dragoman.search.greedy import MostProbable
from dragoman.search.hypothesis import Paths
from dragoman.search.limits import Limit

UNKNOWN = sys.maxsize  # a limit, while the source may go on


@dataclass(frozen=True, eq=False)
class StreamState:
    """The model's own state, None before it has seen anything, and how many source and target symbols it has seen."""

    model: State | None
    source: int
    target: int


class EmittedSymbol(NamedTuple):
    """A target symbol, and how many parts of the source had been read when it was decided."""

    symbol: int
    read: int


class StreamingPredictor(Predictor[StreamState]):
    """A model whose only source arrives in parts of some symbols, without the end symbol: no part is taken before it is
    needed. All is computed from the symbols read, so that nothing depends on what follows them. Attention, which has
    more positions with each step, is not told.
    """

    def __init__(self, model: Seq2Seq, parts: Iterable[list[int]], limit: Limit, device: torch.device) -> None:
        self.start_id = model.start_id
        self.model = model
        self.limit = limit
        self.device = device
        self.ids: list[int] = []  # what has been read of the source
        self.parts = 0  # how many that were
        self.ended = False  # all is read
        self._arriving = iter(parts)

    def begin(self, sources: tuple[SourceBatch, ...]) -> StreamState:
        return StreamState(None, 0, 0)

    @abstractmethod
    def predict(self, symbols: Int[Tensor, "R"], state: StreamState) -> Prediction[StreamState]: ...

    def reorder(
        self, state: StreamState, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None
    ) -> StreamState:
        assert rows.tolist() == [0]
        return state

    @property
    @abstractmethod
    def longest(self) -> int:
        """The step at which the end is forced, by what has been read."""

    def take(self) -> None:
        """Read another part."""
        part = next(self._arriving, None)
        if part is None:
            self.ended = True
        else:
            self.ids += part
            self.parts += 1

    def seen(self, state: StreamState, source: list[int]) -> StreamState:
        """The state where these are the symbols of the source so far."""
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

    def sequence(self, ids: list[int]) -> Sequence:
        return pad([ids]).to(self.device)

    def steps(self, ids: list[int]) -> int:
        """The step at which the end of a translation of these symbols is forced."""
        return self.limit.steps((self.sequence(ids),))[0]


@final
class WaitK(StreamingPredictor):
    """`P(y_t | y_<t, x_(<= t+k-1))`: k source symbols are read first, one more before each further target symbol (Ma et
    al. 2019, wait-k; at test time alone where the model has not been trained so).
    """

    def __init__(self, model: Seq2Seq, parts: Iterable[list[int]], limit: Limit, device: torch.device, k: int) -> None:
        super().__init__(model, parts, limit, device)
        self.k = k
        self._visible: list[int] = []

    def predict(self, symbols: Int[Tensor, "R"], state: StreamState) -> Prediction[StreamState]:
        while len(self.ids) < state.target + self.k and not self.ended:
            self.take()
        whole = [*self.ids, EOS] if self.ended else self.ids
        self._visible = whole[: state.target + self.k]
        return replace(self.predicted(symbols, self.seen(state, self._visible)), attention=())

    @property
    def longest(self) -> int:
        return self.steps(self._visible) if self.ended else UNKNOWN


@final
class Adaptive(StreamingPredictor):
    """The same where the model decides when to read (the term `shift`): as long as it would write nowhere but at the
    end of what has been read, as if the source ended there, another part is read; and also where the translation is as
    long as one of what has been read may become.
    """

    def predict(self, symbols: Int[Tensor, "R"], state: StreamState) -> Prediction[StreamState]:
        while True:
            whole = [*self.ids, EOS]
            state = self.seen(state, whole)
            step = self.predicted(symbols, state)
            at_the_end = int(step.attention[0].argmax().item()) >= len(self.ids)
            if self.ended or not (at_the_end or state.target >= self.steps(whole)):
                return replace(step, attention=())
            self.take()

    @property
    def longest(self) -> int:
        return self.steps([*self.ids, EOS]) if self.ended else UNKNOWN


@torch.inference_mode()
def stream(model: StreamingPredictor, constraint: Constraint | None = None) -> Iterator[EmittedSymbol]:
    """Greedy search, each symbol as soon as it is decided."""
    while not (model.ids or model.ended):
        model.take()
    if not model.ids:
        return
    decoding = Decoding(model, MostProbable(), lambda: [model.longest], model.device, constraint=constraint)
    (sentence,) = decoding.sentences
    for _ in decoding.steps((), Paths(())):
        if not sentence.finished:
            yield EmittedSymbol(sentence.beam[0].symbol, model.parts)

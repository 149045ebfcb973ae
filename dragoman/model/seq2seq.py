"""The model: encode, start, step, unroll. Training, search and scoring use nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, Protocol, cast, final, runtime_checkable

import torch
from torch import Tensor, nn

from dragoman.data.batch import Batch, SourceBatch
from dragoman.data.vocabulary import BOS, EOS
from dragoman.model.attention.chain import Chain, log_weights
from dragoman.model.bridge import Bridge
from dragoman.model.cursor import Cursor
from dragoman.model.decoder.decoder import Decoder, State, Step, Unrolled
from dragoman.model.decoder.rnn import RnnDecoder
from dragoman.model.embedding import Embedding
from dragoman.model.encoder.reader import Reader
from dragoman.model.memory import Memory
from dragoman.model.output.output import Output
from dragoman.model.shapes import Bool, Float, Int
from dragoman.model.state import Tree, grown, select

StartSymbol = Literal["bos", "eos"]


class Followed(NamedTuple):
    """What changes from step to step where the positions of hard attention are a chain: beside the decoder's state
    where it may have looked, and what it would have said there.
    """

    moving: Any  # the decoder's
    places: Float[Tensor, "R S"]  # log p(z_t | y_<t)
    said: Float[Tensor, "R S V"]  # log p(y_t | z_t, y_<t): as much as the output of S steps


class Parts(NamedTuple):
    """The built parts of a model, in the order in which a sentence meets them."""

    readers: Sequence[Reader]  # one for each source
    bridge: Bridge
    target_embedding: Embedding
    decoder: Decoder
    output: Output
    cursor: Cursor | None = None  # of a model that writes edits


@dataclass(frozen=True, eq=False)
class Advance(Generic[Tree]):
    """A step of any model: features for an output, the attention on each source that led there (of size 0 on one that
    only starts the decoder), the state after it.
    """

    features: Float[Tensor, "R F"]
    attention: tuple[Float[Tensor, "R _"], ...]
    state: Tree


@dataclass(frozen=True, eq=False)
class Prediction(Generic[Tree]):
    """What each row says next: log P of every symbol (the caller may change them), the attention on each source that
    led there, and the state that follows. `symbols` are those of the columns, the specials first, where they are not
    all of the vocabulary.
    """

    log_probs: Float[Tensor, "R V"]
    attention: tuple[Float[Tensor, "R _"], ...]
    state: Tree
    symbols: Int[Tensor, "V"] | None = None

    def named(self, columns: Int[Tensor, "*_"]) -> Int[Tensor, "*_"]:
        """The symbols of these columns."""
        return columns if self.symbols is None else self.symbols.take(columns)


class ScoredBatch(NamedTuple):
    """What a model makes of references: `log P(y_t | y_<t, x)` in nats, and whether y_t was its own first choice.

    Padding has 0 and False.
    """

    log_probs: Float[Tensor, "B T"]
    first: Bool[Tensor, "B T"]
    attention: tuple[Float[Tensor, "B T _"], ...]  # on each source, and a sentinel


@final
class Seq2Seq(nn.Module):
    """An attentional encoder-decoder, `P(y | x) = prod_t P(y_t | y_<t, x)`.

    `start_symbol` is what the decoder reads before its first word: `<s>`, or `</s>` as in CN's text.
    """

    def __init__(self, parts: Parts, start_symbol: StartSymbol = "bos") -> None:
        super().__init__()
        self.readers = cast(Sequence[Reader], nn.ModuleList(parts.readers))
        self.bridge = parts.bridge
        self.target_embedding = parts.target_embedding
        self.decoder = parts.decoder
        self.output = parts.output
        self.cursor = parts.cursor
        found = (part for part in parts.decoder.modules() if isinstance(part, Chain))
        self._chain = (next(found, None),)  # in a tuple, since it is the decoder's
        self.start_id = {"bos": BOS, "eos": EOS}[start_symbol]

    @property
    def chain(self) -> Chain | None:
        """What the positions of hard attention are linked by, if they are."""
        return self._chain[0]

    def encode(self, sources: tuple[SourceBatch, ...]) -> tuple[Memory, ...]:
        """One memory for each source."""
        return tuple(reader(source) for reader, source in zip(self.readers, sources, strict=True))

    def start(self, memories: tuple[Memory, ...]) -> State:
        """The state before the first target symbol."""
        attended = tuple(memory for reader, memory in zip(self.readers, memories, strict=True) if reader.attended)
        state = self.decoder.start(attended, self.bridge(memories))
        if self.cursor is None:
            return state
        mapped = self.cursor.prepare(memories)
        place = torch.zeros(mapped.size(0), dtype=torch.long, device=mapped.device)
        return State((state.moving, place), (state.fixed, mapped), state.masks)

    def step(self, symbols: Int[Tensor, "B"], state: State) -> Step:
        """Read one symbol per row; the features predict the next one (`log_probs`). A chain only `predict` follows."""
        assert self.chain is None
        embedded = self.target_embedding(symbols)
        if self.cursor is None:
            return self.decoder.step(embedded, state)
        (_, place), (_, mapped) = state.moving, state.fixed
        place = place + self.cursor.moves(symbols)
        embedded = embedded + self.cursor.at(mapped, place.unsqueeze(1)).squeeze(1)
        step = self.decoder.step(embedded, self._decoders(state))
        after = State((step.state.moving, place), (step.state.fixed, mapped), step.state.masks)
        return step._replace(state=after)

    def log_probs(self, features: Float[Tensor, "N F"]) -> Float[Tensor, "N V"]:
        return self.output.log_probs(features)

    def begin(self, sources: tuple[SourceBatch, ...]) -> State:
        """The state before the first target symbol of these sources."""
        return self.start(self.encode(sources))

    def advance(self, symbols: Int[Tensor, "R"], state: State) -> Advance[State]:
        """A step, with what it attended to."""
        features, weights, state = self.step(symbols, state)
        return Advance(features, self.by_source(weights, state), state)

    def predict(self, symbols: Int[Tensor, "R"], state: State) -> Prediction[State]:
        """A step as searches need it: read one symbol per row, predict the next."""
        if (chain := self.chain) is not None:
            return self._followed(chain, symbols, state)
        step = self.advance(symbols, state)
        return Prediction(self.log_probs(step.features), step.attention, step.state)

    def _followed(self, chain: Chain, symbols: Int[Tensor, "R"], state: State) -> Prediction[State]:
        """`log p(y_t | y_<t) = log sum_z p(z_t = z | y_<t) p(y_t | z, y_<t)`, by the forward algorithm."""
        assert isinstance(self.decoder, RnnDecoder)
        before = state.moving if isinstance(state.moving, Followed) else None
        state = state if before is None else state._replace(moving=before.moving)
        features, weights, after = self.decoder.choose(self.target_embedding(symbols), state)
        mask = state.fixed.mask
        places = log_weights(weights, mask.repeat_interleave(len(weights) // len(mask), 0))
        if before is not None:
            column = symbols.view(-1, 1, 1).expand(-1, weights.size(1), 1)
            places = chain(torch.log_softmax(before.places + before.said.gather(2, column).squeeze(2), 1), places)
        said = self.log_probs(features.flatten(0, 1)).view(*weights.shape, -1)
        log_probs = torch.logsumexp(places.unsqueeze(2) + said, 1)
        followed = after._replace(moving=Followed(after.moving, places, said))
        return Prediction(log_probs, self.by_source(places.exp(), state), followed)

    def reorder(self, state: State, rows: Int[Tensor, "R"], sentences: Int[Tensor, "B"] | None = None) -> State:
        """The state of these rows, equally many of each sentence and side by side; of the sources once a sentence.

        `sentences` are those that are left, if some are not.
        """
        fixed = state.fixed if sentences is None else select(state.fixed, sentences)
        return State(select(state.moving, rows), fixed, select(state.masks, rows))

    def extend(self, state: State, sources: tuple[SourceBatch, ...]) -> State:
        """The state of one row a sentence after more of the sources has arrived; it keeps what it has seen."""
        fresh = self.begin(sources)
        return State(grown(state.moving, fresh.moving), fresh.fixed, state.masks)

    def unroll(self, state: State, targets: Int[Tensor, "B T"]) -> Unrolled:
        """All steps over a reference: the decoder reads the start symbol and the reference without its last symbol."""
        embedded = self.read(targets)
        if self.cursor is None:
            return self.decoder.unroll(embedded, state)
        (_, place), (_, mapped) = state.moving, state.fixed
        places = place.unsqueeze(1) + self.cursor.moves(self._shifted(targets)).cumsum(1)
        return self.decoder.unroll(embedded + self.cursor.at(mapped, places), self._decoders(state))

    def read(self, targets: Int[Tensor, "B T"]) -> Float[Tensor, "B T E"]:
        """The start symbol and the reference without its last symbol, embedded."""
        embedded: Tensor = self.target_embedding(self._shifted(targets))
        return embedded

    def _shifted(self, targets: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
        return torch.cat([torch.full_like(targets[:, :1], self.start_id), targets[:, :-1]], dim=1)

    def _decoders(self, state: State) -> State:
        """The decoder's part of a state."""
        return state if self.cursor is None else State(state.moving[0], state.fixed[0], state.masks)

    def forward(self, batch: Batch) -> Unrolled:
        """Teacher forcing over a batch."""
        return self.unroll(self.begin(batch.sources), batch.target.ids)

    def score(self, batch: Batch) -> ScoredBatch:
        """Given pairs under teacher forcing."""
        if self.chain is not None:
            return by_steps(self, batch)
        state = self.begin(batch.sources)
        unrolled = self.unroll(state, batch.target.ids)
        real = batch.target.mask
        judged = self.output.judge(unrolled.features[real], batch.target.ids[real])
        log_probs = judged.log_probs.new_zeros(real.shape).masked_scatter(real, judged.log_probs)
        return ScoredBatch(
            log_probs,
            torch.zeros_like(real).masked_scatter(real, judged.first),
            self.by_source(unrolled.weights, state),
        )

    def by_source(self, weights: Float[Tensor, "*_ S"], state: State) -> tuple[Float[Tensor, "*_ _"], ...]:
        """The weights of a step, or of several, on each source (none on one that only starts the decoder), and on a
        sentinel where there is one.
        """
        rest = iter(self.decoder.by_source(weights, self._decoders(state)))
        return (*(next(rest) if reader.attended else weights[..., :0] for reader in self.readers), *rest)


@runtime_checkable
class _Steps(Protocol[Tree]):
    """What can be asked step by step."""

    start_id: int

    def begin(self, sources: tuple[SourceBatch, ...]) -> Tree: ...

    def predict(self, symbols: Int[Tensor, "R"], state: Tree) -> Prediction[Tree]: ...


def by_steps(model: _Steps[Tree], batch: Batch) -> ScoredBatch:
    """Given pairs, step by step, by what is predicted at each."""
    ids, mask = batch.target
    state, symbols = model.begin(batch.sources), torch.full_like(ids[:, 0], model.start_id)
    log_probs, first, attention = list[Tensor](), list[Tensor](), list[tuple[Tensor, ...]]()
    for target in ids.unbind(1):
        step = model.predict(symbols, state)
        log_probs.append(step.log_probs.gather(1, target.unsqueeze(1)).squeeze(1))
        first.append(step.log_probs.argmax(1) == target)
        attention.append(step.attention)
        symbols, state = target, step.state
    real = torch.stack(log_probs, 1).where(mask, 0.0)
    weights = tuple(torch.stack(each, 1) for each in zip(*attention, strict=True))
    return ScoredBatch(real, torch.stack(first, 1) & mask, weights)

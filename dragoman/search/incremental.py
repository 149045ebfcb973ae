"""Greedy search while the source arrives."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

import torch

from dragoman.data.batch import pad
from dragoman.data.vocabulary import EOS
from dragoman.model.decoder.decoder import State
from dragoman.model.seq2seq import Prediction, Seq2Seq
from dragoman.search.limits import Limit, forbid, number


class Decided(NamedTuple):
    """A target symbol, and how many parts of the source had been read when it was decided."""

    symbol: int
    read: int


@torch.inference_mode()
def wait_k(
    model: Seq2Seq, parts: Iterable[list[int]], limit: Limit, device: torch.device, *, k: int, muted: Sequence[int] = ()
) -> Iterator[Decided]:
    """`y_t = argmax P(y | y_<t, x_(<= t+k-1))`: k source symbols are read first, one more before each further target
    symbol (Ma et al. 2019, wait-k; at test time alone where the model has not been trained so).

    The source comes in parts of some symbols, without the end symbol, and no part is taken before it is needed. All is
    computed from the symbols read, so that nothing depends on what follows them. Those that are
    `muted` are never said.
    """
    arriving, ids, read, state, said = iter(parts), list[int](), 0, None, model.start_id
    seen, ended = 0, False
    for t in count():
        while len(ids) < t + k and not ended:
            part = next(arriving, None)
            ended = part is None
            ids += [EOS] if part is None else part
            read += not ended
        if ids == [EOS]:
            return
        source = pad([ids[: t + k]]).to(device)
        if state is None:
            state = model.begin((source,))
        elif source.ids.size(1) > seen:
            state = model.extend(state, (source,))
        seen = source.ids.size(1)
        step = model.predict(torch.tensor([said], device=device), state)
        said, state = _said(step, muted, forced=ended and limit.steps((source,))[0] <= t), step.state
        if said == EOS:
            return
        yield Decided(said, read)


@torch.inference_mode()
def as_it_decides(
    model: Seq2Seq, parts: Iterable[list[int]], limit: Limit, device: torch.device, *, muted: Sequence[int] = ()
) -> Iterator[Decided]:
    """The same where the model decides when to read (the term `shift`): as long as it would write nowhere but at the
    end of what has been read, as if the source ended there, another part is read; and also where the translation is as
    long as one of what has been read may become.
    """
    arriving, ids, read, state, said = iter(parts), list[int](), 0, None, model.start_id
    seen, ended = 0, False
    for t in count():
        while True:
            source = pad([[*ids, EOS]]).to(device)
            if state is None:
                state = model.begin((source,))
            elif len(ids) > seen:
                state = model.extend(state, (source,))
            seen = len(ids)
            step = model.predict(torch.tensor([said], device=device), state)
            longest = limit.steps((source,))[0]
            if ended or (int(step.attention[0].argmax().item()) < seen and t < longest):
                break
            part = next(arriving, None)
            if part is None:
                ended = True
                break
            ids += part
            read += 1
        if not ids:
            return
        said, state = _said(step, muted, forced=ended and longest <= t), step.state
        if said == EOS:
            return
        yield Decided(said, read)


def _said(step: Prediction[State], muted: Sequence[int], *, forced: bool) -> int:
    """The most probable symbol; the end, where it is forced."""
    step.log_probs[:, list(muted)] = float("-inf")
    forbid(step.log_probs, [0] if forced else [])
    log_prob, best = step.log_probs[0].max(0)
    number(log_prob.item())
    return int(best.item())

"""Greedy search while the source arrives."""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

import torch

from dragoman.data.batch import pad
from dragoman.data.vocabulary import EOS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.limits import Limit, forbid, number


class Decided(NamedTuple):
    """A target symbol, and how many parts of the source had been read when it was decided."""

    symbol: int
    read: int


@torch.inference_mode()
def wait_k(model: Seq2Seq, parts: Iterable[list[int]], k: int, limit: Limit, device: torch.device) -> Iterator[Decided]:
    """`y_t = argmax P(y | y_<t, x_(<= t+k-1))`: k source symbols are read first, one more before each further target
    symbol (Ma et al. 2019, wait-k; at test time alone where the model has not been trained so).

    The source comes in parts of some symbols, without the end symbol, and no part is taken before it is needed. All is
    computed from the symbols read, so that nothing depends on what follows them, whatever the model.
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
        forbid(step.log_probs, [0] if ended and limit.steps((source,))[0] <= t else [])
        log_prob, best = step.log_probs[0].max(0)
        number(log_prob.item())
        said, state = int(best.item()), step.state
        if said == EOS:
            return
        yield Decided(said, read)

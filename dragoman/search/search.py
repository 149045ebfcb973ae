"""The interface of all searches."""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from dragoman.data.batch import SourceBatch
from dragoman.errors import UserError
from dragoman.model.predictor import Predictor
from dragoman.search.constraints import Constraint
from dragoman.search.decoding import Deadline, Decoding, Trace
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.limits import LengthLimit
from dragoman.search.strategy import Strategy


class Search(ABC):
    """`search(model, sources, n_best, spare)`: the best hypotheses of each sentence, best first, at least one.

    Up to `spare` more may follow: the next best of those finished by then.

    A translation has at most `length_ratio` times the source's symbols plus `length_margin`; there the end is forced.
    It has at least `min_length_ratio` times the source's symbols plus `min_length_margin`, if that is not more. With a
    ratio of 0, a margin is the number of symbols itself.
    """

    limit: LengthLimit  # how long hypotheses are at most, and at least
    draws: ClassVar[bool] = False  # whether it needs random numbers
    seed: int = 0  # tells its random numbers from those of the same search with another seed
    width: int  # the largest `n_best`
    groups: int = 1  # beams that share the width
    allows_rewards: ClassVar[bool] = True  # whether a constraint may make a hypothesis more probable

    @torch.inference_mode()
    def __call__(
        self,
        model: Predictor[Any],
        sources: tuple[SourceBatch, ...],
        n_best: int = 1,
        spare: int = 0,
        *,
        constraint: Constraint | None = None,
        seeds: Sequence[int] = (),
        deadline: Deadline | None = None,
        trace: Trace | None = None,
    ) -> list[list[Hypothesis]]:
        """Search a batch; `constraint` restricts the translations. A search that draws random numbers needs a seed for
        each sentence. `trace` looks at the search once it is done (`tree.py`).

        UserError if `n_best` exceeds the width of the search, or if the deadline has passed.
        """
        self.check_count(n_best)
        max_steps, min_steps = self.limit.max_steps(sources), self.limit.min_steps(sources)
        strategy = self.strategy(sources, n_best, spare)
        # A checksum, not `hash`: Python salts that in every process, and samples would not be reproducible.
        seeds = [zlib.crc32(f"{self.seed}:{seed}".encode()) for seed in seeds] if self.draws else ()
        decoding = Decoding(
            model,
            strategy,
            lambda: max_steps,
            sources[0].mask.device,
            min_steps=lambda: min_steps,
            constraint=constraint,
            seeds=seeds,
            deadline=deadline,
        )
        return decoding.find(sources, trace)

    def check_count(self, n_best: int) -> None:
        """Raise UserError if the search cannot give so many hypotheses."""
        if not 1 <= n_best <= self.width:
            more = "" if self.draws else "; use a wider beam"
            raise UserError(f"n-best {n_best}: expected 1 to {self.width} for this search{more}")

    def rows(self, n_best: int) -> int:
        """Return how many hypotheses of a sentence are followed at once."""
        return self.width

    @abstractmethod
    def strategy(self, sources: tuple[SourceBatch, ...], n_best: int, spare: int) -> Strategy:
        """Return the strategy that finds `n_best` and up to `spare` more hypotheses for each sentence of these
        sources.
        """

"""Noise on the words of a source: dropping, blanking and shuffling (Lample et al. 2018, section 3.3)."""

from dataclasses import dataclass

import numpy as np

BLANK = "_"


@dataclass(frozen=True)
class Noise:
    """Drops words (separated by white space) with probability `drop`, blanks them (as `_`) with probability `blank`,
    and moves them by at most `shuffle` places. At least one word of a text remains.
    """

    drop: float = 0.1
    blank: float = 0.1
    shuffle: int = 3

    def __call__(self, text: str, seed: tuple[int, ...]) -> str:
        """The noisy text, a function of its arguments alone."""
        words = text.split()
        if not words:
            return text
        generator = np.random.default_rng(seed)
        # Words are sorted by place + noise below k + 1, so no word passes another that is k + 1 places away.
        order = np.argsort(np.arange(len(words)) + generator.uniform(0, self.shuffle + 1, len(words)), kind="stable")
        dropped, blanked = (generator.random(len(words)) for _ in range(2))
        dropped[np.argmax(dropped)] = 1.0
        return " ".join(
            BLANK if blanked[place] < self.blank else words[place] for place in order if dropped[place] >= self.drop
        )

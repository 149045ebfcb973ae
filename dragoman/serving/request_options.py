"""The texts of requests, and how they are translated."""

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from dragoman.translation.transforms.terms import UNCONSTRAINED, LexicalConstraints

Work: TypeAlias = Literal["translate", "score", "explain"]


@dataclass(frozen=True)
class RequestOptions:
    """How the texts of a request are translated. Texts with equal options share a batch and translations; the fields
    that are not compared are of one request alone.

    alternatives: how many further translations; diverse: whether these begin with other words; constraints: terms and
    protected spans; work: whether texts are translated, or given translations scored or explained; to: the target
    language of a model that has several; remembered: whether translations may be kept for others who ask the same;
    details: whether more is needed than texts and the score of each, such as attention;
    prefix: how the translation of the first sentence begins; attention: whether it has to be known, of corrections
    too; until: when the translations have to be there (`time.monotonic`).
    """

    alternatives: int = 0
    diverse: bool = False
    constraints: LexicalConstraints = UNCONSTRAINED
    work: Work = "translate"
    to: str | None = None
    remembered: bool = True
    details: bool = True
    prefix: str = field(default="", compare=False)
    attention: bool = field(default=False, compare=False)
    until: float = field(default=math.inf, compare=False)

    @property
    def timed(self) -> tuple[Work, int, bool, bool, bool]:
        """What the time of a batch depends on beside its symbols."""
        return self.work, self.alternatives, self.diverse, bool(self.constraints.glossary), self.details


DEFAULTS = RequestOptions()


class TranslationItem(NamedTuple):
    """A text, or one for each source, and how its translation begins; or, where that is given, its translation, and
    another one that is compared with it.
    """

    text: str | tuple[str, ...]
    prefix: str = ""
    translation: str | None = None
    contrast: str | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The text of each source."""
        return (self.text,) if isinstance(self.text, str) else self.text

    @property
    def targets(self) -> tuple[str, ...]:
        """The translations that are given with it."""
        return tuple(filter(None, (self.translation, self.contrast)))

    @property
    def characters(self) -> int:
        return sum(map(len, (*self.sources, *self.targets)))

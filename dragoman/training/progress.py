"""How far training has come: everything beside tensors that a resumed run must know. And a clock."""

import math
import time
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from dragoman.data.batching import VERSION
from dragoman.errors import UserError


@dataclass
class Progress:
    """Plain numbers, saved as JSON with each training state.

    `step` counts updates, `position` batches done in the current `epoch`. `validations` holds the value of the
    deciding metric at each validation, `best` the (value, step) of the best ones, the best first,
    `validated` the step of the last one. `seconds` is time, `updating` the part of it since the last row of
    metrics that was no validation, `loss` (nats), its `parts` and `symbols` what the updates since then add up to.
    `plan` is the version of the rule that puts batches together, without which `position` means nothing.
    """

    step: int = 0
    epoch: int = 0
    position: int = 0
    seconds: float = 0.0
    updating: float = 0.0
    loss: float = 0.0
    symbols: float = 0.0
    parts: list[float] = field(default_factory=list)
    skipped: int = 0
    skipped_in_a_row: int = 0
    validations: list[float] = field(default_factory=list)
    best: list[tuple[float, int]] = field(default_factory=list)
    validated: int = -1
    plan: int = VERSION

    @property
    def epochs_begun(self) -> int:
        """The epoch at hand, or the one just done, counted from 1."""
        return self.epoch + (self.position > 0)

    def improved(self, higher_is_better: bool) -> list[bool]:
        """Whether each validation was the best up to then."""
        sign = 1.0 if higher_is_better else -1.0
        best = -float("inf")
        found = []
        for value in self.validations:
            found.append(sign * value > best)
            best = max(best, sign * value)
        return found

    def waited(self, higher_is_better: bool) -> int:
        """Validations since the best one."""
        improved = self.improved(higher_is_better)
        return improved[::-1].index(True) if True in improved else 0

    def note(self, value: float, higher_is_better: bool, keep: int) -> None:
        """Take in a validation at the current step, and rank it among the `keep` best.

        Of equal ones the earlier comes first; what is not a number is worse than any.
        """
        self.validations.append(value)
        self.validated = self.step
        sign = -1.0 if higher_is_better else 1.0
        found = [*self.best, (value, self.step)]
        self.best = sorted(found, key=lambda each: (math.isnan(each[0]), sign * each[0], each[1]))[:keep]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Progress":
        """The opposite; keys of other versions mean nothing here. KeyError where one of this version's is missing,
        UserError where batches are no longer put together as they were.
        """
        missing = {each.name for each in fields(cls)} - values.keys()
        if missing <= {"plan"} and values.get("plan") != VERSION:
            raise UserError(
                "begun by another version of dragoman, whose batches come in another order; begin another run"
            )
        values = {**values, "best": [(float(value), int(step)) for value, step in values["best"]]}
        return cls(**{each.name: values[each.name] for each in fields(cls)})


@dataclass
class Clock:
    """Tells the time between two looks at it."""

    since: float = field(default_factory=time.perf_counter)

    def seconds(self) -> float:
        """Since the last call."""
        now = time.perf_counter()
        passed, self.since = now - self.since, now
        return passed

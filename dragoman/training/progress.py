"""The progress of training: everything besides tensors that a resumed run needs. And a clock."""

import json
import math
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from dragoman.configuration.components import dotted
from dragoman.configuration.messages import written_by
from dragoman.errors import UserError

VERSION = 3  # of this format, and of the rule that forms batches (data/batching.py)
ADDED = {"target_symbols"}  # which states that were written before do not have

Count = Annotated[int, Field(ge=0, le=2**53)]
Amount = Annotated[float, Field(allow_inf_nan=False)]


class ValidationRecord(NamedTuple):
    """The result of a validation: its step, the value of the deciding metric, and the loss (nats per symbol)."""

    value: float
    loss: Amount
    step: Count

    def rank(self, higher_is_better: bool) -> tuple[bool, float, float]:
        """Return a sort key, smaller is better: by the metric, with ties broken by the loss (BLEU stays 0 for long on a
        small corpus). NaN is worse than any number.
        """
        unknown = math.isnan(self.value)
        # False sorts before True: known values come first. Higher is better becomes lower is better by the sign.
        return unknown, 0.0 if unknown else -self.value if higher_is_better else self.value, self.loss

    def as_good_as(self, other: "ValidationRecord", higher_is_better: bool) -> bool:
        """Return whether it is no worse."""
        return self.rank(higher_is_better) <= other.rank(higher_is_better)


@dataclass
class Progress:
    """Plain numbers, saved as JSON with each training state.

    `step` counts steps, of which `skipped` updated nothing, `position` batches done in the current `epoch`.
    `validations` holds the result of each validation, `best` the best ones, best first. `seconds` is the total time,
    `updating` the part of it spent on updates (not on validation) since the last row of metrics; `loss` (nats), its
    `parts`, the `symbols` by which it is divided and the `target_symbols` are sums over the updates since then.
    `memory` is the peak memory of a process in bytes, `length` the planned number of steps when training was last
    begun.
    """

    step: Count = 0
    epoch: Count = 0
    position: Count = 0
    seconds: Amount = 0.0
    updating: Amount = 0.0
    loss: Amount = 0.0
    symbols: Amount = 0.0
    target_symbols: Amount = 0.0
    parts: list[Amount] = field(default_factory=list)
    skipped: Count = 0
    skipped_in_a_row: Count = 0
    validations: list[ValidationRecord] = field(default_factory=list)
    best: list[ValidationRecord] = field(default_factory=list)
    memory: Count = 0
    length: Count = 0
    version: int = VERSION

    @property
    def epochs_begun(self) -> int:
        """The current epoch, or the one just completed, counted from 1."""
        return self.epoch + (self.position > 0)

    @property
    def last_validation(self) -> int:
        """The step of the last validation, -1 before the first."""
        return self.validations[-1].step if self.validations else -1

    def improvements(self, higher_is_better: bool) -> list[bool]:
        """Return whether each validation was the best up to then."""
        best: tuple[float, ...] = (True,)  # unknown
        improvements = []
        for validation in self.validations:
            rank = validation.rank(higher_is_better)
            improvements.append(rank < best)
            best = min(best, rank)
        return improvements

    def waited(self, higher_is_better: bool) -> int:
        """Return validations since the best one."""
        improvements = self.improvements(higher_is_better)
        return improvements[::-1].index(True) if True in improvements else 0

    def record(self, validation: ValidationRecord, higher_is_better: bool, keep: int) -> None:
        """Record a validation, and rank it among the `keep` best; among equals the earlier comes first."""
        self.validations.append(validation)
        self.best = sorted([*self.best, validation], key=lambda ranked: (ranked.rank(higher_is_better), ranked.step))[
            :keep
        ]

    def steps_to_keep(self, average: int, of: str, higher_is_better: bool) -> list[int]:
        """Return the steps of the `average` best or last validations (`of`), whose weights are kept; the best first."""
        last = sorted(
            self.validations[-average:], key=lambda validation: (validation.rank(higher_is_better), validation.step)
        )
        return [validation.step for validation in (self.best[:average] if of == "best" else last)]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Any) -> "Progress":
        """Return the inverse of `to_json`. UserError if the values are no progress, or written by another dragoman
        version.
        """
        required = {attribute.name for attribute in fields(cls)} - ADDED
        if isinstance(values, dict) and (version := values.get("version", VERSION)) != VERSION:
            raise UserError(f"a training state {written_by(version, VERSION)}; start another run")
        if not isinstance(values, dict) or not required <= values.keys():
            raise UserError("not a training state; start another run")
        try:
            progress = TypeAdapter(cls).validate_json(json.dumps(values), strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            raise UserError(f"not a training state ({dotted(first['loc'])}: {first['msg']})") from error
        # `reached` and the choice of weights read both; if they disagree, training would end at a wrong step.
        if bool(progress.best) != bool(progress.validations) or progress.last_validation > progress.step:
            raise UserError("not a training state (its validations are not those of its steps)")
        return progress


def peak_memory() -> int:
    """Return the peak memory of this process in bytes; 0 if the system does not report it (Windows)."""
    # On Linux, `resource` also counts the memory of the program that started this one.
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text("utf-8").splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@dataclass
class Clock:
    """Measures the time between calls."""

    since: float = field(default_factory=time.perf_counter)

    def seconds(self) -> float:
        """Return the time since the last call."""
        now = time.perf_counter()
        passed, self.since = now - self.since, now
        return passed

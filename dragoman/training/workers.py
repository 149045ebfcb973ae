"""One process or N under torchrun, with the same code: a worker takes its share, and sums are over all workers. Signals
that end a training.
"""

import signal
from collections.abc import Sequence
from datetime import timedelta
from types import FrameType, TracebackType
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from dragoman import threads
from dragoman.errors import Terminated

# The others wait while the leader prepares a corpus, validates or finishes. When a process dies, its connections are
# closed and torchrun ends the rest, so none waits for it forever.
PATIENCE = timedelta(days=7)
SIGNALS = (signal.SIGINT, signal.SIGTERM)

Value = TypeVar("Value")


class Workers:
    """The processes that train together; the one that `leads` writes files, prints and validates.

    With a single process, every method is the identity.
    """

    def __init__(self) -> None:
        process = threads.process()
        self.rank, self.count, self.leads = process.rank, process.count, process.leads

    def __enter__(self) -> "Workers":
        if self.count > 1:
            # Its functions have the group at their import as a default. Imported later, as torch does when it makes
            # an optimizer, they would keep ours and its threads beyond the run, which can abort the process at exit.
            import torch.distributed.nn

            # Each tensor travels by what suits its device: sums and objects are on the CPU even when the model is not.
            backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
            dist.init_process_group(backend, timeout=PATIENCE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.count > 1:
            dist.destroy_process_group()

    def shard(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return this worker's rows of a global batch."""
        # Every nth row: a batch is sorted by length, and all workers get shares of equal work.
        return rows[self.rank :: self.count]

    def all_reduce(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all workers; tensors of one type are sent together."""
        if self.count == 1:
            return
        for kind in {tensor.dtype: None for tensor in tensors}:
            group = [tensor for tensor in tensors if tensor.dtype is kind]
            # One message instead of hundreds of small ones.
            flat = torch.cat([tensor.flatten() for tensor in group])
            dist.all_reduce(flat)
            for tensor, total in zip(group, torch.split(flat, [tensor.numel() for tensor in group]), strict=True):
                tensor.copy_(total.view_as(tensor))

    def barrier(self) -> None:
        """Wait until all workers have called this."""
        if self.count > 1:
            dist.barrier()

    def broadcast(self, value: Value) -> Value:
        """Return the leader's value on every worker."""
        if self.count == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]


class SignalHandler:
    """While entered, the first Ctrl-C (or SIGTERM) sets `requested`; a second one interrupts at once."""

    def __init__(self) -> None:
        self.number: int | None = None  # the signal that requested it
        self._before: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        return self.number is not None

    def __enter__(self) -> "SignalHandler":
        for number in SIGNALS:
            try:
                self._before[number] = signal.signal(number, self._ask)
            except ValueError:  # not the main thread: signals are handled elsewhere
                break
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        # The second time: the step takes too long, and the user has asked again.
        if self.requested:
            raise self.interruption(number=number)
        self.number = number

    def interruption(self, *words: str, number: int | None = None) -> KeyboardInterrupt:
        """Return the exception for a signal, by default the one that requested it; Ctrl-C if another worker was
        asked.
        """
        number = number or self.number or signal.SIGINT
        return KeyboardInterrupt(*words) if number == signal.SIGINT else Terminated(number, *words)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

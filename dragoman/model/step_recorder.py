"""Record the kernels of a step of a search on a GPU once for each shape, and launch them together from then on.

A step launches hundreds of small kernels one by one, which takes several times as long as running them.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache
from threading import Lock
from typing import Any, Final, TypeVar

import torch
from torch import Tensor

from dragoman.model.state import first_tensor, list_tensors, map_tensors, replace_tensors
from dragoman.torch_internals import WaitsForGpu

UNRECORDED_CALLS: Final = 2  # calls with tensors of a shape before it is recorded
MOST_SHAPES: Final = 256

Input = TypeVar("Input")
Result = TypeVar("Result")
Body = Callable[[], None]


def record_cuda(body: Body) -> Body:
    """Return a function that launches the kernels of `body`. RuntimeError if `body` waits for the GPU."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    # What is loaded or chosen at the first call is no part of the graph.
    with torch.cuda.stream(stream), WaitsForGpu():  # type: ignore[no-untyped-call]
        body()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    # Other threads may use the GPU meanwhile.
    with torch.cuda.graph(graph, pool=_pool(), stream=stream, capture_error_mode="thread_local"):
        body()
    return graph.replay


@cache
def _pool() -> Any:
    """Return the memory that all recordings share, since results are copied before another one is replayed."""
    return torch.cuda.graph_pool_handle()


class StepRecorder:
    """The recorded steps of one model. `record` turns a function into one that repeats what it did on the same tensors;
    if that raises RuntimeError, steps are made without recordings from then on.
    """

    def __init__(self, parameters: Sequence[Tensor], record: Callable[[Body], Body] = record_cuda) -> None:
        self._parameters = parameters
        self._record = record
        self._addresses: list[int] = []  # of the parameters, where recordings read them
        self._seen: Counter[Any] = Counter()
        self._recorded: dict[Any, _RecordedStep] = {}
        self._possible = True
        self._lock = Lock()  # recordings and replays of several threads use the same tensors

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy has recordings of its own."""
        return StepRecorder, (self._parameters, self._record)

    def replay(
        self, kind: str, step: Callable[[Input], tuple[Result, Input]], inputs: Input
    ) -> Callable[[Input], tuple[Result, Input]]:
        """Return a function that does the same as `step` with inputs of these shapes; `kind` names the step."""
        with self._lock:
            return self._replay(kind, step, inputs) if self._possible else step

    def _replay(
        self, kind: str, step: Callable[[Input], tuple[Result, Input]], inputs: Input
    ) -> Callable[[Input], tuple[Result, Input]]:
        addresses = [parameter.data_ptr() for parameter in self._parameters]
        if addresses != self._addresses:
            self._addresses = addresses
            self._seen.clear()
            self._recorded.clear()
        key = kind, tuple((tensor.shape, tensor.dtype) for tensor in list_tensors(inputs))
        if key in self._recorded:
            return self._recorded[key]
        if len(self._seen) < MOST_SHAPES:
            self._seen[key] += 1
        if self._seen[key] <= UNRECORDED_CALLS:
            return step
        device = first_tensor(inputs).device
        try:
            with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
                self._recorded[key] = _RecordedStep(step, inputs, self._record, self._lock)
        except RuntimeError:
            self._give_up(device)
            return step
        return self._recorded[key]

    def _give_up(self, device: torch.device) -> None:
        """Go on without recordings, as if there had been none: a recording that failed leaves its stream and the state
        of its random numbers behind.
        """
        self._possible = False
        self._recorded.clear()
        self._seen.clear()
        if device.type == "cuda":
            torch.cuda.set_stream(torch.cuda.default_stream(device))
            generator = torch.cuda.default_generators[device.index]
            generator.graphsafe_set_state(generator.clone_state())


class _RecordedStep:
    """A step that reads its input from tensors of its own and writes the next input there."""

    def __init__(
        self, step: Callable[[Any], tuple[Any, Any]], inputs: Any, record: Callable[[Body], Body], lock: Lock
    ) -> None:
        self._lock = lock
        self._buffers = map_tensors(torch.clone, inputs)
        self._changes: list[bool] = []  # whether the step changes it, for each tensor of the input
        self._choice: Any = None
        self._replay = record(lambda: self._run(step))

    def _run(self, step: Callable[[Any], tuple[Any, Any]]) -> None:
        self._choice, following = step(self._buffers)
        buffers, values = list_tensors(self._buffers), list_tensors(following)
        if [buffer.shape for buffer in buffers] != [value.shape for value in values]:
            raise RuntimeError("the state has another form after the step")
        pairs = [*zip(buffers, values, strict=True)]
        self._changes = [buffer is not value for buffer, value in pairs]
        for buffer, value in pairs:
            buffer.copy_(value)  # if it is the buffer, nothing is copied

    def __call__(self, inputs: Any) -> tuple[Any, Any]:
        values = list_tensors(inputs)
        with self._lock:
            for buffer, value in zip(list_tensors(self._buffers), values, strict=True):
                buffer.copy_(value)
            self._replay()
            # Copies, because the next replay overwrites the buffers.
            parts = zip(list_tensors(self._buffers), values, self._changes, strict=True)
            following = [buffer.clone() if changes else value for buffer, value, changes in parts]
            return map_tensors(torch.clone, self._choice), replace_tensors(inputs, following)

"""Record the kernels of a step of a search on a GPU once for each shape, and launch them together from then on.

A step launches hundreds of small kernels one by one, which takes several times as long as running them.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeVar

import torch
from torch import Tensor

from dragoman.model.state import first_tensor, list_tensors, map_tensors, replace_tensors

SEEN: Final = 2  # calls with tensors of a shape before it is recorded
MOST: Final = 256  # shapes

Input = TypeVar("Input")
Result = TypeVar("Result")
Body = Callable[[], None]


def record_cuda(body: Body) -> Body:
    """Return a function that launches the kernels of `body`, which it runs twice."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        body()  # what is loaded or chosen at the first call is no part of the graph
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    # Other threads may use the GPU meanwhile.
    with torch.cuda.graph(graph, pool=_pool(), capture_error_mode="thread_local"):
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
        self._seen: Counter[Any] = Counter()
        self._recorded: dict[Any, _RecordedStep] = {}
        self._possible = True

    def replayed(
        self, kind: str, step: Callable[[Input], tuple[Result, Input]], inputs: Input
    ) -> Callable[[Input], tuple[Result, Input]]:
        """Return a function that does the same as `step` with inputs of these shapes; `kind` names the step."""
        # A recording reads the parameters where they were.
        places = tuple(parameter.data_ptr() for parameter in self._parameters)
        key = kind, places, tuple((tensor.shape, tensor.dtype) for tensor in list_tensors(inputs))
        self._seen[key] += 1
        if not self._possible or self._seen[key] <= SEEN or len(self._recorded) == MOST:
            return step
        if key not in self._recorded:
            try:
                self._recorded[key] = _RecordedStep(step, inputs, self._record)
            except RuntimeError:
                self._give_up(first_tensor(inputs).device)
                return step
        return self._recorded[key]

    def _give_up(self, device: torch.device) -> None:
        """Go on without recordings, as if there had been none."""
        self._possible = False
        self._recorded.clear()
        if device.type == "cuda":  # a recording that failed leaves its stream behind
            torch.cuda.set_stream(torch.cuda.default_stream(device))


class _RecordedStep:
    """A step that reads its input from tensors of its own and writes the next input there."""

    def __init__(self, step: Callable[[Any], tuple[Any, Any]], inputs: Any, record: Callable[[Body], Body]) -> None:
        self._own = map_tensors(torch.clone, inputs)
        self._moving: list[bool] = []  # whether the step changes it, for each tensor of the input
        self._chosen: Any = None
        self._replay = record(lambda: self._run(step))

    def _run(self, step: Callable[[Any], tuple[Any, Any]]) -> None:
        self._chosen, following = step(self._own)
        pairs = [*zip(list_tensors(self._own), list_tensors(following), strict=True)]
        if any(own.shape != value.shape for own, value in pairs):
            raise RuntimeError("the state grows from step to step")
        self._moving = [own is not value for own, value in pairs]
        for own, value in pairs:
            own.copy_(value)  # of one that stays the same, nothing

    def __call__(self, inputs: Any) -> tuple[Any, Any]:
        values = list_tensors(inputs)
        for buffer, value in zip(list_tensors(self._own), values, strict=True):
            buffer.copy_(value)
        self._replay()
        # Copies: the next replay overwrites its own tensors.
        parts = zip(list_tensors(self._own), values, self._moving, strict=True)
        following = [own.clone() if moving else value for own, value, moving in parts]
        return map_tensors(torch.clone, self._chosen), replace_tensors(inputs, following)

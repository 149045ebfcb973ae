"""Building the parts of a model, with each failure reported at its configuration key."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from dragoman.configuration.components import Path

Part = TypeVar("Part")


@runtime_checkable
class Assemble(Protocol):
    """Builds a part. A failure is reported at its key: raised, or noted, and `instead` makes the part."""

    def __call__(self, path: Path, make: Callable[[], Part], instead: Callable[[], Part] | None = None) -> Part: ...


class _NoInitialValues(TorchFunctionMode):
    """Leave out the random initial values of parameters: on the device `meta`, the first takes torch seconds."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (Tensor.normal_, Tensor.uniform_):
            return args[0]
        if func in (nn.init.normal_, nn.init.uniform_):
            return kwargs["tensor"]
        return func(*args, **(kwargs or {}))


@contextmanager
def skip_initial_values() -> Iterator[None]:
    """Within this context, a model is built on torch's `meta` device: its tensors have shapes, and no memory."""
    with torch.device("meta"), _NoInitialValues():
        yield


def require_causal(path: Path, hiding: str | None, reads_ahead: bool, instead: str, assemble: Assemble) -> None:
    """Report a problem if a part depends on source symbols that an attention term hides."""
    if hiding and reads_ahead:
        message = f"depends on source tokens that '{hiding}' (attention.terms) masks; use {instead}"
        assemble(path, make_failing(message), lambda: None)


def make_failing(message: str) -> Callable[[], None]:
    """A maker that always fails with this message."""

    def make() -> None:
        raise ValueError(message)

    return make

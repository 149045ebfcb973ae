"""Building the parts of a model, with each failure reported at its configuration key."""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

from dragoman.configuration.components import Path

Part = TypeVar("Part")


@runtime_checkable
class Assemble(Protocol):
    """Builds a part. A failure is reported at its key: raised, or noted, and `instead` makes the part."""

    def __call__(self, path: Path, make: Callable[[], Part], instead: Callable[[], Part] | None = None) -> Part: ...


def require_causal(path: Path, hiding: str | None, reads_ahead: bool, instead: str, assemble: Assemble) -> None:
    """Report a problem if a part depends on source symbols that an attention term hides."""
    if hiding and reads_ahead:
        message = f"depends on source symbols that '{hiding}' (attention.terms) hides; use {instead}"
        assemble(path, failing(message), lambda: None)


def failing(message: str) -> Callable[[], None]:
    """A maker that always fails with this message."""

    def make() -> None:
        raise ValueError(message)

    return make

"""Parts that are put in their places, each of which may fail at its key of the configuration."""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

from dragoman.configuration.components import Path

Part = TypeVar("Part")


@runtime_checkable
class Assemble(Protocol):
    """How a part is put in its place: make it, or say at which key it fails and go on with another."""

    def __call__(self, path: Path, make: Callable[[], Part], instead: Callable[[], Part] | None = None) -> Part: ...


def require_causal(path: Path, hiding: str | None, reads_ahead: bool, instead: str, assemble: Assemble) -> None:
    """A problem where a part depends on source symbols that a term hides."""
    if hiding and reads_ahead:
        message = f"depends on source symbols that '{hiding}' (attention.terms) hides; use {instead}"
        assemble(path, failing(message), lambda: None)


def failing(message: str) -> Callable[[], None]:
    """A part that cannot be made."""

    def make() -> None:
        raise ValueError(message)

    return make

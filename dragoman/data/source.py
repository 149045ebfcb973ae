"""What is translated from."""

from typing import TypeAlias

from dragoman.data.features import FeatureSource
from dragoman.data.language import Language

Source: TypeAlias = Language | FeatureSource


def only_text(sources: tuple[Source, ...]) -> bool:
    """Whether there is one source, and it is a text."""
    return len(sources) == 1 and isinstance(sources[0], Language)

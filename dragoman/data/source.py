"""Sources: texts or numbers."""

from typing import TypeAlias

from dragoman.corpus.features import FeatureSource
from dragoman.data.language import Language
from dragoman.errors import UserError

Source: TypeAlias = Language | FeatureSource


def the_text(sources: tuple[Source, ...]) -> Language:
    """The only source, which is a text. UserError if there are several, or it is numeric."""
    if not only_text(sources):
        named = ", ".join(source.name for source in sources)
        raise UserError(f"this needs a run that reads one text alone, and this one reads {named}")
    (text,) = sources
    assert isinstance(text, Language)
    return text


def only_text(sources: tuple[Source, ...]) -> bool:
    """Whether there is one source, and it is a text."""
    return len(sources) == 1 and isinstance(sources[0], Language)

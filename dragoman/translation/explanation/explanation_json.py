"""Explanations to their JSON form and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.corpus.translation_memory import Match
from dragoman.translation.explanation.explanation_schema import (
    BeamNodeSchema,
    ContrastSchema,
    ExplanationSchema,
    NearSchema,
    PlaceSchema,
    SourceContrastSchema,
    SourceMapsSchema,
)
from dragoman.translation.explanation.source_maps import Contrast, Map, Place, SourceContrast, SourceMaps
from dragoman.translation.json_values import PLACES, Weights
from dragoman.visualization.explained import BeamNode


def written(
    sources: Sequence[SourceMaps],
    contrast: Contrast | None,
    beam: Sequence[BeamNode],
    nearest: Sequence[Match],
) -> ExplanationSchema:
    """The form of the parts of an explanation. Numbers are rounded to 6 decimals."""
    return ExplanationSchema(
        sources=[SourceMapsSchema(**_plain(item)) for item in sources],
        contrast=_contrast_form(contrast) if contrast else None,
        beam=[BeamNodeSchema(**_plain(item)) for item in beam],
        nearest=[NearSchema(**_plain(item)) for item in nearest],
    )


def _contrast_form(contrast: Contrast) -> ContrastSchema:
    def sources(maps: tuple[SourceContrast, ...]) -> list[SourceContrastSchema]:
        return [SourceContrastSchema(**_plain(source_contrast)) for source_contrast in maps]

    places = [
        PlaceSchema(
            words=list(difference.words),
            other=list(difference.other),
            difference=_number(difference.difference),
            sources=sources(difference.sources),
        )
        for difference in contrast.places
    ]
    return ContrastSchema(
        text=contrast.text,
        words=contrast.words,
        log_prob=_number(contrast.log_prob),
        difference=_number(contrast.difference),
        sources=sources(contrast.sources),
        places=places,
    )


def _plain(part: SourceMaps | SourceContrast | BeamNode | Match) -> dict[str, Any]:
    """The values of a named tuple by their names: arrays as lists, and numbers rounded."""
    return {name: _number(value) for name, value in part._asdict().items()}


def _number(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _rounded(value).tolist()
    return float(_rounded(np.array([value]))[0]) if isinstance(value, float) else value


def read(
    form: ExplanationSchema, words: int
) -> tuple[tuple[SourceMaps, ...], Contrast | None, tuple[BeamNode, ...], tuple[Match, ...]]:
    """The parts of an explanation of so many target words."""

    def maps(rows: list[Weights], length: int) -> Map:
        return np.array(rows, np.float64).reshape(words, length)

    sources = tuple(
        SourceMaps(
            item.name,
            maps(item.gradient, len(item.gradient[0]) if words else 0),
            maps(item.erasure, len(item.gradient[0]) if words else 0),
            np.array(item.gradient_share, np.float64),
            None if item.erasure_share is None else np.array(item.erasure_share, np.float64),
        )
        for item in form.sources
    )
    contrast = _contrast(form.contrast) if form.contrast else None
    beam = tuple(BeamNode(**item.model_dump()) for item in form.beam)
    return sources, contrast, beam, tuple(Match(item.translation, item.score, item.source) for item in form.nearest)


def _contrast(form: ContrastSchema) -> Contrast:
    def sources(forms: list[SourceContrastSchema]) -> tuple[SourceContrast, ...]:
        rows = ((source.name, source.attention, source.gradient, source.erasure) for source in forms)
        return tuple(SourceContrast(name, *(np.array(part, np.float64) for part in rest)) for name, *rest in rows)

    places = tuple(
        Place(
            (difference.words[0], difference.words[1]),
            (difference.other[0], difference.other[1]),
            difference.difference,
            sources(difference.sources),
        )
        for difference in form.places
    )
    return Contrast(form.text, form.words, form.log_prob, form.difference, sources(form.sources), places)


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers as they are written: NaN becomes 0, and what is infinite the largest number that there is."""
    return np.nan_to_num(values).round(PLACES) + 0.0  # 0.0, never -0.0

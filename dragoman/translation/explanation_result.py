"""Explanations to their JSON form and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.corpus.memory import Match
from dragoman.translation.explanation_form import (
    BeamNodeForm,
    ContrastForm,
    ExplanationForm,
    NearForm,
    PlaceForm,
    SourceContrastForm,
    SourceMapsForm,
)
from dragoman.translation.form import PLACES, Weights
from dragoman.translation.maps import Contrast, Map, Place, SourceContrast, SourceMaps
from dragoman.visualisation.beam import BeamNode


def written(
    sources: Sequence[SourceMaps],
    contrast: Contrast | None,
    beam: Sequence[BeamNode],
    nearest: Sequence[Match],
) -> ExplanationForm:
    """The form of the parts of an explanation. Numbers are rounded to 6 decimals."""
    return ExplanationForm(
        sources=[SourceMapsForm(**_plain(each)) for each in sources],
        contrast=_contrast_form(contrast) if contrast else None,
        beam=[BeamNodeForm(**_plain(each)) for each in beam],
        nearest=[NearForm(**_plain(each)) for each in nearest],
    )


def _contrast_form(found: Contrast) -> ContrastForm:
    def sources(maps: tuple[SourceContrast, ...]) -> list[SourceContrastForm]:
        return [SourceContrastForm(**_plain(each)) for each in maps]

    places = [
        PlaceForm(
            words=list(each.words),
            other=list(each.other),
            difference=_number(each.difference),
            sources=sources(each.sources),
        )
        for each in found.places
    ]
    return ContrastForm(
        text=found.text,
        words=found.words,
        log_prob=_number(found.log_prob),
        difference=_number(found.difference),
        sources=sources(found.sources),
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
    form: ExplanationForm, words: int
) -> tuple[tuple[SourceMaps, ...], Contrast | None, tuple[BeamNode, ...], tuple[Match, ...]]:
    """The parts of an explanation of so many target words."""

    def maps(rows: list[Weights], length: int) -> Map:
        return np.array(rows, np.float64).reshape(words, length)

    sources = tuple(
        SourceMaps(
            each.name,
            maps(each.gradient, len(each.gradient[0]) if words else 0),
            maps(each.erasure, len(each.gradient[0]) if words else 0),
            np.array(each.gradient_share, np.float64),
            None if each.erasure_share is None else np.array(each.erasure_share, np.float64),
        )
        for each in form.sources
    )
    contrast = _contrast(form.contrast) if form.contrast else None
    beam = tuple(BeamNode(**each.model_dump()) for each in form.beam)
    return sources, contrast, beam, tuple(Match(each.translation, each.score, each.source) for each in form.nearest)


def _contrast(form: ContrastForm) -> Contrast:
    def sources(forms: list[SourceContrastForm]) -> tuple[SourceContrast, ...]:
        every = ((each.name, each.attention, each.gradient, each.erasure) for each in forms)
        return tuple(SourceContrast(name, *(np.array(part, np.float64) for part in rest)) for name, *rest in every)

    places = tuple(
        Place((each.words[0], each.words[1]), (each.other[0], each.other[1]), each.difference, sources(each.sources))
        for each in form.places
    )
    return Contrast(form.text, form.words, form.log_prob, form.difference, sources(form.sources), places)


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers as they are written: NaN becomes 0, and what is infinite the largest number that there is."""
    return np.nan_to_num(values).round(PLACES) + 0.0  # 0.0, never -0.0

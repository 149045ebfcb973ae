"""Translations to JSON and back: the output of commands with `--json`, and the validation file of a run."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from pydantic_core import from_json

from dragoman.configuration.messages import shown, written_by
from dragoman.corpus.translation_memory import Match
from dragoman.errors import UserError
from dragoman.files import reading
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.explanation import explanation_json
from dragoman.translation.explanation.explanation import Explanation
from dragoman.translation.json_schema import (
    VERSION,
    ConfidenceSchema,
    EditSchema,
    EditsSchema,
    MatchSchema,
    ReplacedSchema,
    SourceSchema,
    SpanSchema,
    StepSchema,
    TermSchema,
    TranslationSchema,
    problem,
)
from dragoman.translation.json_values import PLACES
from dragoman.translation.translation import AppliedTerm, Confidence, KeptSpan, Replacement, Step, Translation
from dragoman.visualization.changes import Revision


class Result(NamedTuple):
    """A translation with its reference, the name of its language pair (in a run with several pairs), and the name of
    the source that was post-edited.
    """

    translation: Translation
    reference: str | None = None
    pair: str | None = None
    edited: str | None = None

    def json(self) -> dict[str, Any]:
        """The JSON form as a mapping. Numbers are rounded to 6 decimals; weights that are not finite become 0."""
        return self._form.model_dump(exclude_defaults=True)

    def line(self) -> str:
        """The JSON form as one line."""
        return self._form.model_dump_json(exclude_defaults=True)

    @property
    def _form(self) -> TranslationSchema:
        beside = {"reference": self.reference, "pair": self.pair, "edits": _edits(self.translation, self.edited)}
        return _form(self.translation, **beside)

    @classmethod
    def from_json(cls, value: Any) -> "Result":
        """Read the output of `json`. UserError if it is anything else, or of another version. `alignment`, `log_probs`,
        `confidence`, the `statistics` of words and the words of `edits` are not read, since they follow from the rest.
        """
        if not isinstance(value, Mapping):
            raise UserError(f"expected a translation as a JSON object, found {shown(value)}")
        version = value.get("version")
        if type(version) is not int or version != VERSION:
            version_text = written_by(version, VERSION) if "version" in value else "of no version"
            raise UserError(f"expected a translation of version {VERSION}, found one {version_text}")
        try:
            form = TranslationSchema.model_validate(value)
        except ValidationError as error:
            raise UserError(problem(error)) from None
        edited = form.edits.source if form.edits else None
        return cls(_translation(form), form.reference, form.pair, edited)

    @classmethod
    def from_line(cls, line: str) -> "Result":
        """Read the output of `line`. UserError as above, or if it is not JSON."""
        try:
            value = from_json(line, allow_inf_nan=False)
        except ValueError as error:
            raise UserError(f"expected a translation as JSON ({error})") from None
        return cls.from_json(value)


def read(path: Path) -> Iterator[Result]:
    """The translations in a file, one per line. UserError names the file and line of anything else."""
    for number, line in enumerate(reading.read_lines(path), start=1):
        try:
            yield Result.from_line(line)
        except UserError as error:
            raise UserError(f"{reading.shown(path)}:{number}: {error}") from None


def _rounded(translation: Translation) -> Translation:
    """Round all numbers as they are written, so that values derived from them are the same after reading."""
    sources = (
        source._replace(
            attention=_weights(source.attention),
            share=_weights(source.share),
            end_attention=None if source.end_attention is None else _weights(source.end_attention),
        )
        for source in translation.sources
    )
    return replace(
        translation,
        sources=tuple(sources),
        score=_number(_figure(translation.score)),
        log_prob=_number(_figure(translation.log_prob)),
        steps=tuple(map(_rounded_step, translation.steps)),
        sentinel=None if translation.sentinel is None else _weights(translation.sentinel),
    )


def _rounded_step(step: Step) -> Step:
    statistics = {name: _figure(value) or 0.0 for name, value in step.statistics.items()}
    calibrated = None if step.calibrated is None else _figure(step.calibrated)
    return step._replace(log_prob=_number(_figure(step.log_prob)), statistics=statistics, calibrated=calibrated)


def _figure(value: float) -> float | None:
    return round(value, PLACES) + 0.0 if math.isfinite(value) else None  # 0.0, never -0.0


def _weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.nan_to_num(weights, posinf=0.0, neginf=0.0).round(PLACES) + 0.0


def _read(result: Translation | Explanation) -> list[list[str]]:
    """The words of a translation or an explanation: those of each source, then those of the target."""
    sources = result.sources if isinstance(result, Translation) else result.attended
    return [list(words) for words in (*(source.words for source in sources), result.words)]


def _form(unrounded: Translation, **beside: Any) -> TranslationSchema:
    if unrounded.explanation and _read(unrounded.explanation) != _read(unrounded):
        raise UserError("the explanation has other words than the translation (no model reads protected spans)")
    translation = _rounded(unrounded)
    return TranslationSchema(
        version=VERSION,
        text=translation.text,
        words=translation.words,
        score=_figure(translation.score),
        log_prob=_figure(translation.log_prob),
        log_probs=[_figure(item) for item in translation.log_probs.tolist()],
        steps=[
            StepSchema(
                symbol=item.symbol,
                word=item.word,
                log_prob=_figure(item.log_prob),
                statistics=dict(item.statistics),
                calibrated=item.calibrated,
            )
            for item in translation.steps
        ],
        confidence=_confidence(translation.confidence),
        withheld=translation.withheld,
        criteria={name: round(item, PLACES) for name, item in translation.criteria.items()},
        statistics={name: _weights(item).tolist() for name, item in translation.statistics.items()},
        sources=list(map(_source_form, translation.sources)),
        sentinel=_list(translation.sentinel),
        replaced=[ReplacedSchema(**item._asdict()) for item in translation.replaced],
        spans=[SpanSchema(**_placed(item)) for item in translation.spans],
        terms=[TermSchema(**_placed(item), forms=list(item.forms)) for item in translation.terms],
        proved=translation.proved,
        left_out=translation.left_out,
        explanation=translation.explanation.form if translation.explanation else None,
        alternatives=[_form(item) for item in translation.alternatives],
        **beside,
    )


def _confidence(confidence: Confidence | None) -> ConfidenceSchema | None:
    if confidence is None:
        return None
    return ConfidenceSchema(sentence=round(confidence.sentence, PLACES), words=confidence.words.round(PLACES).tolist())


def _source_form(seen: SourceAttention) -> SourceSchema:
    return SourceSchema(
        name=seen.name,
        text=seen.text,
        words=seen.words,
        attention=seen.attention.tolist(),
        share=seen.share.tolist(),
        end_attention=_list(seen.end_attention),
        regions=seen.regions,
        match=MatchSchema(source=seen.match.source, score=round(seen.match.score, PLACES)) if seen.match else None,
        alignment=sorted(map(list, seen.alignment)),
    )


def _placed(span: KeptSpan | AppliedTerm) -> dict[str, Any]:
    target = None if span.target is None else list(span.target)
    return {"text": span.text, "source": span.source, "place": list(span.place), "target": target}


def _list(weights: NDArray[np.float64] | None) -> list[float] | None:
    return None if weights is None else weights.tolist()


def _edits(translation: Translation, edited: str | None) -> EditsSchema | None:
    if edited is None:
        return None
    before = next(source.text for source in translation.sources if source.name == edited)
    words = Revision("", before, translation.text).words
    return EditsSchema(source=edited, words=[EditSchema(word=word.text, change=word.change.value) for word in words])


def _translation(form: TranslationSchema) -> Translation:
    words = len(form.words)
    translation = Translation(
        tuple(_seen(source, words) for source in form.sources),
        form.text,
        form.words,
        _number(form.score),
        _number(form.log_prob),
        tuple(
            Step(item.symbol, item.word, _number(item.log_prob), item.statistics, item.calibrated)
            for item in form.steps
        ),
        _array(form.sentinel),
        tuple(map(_translation, form.alternatives)),
        form.left_out,
        tuple(Replacement(**item.model_dump()) for item in form.replaced),
        tuple(KeptSpan(item.text, item.source, _place(item.place), _place(item.target)) for item in form.spans),
        tuple(
            AppliedTerm(item.text, item.source, _place(item.place), _place(item.target), tuple(item.forms))
            for item in form.terms
        ),
        form.proved,
        withheld=form.withheld,
        criteria=form.criteria,
    )
    if form.explanation is None:
        return translation
    sources, contrast, beam, nearest = explanation_json.read(form.explanation, len(translation.words))
    parts = translation.text, translation.words, translation.log_probs, translation.sources, translation.sentinel
    confidence = translation.confidence and translation.confidence.words
    explanation = Explanation(*parts, sources, contrast, partial(tuple, beam), nearest, confidence)
    return replace(translation, explanation=explanation)


def _seen(source: SourceSchema, words: int) -> SourceAttention:
    attention = np.array(source.attention, np.float64).reshape(words, len(source.words))
    share = np.array(source.share, np.float64)
    end, match_form = _array(source.end_attention), source.match
    match = Match(source.text, match_form.score, match_form.source) if match_form else None
    return SourceAttention(
        source.name, source.text, source.words, attention, share, end, regions=source.regions, match=match
    )


@overload
def _place(place: list[int]) -> tuple[int, int]: ...
@overload
def _place(place: None) -> None: ...
def _place(place: list[int] | None) -> tuple[int, int] | None:
    return None if place is None else (place[0], place[1])


def _array(weights: list[float] | None) -> NDArray[np.float64] | None:
    return None if weights is None else np.array(weights, np.float64)


def _number(value: float | None) -> float:
    return math.nan if value is None else value

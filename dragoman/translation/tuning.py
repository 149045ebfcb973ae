"""Tuning: alpha and the weights of criteria by which n-best lists of a development set score best, and their file."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float
from pydantic import Field, ValidationError

from dragoman.configuration import components, yaml_lines
from dragoman.configuration.messages import nearest, written_by
from dragoman.data.language import Language
from dragoman.errors import UserError
from dragoman.evaluation import mert
from dragoman.evaluation.mert import NBest, Vector
from dragoman.evaluation.metrics.metric import Metric
from dragoman.files.reading import read_lines
from dragoman.search.ranking import Alpha
from dragoman.search.table import SEARCHES
from dragoman.translation.json_schema import problem
from dragoman.translation.json_values import Schema
from dragoman.translation.loading import load
from dragoman.translation.reranking.criteria import (
    LENGTH_MODEL,
    OWN,
    REVERSE,
    Candidates,
    Criterion,
    LengthModel,
    ListedScore,
    OtherRun,
    Reverse,
    figures,
)
from dragoman.translation.reranking.nbest_lists import Lists
from dragoman.translation.reranking.reranker import Reranker
from dragoman.translation.source_inputs import Text
from dragoman.translation.translator import Translator

VERSION = 1
COARSE = (0.0, 0.5, 1.0, 1.5, 2.0)  # values of alpha that are tried, and then what is to either side of the best
FINE = (-0.25, -0.125, 0.125, 0.25)
RESTARTS = 5  # from random weights, at the best alpha
DIGITS = 6  # of weights


class Lengths(Schema):
    """The length model: characters of a translation for each of the source, and the variance of their number."""

    ratio: float = Field(gt=0)
    variance: float = Field(gt=0)


class Weighted(Schema):
    """What `dragoman tune` found: how many translations to rank, by which criteria, with which weights; the runs that
    some criteria need.
    """

    version: int = VERSION
    candidates: Annotated[int, Field(ge=1, le=1000)]
    alpha: Alpha
    weights: dict[str, float]
    length_model: Lengths | None = None
    reverse: str | None = None
    runs: dict[str, str] = Field({})

    def text(self) -> str:
        """It as YAML."""
        return yaml_lines.write({name: value for name, value in self.model_dump().items() if value not in (None, {})})

    @classmethod
    def read(cls, path: Path) -> "Weighted":
        """Read a file of weights. UserError names file, line and key of what is wrong."""
        document = yaml_lines.read("\n".join(read_lines(path)), str(path))
        if document.faults:
            place, key, message = document.faults[0]
            raise UserError(f"{place.text}: {'.'.join(map(str, key)) + ': ' if key else ''}{message}")
        if not isinstance(document.value, dict) or not (document.value.get("weights") and "version" in document.value):
            raise UserError(f"{path}: not written by `dragoman tune`")
        if document.value.get("version") != VERSION:
            raise UserError(f"{path}: {written_by(document.value.get('version'), VERSION)}; tune again")
        for key in document.value:
            if key not in cls.model_fields:
                raise UserError(f"{document.places[key,].text}: {key}: unknown key, {nearest(key, cls.model_fields)}")
        try:
            return cls.model_validate(document.value)
        except ValidationError as error:
            line = document.places.get(document.nearest(error.errors()[0]["loc"]), document.place(1))
            raise UserError(f"{line.text}: {problem(error)}") from None

    def reranker(self, translator: Translator, to: str | None = None, lists: Lists | None = None) -> Reranker:
        """Rank translations of this translator so; `lists` have the criteria that are a user's own. UserError if a run
        is missing or does not fit, or a criterion is not known.
        """
        criteria = [self._criterion(name, translator, to, lists) for name in self.weights]
        return Reranker(criteria, self.weights, self.alpha, self.candidates)

    def _criterion(self, name: str, translator: Translator, to: str | None, lists: Lists | None) -> Criterion:
        if name in OWN:
            return OWN[name]()
        if name == LENGTH_MODEL and self.length_model:
            return LengthModel(self.length_model.ratio, self.length_model.variance)
        if name == REVERSE and self.reverse:
            back = load(self.reverse)
            _check_reverse(back, translator, self.reverse)
            return Reverse(back.score)
        if name in self.runs:
            other = load(self.runs[name])
            _check_same(other, translator, self.runs[name])
            return OtherRun(name, partial(other.score, to=to))
        if lists and name in lists.names:
            return ListedScore(name, lists)
        if name in (LENGTH_MODEL, REVERSE):
            raise UserError(f"weights.{name}: needs the key '{name}', which is missing")
        raise UserError(f"weights.{name}: no such criterion; your own criteria are in the lists of --criteria FILE")


def _check_reverse(run: Translator, forward: Translator, place: str) -> None:
    """UserError unless a run translates back what another one translates."""
    if run.marks or forward.marks:
        raise UserError(f"{place}: a reverse model requires runs with a single direction (no data.pairs)")
    there, back = (_direction(translator) for translator in (forward, run))
    if there is None or back != there[::-1]:
        directions = _describe_direction(run), _describe_direction(forward)
        raise UserError(f"{place}: translates {directions[0]}, which is not the reverse of {directions[1]}")


def _check_same(run: Translator, forward: Translator, place: str) -> None:
    """UserError unless a run reads the same sources and writes the same languages as another one."""
    names = [[source.name for source in translator.sources] for translator in (run, forward)]
    if names[0] != names[1] or run.targets != forward.targets or run.edits != forward.edits:
        raise UserError(f"{place}: translates {_describe_direction(run)}, and not {_describe_direction(forward)}")


def _direction(run: Translator) -> tuple[str, str] | None:
    """The two languages of a run that translates one text and edits none."""
    (first, *further) = run.sources
    plain = not further and isinstance(first, Language) and run.edited is None
    return (first.name, run.target.name) if plain else None


def _describe_direction(run: Translator) -> str:
    return f"{', '.join(source.name for source in run.sources)} to {', '.join(run.targets)}"


class Tuned(NamedTuple):
    """The weights that were found; the score of what the search ranks first, and of what they rank first."""

    weighted: Weighted
    before: float
    after: float


def tune(
    begun: Weighted,
    candidates: Sequence[Candidates],
    references: Sequence[Sequence[str]],
    metric: Metric,
    criteria: Sequence[Criterion],
    *,
    seed: int = 1,
) -> Tuned:
    """The alpha and the weights of these criteria for which the best of each list score best by a metric, beginning
    with those of `begun`. A list has the translations as the search ranks them; each of `references` has a text for
    each list.
    """
    figures_by_sentence = figures(criteria, candidates)
    counts = _counts(candidates, references, metric)
    start = np.array([begun.weights[criterion.name] for criterion in criteria])

    def at(alpha: float, restarts: int = 0) -> tuple[float, float, Vector]:
        nbest = [
            NBest(
                np.array(
                    [
                        [translation_figures[name].normalized(alpha) for name in begun.weights]
                        for translation_figures in sentence_figures
                    ]
                ),
                of_each,
            )
            for sentence_figures, of_each in zip(figures_by_sentence, counts, strict=True)
        ]
        weights = _best(metric, nbest, start, restarts, seed)
        return sign * mert.score(metric, nbest, weights), alpha, weights

    sign = 1 if metric.higher_is_better else -1
    best = max((at(alpha) for alpha in dict.fromkeys((begun.alpha, *COARSE))), key=_score)
    beside = [best[1] + step for step in FINE if 0 <= best[1] + step <= COARSE[-1]]
    best = max([best, *map(at, beside)], key=_score)
    best = max(best, at(best[1], RESTARTS), key=_score)
    weights = dict(zip(begun.weights, best[2].tolist(), strict=True))
    before = metric.value(np.sum([sentence_counts[0] for sentence_counts in counts], 0).tolist())
    return Tuned(begun.model_copy(update={"alpha": best[1], "weights": weights}), before, sign * best[0])


def _score(trial: tuple[float, float, Vector]) -> float:
    return trial[0]


def _counts(
    candidates: Sequence[Candidates], references: Sequence[Sequence[str]], metric: Metric
) -> list[Float[np.ndarray, "H C"]]:
    """The counts of each translation of each sentence."""
    texts = [one.text for sentence in candidates for one in sentence.translations]
    beside = [
        [text for sentence, text in zip(candidates, lines, strict=True) for _ in sentence.translations]
        for lines in references
    ]
    ends = np.cumsum([len(sentence.translations) for sentence in candidates])[:-1]
    return np.split(metric.counts(texts, beside), ends)


def _best(metric: Metric, nbest: Sequence[NBest], start: Vector, restarts: int, seed: int) -> Vector:
    """The best weights, rounded as they are written. For the search, criteria are spread alike within lists."""
    spread = np.sqrt(np.mean([sentence.criteria.var(0) for sentence in nbest], 0))
    scale = 1 / np.where(spread > 0, spread, 1.0)
    alike = [sentence._replace(criteria=sentence.criteria * scale) for sentence in nbest]
    optimum = mert.optimum(metric, alike, start / scale, restarts=restarts, seed=seed)
    return mert.scaled(optimum.weights * scale).round(DIGITS) + 0.0


def listed(translator: Translator, texts: Sequence[Text], count: int, to: str | None = None) -> list[Candidates]:
    """Up to so many different translations of each text, in the order of the search: those that a `Reranker` with so
    many candidates has to choose from.
    """
    translations = translator.translate(texts, to=to, n_best=count, rerank=Reranker((), {}, candidates=count))
    inputs_and_translations = zip(
        map(translator.processor.model_inputs.complete_inputs, texts), translations, strict=True
    )
    return [Candidates(number, inputs, best.n_best) for number, (inputs, best) in enumerate(inputs_and_translations)]


def own_alpha(translator: Translator) -> float:
    """The alpha by which a run's own search ranks translations of different lengths; 1 of others than `length`."""
    ranking = getattr(components.build(SEARCHES, translator.search), "ranking", None)
    return ranking.alpha if ranking and ranking.normalization == "length" else 1.0

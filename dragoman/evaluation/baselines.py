"""Baselines that need no model, and that a model should exceed: copying the source, and the nearest neighbor."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from dragoman.configuration import components
from dragoman.configuration.components import Spec
from dragoman.configuration.config import TextConfig
from dragoman.configuration.data import DataConfig
from dragoman.configuration.messages import figure
from dragoman.corpus.examples import Example, Pair, read_examples
from dragoman.corpus.sample import spread
from dragoman.corpus.translation_memory import NearestMemory
from dragoman.evaluation.metrics.metric import Score
from dragoman.evaluation.metrics.table import METRICS, higher_is_better
from dragoman.text.normalizer import Normalizer
from dragoman.text.pretokenizer import PRETOKENIZERS

LINES = 500  # development sentences that are looked up, at most
SOURCES = 50_000  # training pairs that they are looked up in, at most: looking up takes a few seconds at these sizes
ANY = 1e-9  # the threshold of similarity below which no pair lies
NEAREST = "nearest neighbor"

Item = TypeVar("Item")


@dataclass(frozen=True)
class Baseline:
    """What stands in for the translations, and its scores by the kinds of their metrics."""

    name: str
    scores: dict[str, Score]

    def __str__(self) -> str:
        return f"{self.name} {', '.join(f'{score.name} {figure(score.value)}' for score in self.scores.values())}"


@dataclass(frozen=True)
class Baselines:
    """The baselines of a development set; `sampled` says which part of the data was looked at, if not all of it."""

    baselines: tuple[Baseline, ...]
    sampled: str

    def __str__(self) -> str:
        return "; ".join(map(str, self.baselines)) + (f" ({self.sampled})" if self.sampled else "")

    @property
    def scores(self) -> Iterator[Score]:
        """All scores, those of one metric together, named after metric and baseline."""
        for kind in self.baselines[0].scores:
            for baseline in self.baselines:
                score = baseline.scores[kind]
                yield score._replace(name=f"{score.name}, {baseline.name}")

    def highest(self, kind: str) -> Baseline:
        """The best baseline by a metric."""
        sign = 1 if higher_is_better(kind) else -1
        return max(self.baselines, key=lambda baseline: sign * baseline.scores[kind].value)

    def to_json(self) -> Any:
        return BASELINES.dump_python(self, mode="json")


BASELINES = TypeAdapter(Baselines)


def from_json(value: Any) -> Baselines | None:
    """The inverse of `to_json`; None if the value is nothing of the kind."""
    try:
        baselines = BASELINES.validate_python(value)
    except ValidationError:
        return None
    kinds = {tuple(baseline.scores) for baseline in baselines.baselines}
    return baselines if len(kinds) == 1 and kinds != {()} else None


def sample(items: Sequence[Item]) -> list[Item]:
    """The items of those development sentences that baselines are measured on."""
    return spread(items, LINES)[0]


def measure(data: DataConfig, text: TextConfig, metrics: Sequence[Spec], dev: Sequence[Example]) -> Baselines | None:
    """Score the development sentences' sources as translations, and the translations of the most similar training
    sources. Of several sources the first text is meant, or for copying the one that the target is edits of. None if
    there is no text, if there are several language pairs, no metrics, or the target is the source (data.noise).
    UserError if the training pairs cannot be read.
    """
    if data.pairs or data.target in data.source or not data.queried_source or not metrics:
        return None
    copied = data.edits if data.edits in data.source else data.queried_source
    examples, memory = sample(dev), _memory(data, text)
    queries = [str(example.sources[data.source.index(data.queried_source)]) for example in examples]
    answers = [next((match.translation for match in memory.index.matches(source)), "") for source in queries]
    outputs = {
        f"copying {copied}": [str(example.sources[data.source.index(copied)]) for example in examples],
        NEAREST: answers,
    }
    references = [example.target for example in examples]
    counts = ((len(examples), len(dev), "development sentences"), (memory.kept, memory.pairs, "training pairs"))
    sampled = (f"{kept:,} of {count:,} {what}" for kept, count, what in counts if kept < count)
    return Baselines(
        tuple(Baseline(name, _scores(metrics, texts, references)) for name, texts in outputs.items()),
        ", ".join(sampled),
    )


@dataclass(frozen=True)
class _Memory:
    """A translation memory of `kept` of the training pairs."""

    index: NearestMemory
    kept: int
    pairs: int


def _memory(data: DataConfig, text: TextConfig) -> _Memory:
    texts = tuple(name for name in data.source if name not in data.features)
    examples = read_examples(data.train, texts, data.target)
    pairs, count = spread((Pair(str(example.sources[0]), example.target) for example in examples), SOURCES)
    normalize = Normalizer(lowercase=text.source.lowercase)
    index = NearestMemory(pairs, normalize, PRETOKENIZERS[text.source.pretokenizer], threshold=ANY)
    return _Memory(index, len(pairs), count)


def _scores(metrics: Sequence[Spec], texts: Sequence[str], references: Sequence[str]) -> dict[str, Score]:
    measured = {spec.kind: components.build(METRICS, spec).corpus(texts, [references]) for spec in metrics}
    return {kind: score.against(references) for kind, score in measured.items()}

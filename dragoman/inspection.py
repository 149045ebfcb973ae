"""What a run does: its development scores, and translated sentences with their attention."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import compress
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.configuration import components
from dragoman.corpus.pharaoh import Gold
from dragoman.data.language import Language
from dragoman.errors import UserError
from dragoman.evaluation import alignment, baselines
from dragoman.evaluation.alignment import AlignmentScore
from dragoman.evaluation.metrics.metric import Score, predicted
from dragoman.evaluation.metrics.table import METRICS
from dragoman.run.facts import metric_rows
from dragoman.run.run import Run
from dragoman.search.table import SEARCHES
from dragoman.text.normalise import composed
from dragoman.translation import result
from dragoman.translation.maps import SourceMaps
from dragoman.translation.result import Result
from dragoman.translation.source_inputs import Text
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator
from dragoman.visualisation.sentences import Example

ALTERNATIVES = 5  # translations of a sentence in a report
EXPLAINED = 2_000  # translations at most: a report shows no more
NEAREST = 3  # training pairs beside an explanation

Counts: TypeAlias = NDArray[np.float64]  # of each sentence


class Sentences(NamedTuple):
    """Translated sentences: the translations, and what a report shows of each."""

    texts: list[str]
    examples: list[Example]

    @property
    def references(self) -> list[str]:
        """The references that are known; an empty line counts as one."""
        return [example.reference for example in self.examples if example.reference is not None]

    @property
    def known(self) -> "Sentences":
        """The sentences whose reference is known."""
        return self._those(example.reference is not None for example in self.examples)

    def of(self, pair: str) -> "Sentences":
        """Return the sentences of one language pair."""
        return self._those(example.pair == pair for example in self.examples)

    def _those(self, chosen: Iterable[bool]) -> "Sentences":
        numbers = [number for number, wanted in enumerate(chosen) if wanted]
        return Sentences([self.texts[n] for n in numbers], [self.examples[n] for n in numbers])


def scores(run: Run, sentences: Sentences, more: Iterable[Score] = ()) -> list[Score]:
    """Return the scores by the run's metrics of sentences whose reference is known, and `more`; the signatures name the
    references.
    """
    known, measured = sentences.known, list[Score]()
    for pair in dict.fromkeys(example.pair for example in known.examples):
        some = known.of(pair)
        for spec in run.config.metrics:
            score = components.build(METRICS, spec).corpus(some.texts, [some.references])
            measured.append(score.of(pair).against(some.references))
    return [*measured, *more]


def development(run: Run) -> tuple[Sentences, list[Score]]:
    """Return the development sentences as translated by the finished model, what they score without a model, and how
    well the model predicts their references.
    """
    try:
        found = list(result.read(run.folder.validation)) if run.folder.validation.is_file() else []
    except UserError as error:
        way = "remove the file, and train writes it again; or name --sentences"
        raise UserError(f"{error}; a report needs a validation by this version: {way}") from None
    sentences = Sentences([each.translation.text for each in found], list(map(example, found)))
    final = next((row for row in reversed(metric_rows(run)) if "final/perplexity" in row), None)
    if final is None:
        return sentences, []
    known = baselines.from_json(run.folder.proof.get("baselines"))
    likely = prediction(run.target, final["final/perplexity"], final["final/accuracy"])
    return sentences, [*(known.scores if known else ()), *(each.against(sentences.references) for each in likely)]


def prediction(language: Language, perplexity: float, accuracy: float) -> list[Score]:
    """Return the scores for the prediction of references in the symbols of a language."""
    vocabulary = language.vocabulary
    symbols = vocabulary.symbols(range(len(vocabulary)))
    return predicted(perplexity, accuracy, str(language.text.spec["unit"]["kind"]), symbols)


def translated(
    translator: Translator,
    pairs: Sequence[tuple[Text, str | None]],
    gold: Sequence[Gold] = (),
    *,
    to: str | None = None,
    explain: bool = False,
) -> tuple[Sentences, Counts | None]:
    """Translate sentences with a model, into the language `to` if it has several; with gold alignments of the
    references, also return what `alignment.agreements` counts for each; and `explain` each translation, and why it is
    not the reference, with the most similar training pairs, if their files are there.

    Gold links are shown if the translation equals the reference. A reference is None if it is not known; with gold
    links, all are known.
    """
    sources, known = [source for source, _ in pairs], [reference for _, reference in pairs if reference is not None]
    counts = _agreements(translator, sources, known, gold, to=to) if gold else None
    search = components.build(SEARCHES, translator.search)
    found = translator.translate(sources, to=to, n_best=1 if search.draws else min(ALTERNATIVES, search.width))
    if explain:
        found = _explained(translator, found, [reference for _, reference in pairs])
    links = [each.possible for each in gold] if gold else [None] * len(pairs)
    examples = [
        example(Result(translation, reference), each if _same(translation.text, reference) else None)
        for translation, (_, reference), each in zip(found, pairs, links, strict=True)
    ]
    return Sentences([each.text for each in found], examples), counts


def _same(text: str, reference: str | None) -> bool:
    """Whether a translation is its reference, in NFC as scores compare them."""
    return reference is not None and composed(text) == composed(reference)


def _explained(
    translator: Translator, found: Sequence[Translation], references: Sequence[str | None]
) -> list[Translation]:
    """The same translations, the first EXPLAINED each with its explanation unless it is empty."""
    first, rest = found[:EXPLAINED], found[EXPLAINED:]
    said = [each for each in first if each.text]
    instead = [
        reference if reference and not _same(each.text, reference) else None
        for each, reference in zip(first, references, strict=False)
        if each.text
    ]
    try:
        explanations = iter(translator.explain(said, instead, nearest=NEAREST))
    except UserError:  # a run may have been moved away from its training data
        explanations = iter(translator.explain(said, instead))
    return [*(replace(each, explanation=next(explanations)) if each.text else each for each in first), *rest]


def agreement(
    translator: Translator,
    sources: Sequence[Text],
    references: Sequence[str],
    gold: Sequence[Gold],
    *,
    to: str | None = None,
) -> AlignmentScore:
    """Score the agreement of attention in forced decoding with gold links. Raises UserError if a link is outside its
    sentence.
    """
    return AlignmentScore.of(_agreements(translator, sources, references, gold, to=to).sum(axis=0).tolist())


def _agreements(
    translator: Translator,
    sources: Sequence[Text],
    references: Sequence[str],
    gold: Sequence[Gold],
    *,
    to: str | None = None,
) -> Counts:
    """What `alignment.agreements` counts for each sentence."""
    scored = translator.score(sources, references, to=to)
    for each, links in zip(scored, gold, strict=True):
        links.check(len(each.source_words), len(each.words))
    return alignment.agreements([each.alignment for each in scored], gold)


def example(found: Result, gold: Iterable[tuple[int, int]] | None = None) -> Example:
    """Return a translation as a report shows it. Gold links are those of the words of its only source."""
    translation = found.translation
    seen, confidence = translation.attention_matrix, translation.confidence
    first = int(0 in seen.shares)  # the column of the first word
    worded = [not source.regions for source in translation.sources]  # regions have no columns
    why = translation.explanation
    return Example(
        seen.columns,
        translation.words,
        found.reference,
        seen.attention,
        translation.score,
        None if gold is None else sorted((source + first, target) for source, target in gold if worded[0]),
        [(each.text, each.score) for each in (translation.n_best if translation.alternatives else ())],
        seen.shares,
        found.pair or "",
        texts=[(source.label.strip("[]"), source.text) for source in translation.sources],
        target_text=translation.text,
        alignment=[(source + first, target) for source, target in translation.alignment if worded[0]],
        maps=_maps(list(compress(why.sources, worded))) if why else {},
        confidence=confidence.words.tolist() if confidence else None,
        contrast=why.differences() if why else (),
        nearest=why.nearest if why else (),
        beam=why.beam if why else (),
    )


def _maps(sources: Sequence[SourceMaps]) -> dict[str, NDArray[np.float64]]:
    """The maps of an explanation (target words, source words), by name."""
    if not sources:
        return {}
    gradient, erasure = [each.gradient for each in sources], [each.erasure for each in sources]
    return {"gradient": np.concatenate(gradient, 1), "erasure": np.concatenate(erasure, 1)}

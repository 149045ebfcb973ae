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
from dragoman.evaluation.alignment import AlignmentQuality
from dragoman.evaluation.metrics.metric import Score, predicted
from dragoman.evaluation.metrics.table import METRICS
from dragoman.run.run import Run, metric_rows
from dragoman.search.table import SEARCHES
from dragoman.text.normalizer import composed
from dragoman.translation import result
from dragoman.translation.explanation.source_maps import SourceMaps
from dragoman.translation.result import Result
from dragoman.translation.source_inputs import Text
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator
from dragoman.visualization.sentences import ReportSentence

ALTERNATIVES = 5  # translations of a sentence in a report
EXPLAINED = 2_000  # translations at most: a report shows no more
NEAREST = 3  # training pairs beside an explanation

Counts: TypeAlias = NDArray[np.float64]  # of each sentence


class Sentences(NamedTuple):
    """Translated sentences: the translations, and what a report shows of each."""

    texts: list[str]
    examples: list[ReportSentence]

    @property
    def references(self) -> list[str]:
        """The references that are known; an empty line counts as one."""
        return [example.reference for example in self.examples if example.reference is not None]

    @property
    def with_references(self) -> "Sentences":
        """The sentences whose reference is known."""
        return self._select(example.reference is not None for example in self.examples)

    def of(self, pair: str) -> "Sentences":
        """Return the sentences of one language pair."""
        return self._select(example.pair == pair for example in self.examples)

    def _select(self, chosen: Iterable[bool]) -> "Sentences":
        numbers = [number for number, wanted in enumerate(chosen) if wanted]
        return Sentences([self.texts[n] for n in numbers], [self.examples[n] for n in numbers])


def scores(run: Run, sentences: Sentences, more: Iterable[Score] = ()) -> list[Score]:
    """Return the scores by the run's metrics of sentences whose reference is known, and `more`; the signatures name the
    references.
    """
    with_references = sentences.with_references
    measured: list[Score] = []
    for pair in dict.fromkeys(example.pair for example in with_references.examples):
        of_pair = with_references.of(pair)
        for spec in run.config.metrics:
            score = components.build(METRICS, spec).corpus(of_pair.texts, [of_pair.references])
            measured.append(score.of(pair).against(of_pair.references))
    return [*measured, *more]


def development(run: Run) -> tuple[Sentences, list[Score]]:
    """Return the development sentences as translated by the finished model, what they score without a model, and how
    well the model predicts their references.
    """
    try:
        results = list(result.read(run.folder.validation)) if run.folder.validation.is_file() else []
    except UserError as error:
        way = "remove the file, and train writes it again; or name --sentences"
        raise UserError(f"{error}; a report needs a validation by this version: {way}") from None
    sentences = Sentences([line.translation.text for line in results], list(map(example, results)))
    final = next((row for row in reversed(metric_rows(run)) if "final/perplexity" in row), None)
    if final is None:
        return sentences, []
    kept_baselines = baselines.from_json(run.folder.proof.get("baselines"))
    likely = prediction(run.target, final["final/perplexity"], final["final/accuracy"])
    return sentences, [
        *(kept_baselines.scores if kept_baselines else ()),
        *(score.against(sentences.references) for score in likely),
    ]


def prediction(language: Language, perplexity: float, accuracy: float) -> list[Score]:
    """Return the scores for the prediction of references in the symbols of a language."""
    vocabulary = language.vocabulary
    symbols = vocabulary.symbols(range(len(vocabulary)))
    return predicted(perplexity, accuracy, str(language.text.spec["tokenizer"]["kind"]), symbols)


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
    sources, references = (
        [source for source, _ in pairs],
        [reference for _, reference in pairs if reference is not None],
    )
    counts = _agreements(translator, sources, references, gold, to=to) if gold else None
    search = components.build(SEARCHES, translator.search)
    translations = translator.translate(sources, to=to, n_best=1 if search.draws else min(ALTERNATIVES, search.width))
    if explain:
        translations = _explained(translator, translations, [reference for _, reference in pairs])
    links = [alignment_links.possible for alignment_links in gold] if gold else [None] * len(pairs)
    examples = [
        example(Result(translation, reference), gold_links if _same(translation.text, reference) else None)
        for translation, (_, reference), gold_links in zip(translations, pairs, links, strict=True)
    ]
    return Sentences([translation.text for translation in translations], examples), counts


def _same(text: str, reference: str | None) -> bool:
    """Whether a translation is its reference, in NFC as scores compare them."""
    return reference is not None and composed(text) == composed(reference)


def _explained(
    translator: Translator, translations: Sequence[Translation], references: Sequence[str | None]
) -> list[Translation]:
    """The same translations, the first EXPLAINED each with its explanation unless it is empty."""
    first, rest = translations[:EXPLAINED], translations[EXPLAINED:]
    nonempty = [translation for translation in first if translation.text]
    instead = [
        reference if reference and not _same(translation.text, reference) else None
        for translation, reference in zip(first, references, strict=False)
        if translation.text
    ]
    try:
        explanations = iter(translator.explain(nonempty, instead, nearest=NEAREST))
    except UserError:  # a run may have been moved away from its training data
        explanations = iter(translator.explain(nonempty, instead))
    return [
        *(
            replace(translation, explanation=next(explanations)) if translation.text else translation
            for translation in first
        ),
        *rest,
    ]


def agreement(
    translator: Translator,
    sources: Sequence[Text],
    references: Sequence[str],
    gold: Sequence[Gold],
    *,
    to: str | None = None,
) -> AlignmentQuality:
    """Score the agreement of attention in forced decoding with gold links. Raises UserError if a link is outside its
    sentence.
    """
    return AlignmentQuality.of(_agreements(translator, sources, references, gold, to=to).sum(axis=0).tolist())


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
    for translation, links in zip(scored, gold, strict=True):
        links.check(len(translation.source_words), len(translation.words))
    return alignment.agreements([translation.alignment for translation in scored], gold)


def example(row: Result, gold: Iterable[tuple[int, int]] | None = None) -> ReportSentence:
    """Return a translation as a report shows it. Gold links are those of the words of its only source."""
    translation = row.translation
    seen, confidence = translation.attention_matrix, translation.confidence
    first = int(0 in seen.shares)  # the column of the first word
    worded = [not source.regions for source in translation.sources]  # regions have no columns
    why = translation.explanation
    return ReportSentence(
        seen.columns,
        translation.words,
        row.reference,
        seen.attention,
        translation.score,
        None if gold is None else sorted((source + first, target) for source, target in gold if worded[0]),
        [
            (alternative.text, alternative.score)
            for alternative in (translation.n_best if translation.alternatives else ())
        ],
        seen.shares,
        row.pair or "",
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
    gradient, erasure = [source.gradient for source in sources], [source.erasure for source in sources]
    return {"gradient": np.concatenate(gradient, 1), "erasure": np.concatenate(erasure, 1)}

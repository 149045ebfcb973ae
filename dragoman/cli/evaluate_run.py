"""Translations of a run for `dragoman evaluate`, and scores that only a run has."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dragoman.cli.evaluate_options import EvaluateOptions
from dragoman.cli.option_rules import is_given
from dragoman.cli.streams import tell
from dragoman.errors import UserError

if TYPE_CHECKING:
    from dragoman.cli.evaluate_scores import ScoredFile
    from dragoman.cli.sources import Sources
    from dragoman.evaluation.metrics.metric import Metric, Score
    from dragoman.evaluation.significance import ComparedScore
    from dragoman.translation.translator import Translator


class RunTranslations(NamedTuple):
    """Translations, further scores (none of parts), and the options that change them as the end of a signature."""

    text: "ScoredFile"
    references: "list[ScoredFile]"
    further: "list[ComparedScore | Score]"
    signature: str
    sources: "Sources"


def translated(options: EvaluateOptions, metrics: "Sequence[Metric]") -> RunTranslations:
    """Translate `--source` (a file, or NAME=FILE for each of several) by a run or an ensemble.

    Further scores: how well it predicts the reference, if there is only one; for a run with several languages, the
    share of translations in a language other than `--to`; with a shortlist, the scores of a search within it, and
    their coverage of the references.
    """
    from dragoman.cli import sources as files
    from dragoman.cli.evaluate_scores import check, named, read
    from dragoman.translation.loading import load

    runs = options.run or []
    load_runs = partial(
        load, runs, weights=options.weights, engine=options.engine, translation_memory=options.translation_memory
    )
    translator = load_runs()
    sources = files.whole(options.source or [], translator, options.beside())
    references = [read(path) for path in options.references]
    check(len(sources.lines), sources.path, references)
    narrowed = load_runs(shortlist=options.shortlist) if options.shortlist else None
    translations = _translated(translator, sources, options)
    further: list[ComparedScore | Score] = []
    if options.by:
        return RunTranslations(translations, references, [], _signature(options), sources)
    if len(references) == 1:  # comparable only between runs with the same symbols
        further += _prediction(translator, sources, references[0], options)
    if translator.marks:
        wrong = _wrong_language(runs[0], translations, references, options.to or translator.targets[0])
        further += named(wrong, _signature(options))
    if narrowed:
        further += _with_shortlist(narrowed, sources, references, options, metrics)
    return RunTranslations(translations, references, further, _signature(options), sources)


def _translated(translator: "Translator", sources: "Sources", options: EvaluateOptions) -> "ScoredFile":
    from dragoman.cli.evaluate_scores import ScoredFile
    from dragoman.cli.sources import search_of

    search = search_of(translator, options.search, options.beam)
    translations = translator.translate(
        sources.lines, to=options.to, beam_size=options.beam, search=search, exact=options.exact, details=False
    )
    return ScoredFile(sources.path, [translation.text for translation in translations])


def _signature(options: EvaluateOptions) -> str:
    """Return the options that change translations, as the end of a score's signature."""
    from dragoman.cli.evaluate_scores import part

    names = ("search", "beam", "engine", "weights", "translation_memory", "exact")
    chosen = {name: getattr(options, name) for name in names if is_given(options, f"--{name.replace('_', '-')}")}
    return "".join(part(name, value) for name, value in chosen.items())


def _prediction(
    translator: "Translator", sources: "Sources", reference: "ScoredFile", options: EvaluateOptions
) -> "Sequence[ComparedScore | Score]":
    """Return scores for how well the model predicts the reference, with intervals if requested."""
    from dragoman import inspection
    from dragoman.evaluation.significance import compare_or_score
    from dragoman.training.validation import Likelihood, PredictionMeasure, count_likelihoods

    counts = count_likelihoods(translator.scorer, translator.pairs(sources.lines, reference.lines, to=options.to))
    likely = Likelihood.of(counts.sum(axis=0).tolist())
    scores = inspection.prediction(translator.target, likely.perplexity, likely.accuracy)
    if not options.confidence:
        return scores
    return [
        interval
        for score in scores
        for interval in compare_or_score(
            PredictionMeasure(score), [counts], 1, samples=options.samples, seed=options.seed
        )
    ]


def _wrong_language(
    run: Path, translations: "ScoredFile", references: "Sequence[ScoredFile]", wanted: str
) -> "list[Score]":
    """Return the share of lines in a wrong language, as far as the languages of the run can be distinguished."""
    from dragoman.evaluation.languages import wrong_language
    from dragoman.run.run import Run

    pairs = Run.load(run).config.data.language_pairs
    among = [name for pair in pairs for name in (*pair.sources, pair.target)]
    try:
        return [wrong_language(translations.lines, [lines for _, lines in references], wanted, among)]
    except UserError as error:
        tell(f"wrong language: not measured, {error}")
        return []


def _with_shortlist(
    translator: "Translator",
    sources: "Sources",
    references: "Sequence[ScoredFile]",
    options: EvaluateOptions,
    metrics: "Sequence[Metric]",
) -> "list[Score]":
    """Return the scores with candidates, and the percentage of the references' symbols that are among these."""
    from dragoman.cli.evaluate_scores import named, part
    from dragoman.cli.evaluate_scores import scores as measured
    from dragoman.evaluation.metrics.metric import Score

    assert translator.generator.shortlist is not None
    batches = (batch for _, lines in references for batch in translator.pairs(sources.lines, lines, to=options.to))
    coverage = translator.generator.shortlist.coverage(batches)
    percentage = 100 * coverage.covered / max(1, coverage.symbols)
    mean = f"{coverage.candidates / max(1, coverage.sentences):.0f}"
    signature = f"symbols:{coverage.symbols}|mean:{mean}|of:{translator.generator.shortlist.symbols}"
    scores = [
        *measured(_translated(translator, sources, options), references, metrics),
        Score("Covered", percentage, signature),
    ]
    return named(scores, _signature(options) + part("shortlist", translator.generator.shortlist.name))

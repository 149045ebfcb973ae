"""From input lines to output lines for `dragoman translate`: whole lines, or words while a line arrives."""

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from dragoman.cli.option_rules import transforms
from dragoman.cli.resuming import left_behind
from dragoman.cli.streams import Portion, numbered, one_line, output, tell, warn
from dragoman.cli.translate_options import TranslateOptions
from dragoman.corpus.pharaoh import pharaoh
from dragoman.errors import UserError
from dragoman.evaluation.latency import average_lagging
from dragoman.files.reading import read_words, shown

if TYPE_CHECKING:
    from dragoman.configuration.components import Spec
    from dragoman.corpus.features import Given
    from dragoman.translation.reranking.minimum_bayes_risk import MinimumBayesRisk
    from dragoman.translation.reranking.reranker import Reranker
    from dragoman.translation.sentence import TextTransform
    from dragoman.translation.transforms.terms import LexicalConstraints
    from dragoman.translation.translation import Translation
    from dragoman.translation.translator import Translator


class Pipeline(NamedTuple):
    """How all lines are translated: by which translator and search, what translations have to contain, and what chooses
    among several.
    """

    translator: "Translator"
    search: "Spec"
    constraints: "LexicalConstraints"
    risk: "MinimumBayesRisk | None"
    reranker: "Reranker | None"
    transforms: "Sequence[TextTransform]"
    details: bool  # whether more is written than texts and scores


def load_pipeline(options: TranslateOptions, *, whole: bool = False) -> Pipeline:
    """Load what the options name. In a `whole` document, some spans are protected unless others are named. UserError
    if a run does not support an option.
    """
    from dragoman.cli import sources
    from dragoman.translation.loading import load
    from dragoman.translation.transforms.unknown_words import UnknownWords

    runs = options.runs
    constraints, risk = _constraints(options, runs, whole=whole), _risk(options)
    details = whole or options.detailed
    further = transforms(options)
    translator = load(
        runs,
        weights=options.weights,
        engine=options.engine,
        shortlist=options.shortlist,
        translation_memory=options.translation_memory,
        dictionary=options.dictionary or (),
        replace_unk=options.replace_unk,
    )
    if options.min_confidence is not None and not translator.is_calibrated:
        raise UserError(
            f"--min-confidence: {runs[0]} was calibrated with other weights; run `dragoman calibrate` again"
        )
    unknown_words = translator.processor.transform(UnknownWords)
    if options.pivot and unknown_words and unknown_words.dictionaries:
        raise UserError("--pivot: cannot be combined with --dictionary, which translates directly")
    if options.pivot and not translator.marks:
        raise UserError("--pivot: requires a multilingual run (data.pairs)")
    search = sources.search_of(translator, options.search, options.beam)
    return Pipeline(translator, search, constraints, risk, _reranker(options, translator), further, details)


def _constraints(options: TranslateOptions, runs: Sequence[Path], *, whole: bool) -> "LexicalConstraints":
    """Return the terms and the protected spans that translations have to contain. In a `whole` document, some spans are
    protected unless others are named.
    """
    from dragoman.cli.sources import languages
    from dragoman.corpus import glossary_file
    from dragoman.documents.document_segment import WITHIN
    from dragoman.text.glossary import together
    from dragoman.text.protection import Protection
    from dragoman.translation.transforms.terms import LexicalConstraints

    names = languages(runs) if options.glossary else ()
    terms = [*map(glossary_file.read_kept, options.do_not_translate or ())]
    terms += [glossary_file.read(path, names) for path in options.glossary or ()]
    if "whitespace" in (options.protect or ()) and not whole:
        raise UserError("--protect whitespace: requires a run trained with it (text.protect)")
    try:
        protection = Protection.named(options.protect or (WITHIN if whole else ()))
    except UserError as error:
        raise UserError(f"--protect: {error}") from None
    return LexicalConstraints(together(terms), options.glossary_weight or None, protection)


def _risk(options: TranslateOptions) -> "MinimumBayesRisk | None":
    """Return what `--mbr` asks for."""
    if options.mbr is None:
        return None
    from dragoman.configuration import components
    from dragoman.evaluation.metrics.table import METRICS
    from dragoman.translation.reranking.minimum_bayes_risk import MinimumBayesRisk

    metric = components.build(METRICS, components.read(METRICS, options.mbr))
    return MinimumBayesRisk(metric, options.samples)


def _reranker(options: TranslateOptions, translator: "Translator") -> "Reranker | None":
    """Return what `--rerank` asks for."""
    if options.rerank is None:
        return None
    from dragoman.translation.reranking.nbest_lists import Lists
    from dragoman.translation.tuning import Weighted

    lists = Lists(options.criteria) if options.criteria else None
    return Weighted.read(options.rerank).reranker(translator, options.to, lists)


def translated(
    pipeline: Pipeline,
    portion: "Portion[tuple[Given, ...]]",
    source: Path,
    options: TranslateOptions,
    *,
    whole: bool = False,
) -> "list[Translation]":
    """Return the translations of some lines. Messages tell their numbers, or of a `whole` document their texts."""
    from dragoman.translation.attention_matrix import SHORT

    rerank = pipeline.reranker and pipeline.reranker._replace(first_number=portion.first - 1)
    translate = partial(pipeline.translator.translate, beam_size=options.beam, transforms=pipeline.transforms)
    inputs = [line[:-1] for line in portion.lines] if options.prefix else portion.lines
    prefix = [str(line[-1]) for line in portion.lines] if options.prefix else None
    places = list(islice(numbered(source, portion.first), len(portion.lines)))
    if whole:
        places = [f"{shown(source)}: {SHORT.repr(str(line[0]))}" for line in portion.lines]
    if options.pivot:
        # There are no terms, only spans that are protected in both translations.
        between = translate(
            inputs, to=options.pivot, search=pipeline.search, constraints=pipeline.constraints, details=False
        )
        warn(places, (translation.left_out for translation in between))
        inputs = [(translation.text,) for translation in between]
    translations = translate(
        inputs,
        to=options.to,
        n_best=options.n_best or 1,
        search=None if (pipeline.risk or rerank) and options.search is None else pipeline.search,
        prefix=prefix,
        exact=options.exact,
        constraints=pipeline.constraints,
        risk=pipeline.risk,
        rerank=rerank,
        details=pipeline.details or bool(pipeline.risk or rerank),
    )
    warn(places, (translation.left_out for translation in translations))
    if options.min_confidence is not None:
        translations = [result.trusted(options.min_confidence) for result in translations]
    for place, translation in zip(places, translations, strict=True):
        if translation.withheld is not None and (confidence := translation.confidence):
            tell(f"{place}: left empty, its confidence is {confidence.sentence:.3f}")
        elif translation.withheld is not None and translation.doubt:
            tell(f"{place}: left empty, {translation.doubt}")
        missing = [span.text for span in translation.spans if span.target is None]
        if options.glossary_weight is None:
            missing += [term.text for term in translation.terms if term.target is None]
        if translation.proved is False:
            tell(f"{place}: not proven to be the most probable translation within the step limit of the search")
        if missing:
            tell(f"{place}: not in the translation: {', '.join(missing)}")
    return translations


def written(number: int, translation: "Translation", options: TranslateOptions) -> Iterator[str]:
    """Yield the output lines: the text, followed by alignments if asked for; an n-best list in the format of Moses,
    with line numbers from 0; or one JSON object, which has everything.
    """
    if options.json:
        from dragoman.translation.result import Result

        yield Result(translation).line()
        return
    if options.n_best is None:
        fields = [one_line(translation.text), *_alignment(translation, options)]
        yield " ||| ".join(fields)
    for hypothesis in translation.n_best if options.n_best else ():
        fields = [str(number), one_line(hypothesis.text), *_alignment(hypothesis, options)]
        figures = {"F0": hypothesis.log_prob, **hypothesis.criteria}
        criteria = " ".join(f"{name}= {value:.4f}" for name, value in figures.items())
        yield " ||| ".join([*fields, criteria, f"{hypothesis.score:.4f}"])


def _alignment(translation: "Translation", options: TranslateOptions) -> list[str]:
    """Return the links to each source; none to words that were withheld."""
    if not options.alignments:
        return []
    return ["" if translation.withheld is not None else pharaoh(source.alignment) for source in translation.sources]


def follow(
    translator: "Translator", source: Path, target: Path | None, done: int | None, *, wait: int | None, to: str | None
) -> None:
    """Write each word as soon as it is decided, while the lines arrive, and report the lag of the words."""
    lagging = []
    with left_behind(target, resumable=False), output(target, done) as texts:
        pieces = read_words(source)
        for number, piece in enumerate(pieces, start=1):
            arrived: list[str] = []
            line = _words_of_line(chain([piece], pieces), arrived)
            read: list[int] = []
            for word in translator.simultaneous(line, to=to, wait=wait):
                texts.say(" " * bool(read) + one_line(word.text))
                read.append(word.read)
            texts.say("\n")
            deque(line, maxlen=0)  # a translation may end before its source
            warn(numbered(source, number), [translator.left_out(" ".join(arrived))])
            if read:
                lagging.append(
                    [average_lagging(read, len(arrived), corrected=correction) for correction in (True, False)]
                )
    if lagging:
        corrected, plain = (sum(lags) / len(lagging) for lags in zip(*lagging, strict=True))
        typer.echo(f"average lagging {corrected:.2f} words ({plain:.2f} without correction for lengths)", err=True)


def _words_of_line(pieces: Iterator[str], arrived: list[str]) -> Iterator[str]:
    """Yield the words of a line, and note them as they come."""
    for word in pieces:
        if word == "\n":
            return
        arrived.append(word)
        yield word

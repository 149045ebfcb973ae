"""`dragoman translate`: one line out for each line in."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from dragoman.cli.options import command, two
from dragoman.cli.resuming import done_before, kept, left_behind, noting
from dragoman.cli.streams import PORTION, Output, Portion, is_typed, one_line, output, portions, tell, warn
from dragoman.cli.translate_options import (
    Options,
    check,
    check_document,
    check_following,
    output_options,
    split,
)
from dragoman.corpus.pharaoh import pharaoh
from dragoman.errors import UserError
from dragoman.files import shown

if TYPE_CHECKING:
    from dragoman.configuration.components import Spec
    from dragoman.corpus.features import Given
    from dragoman.translation.demands import Asked
    from dragoman.translation.reranking import Reranker
    from dragoman.translation.risk import MinimumBayesRisk
    from dragoman.translation.translation import Translation
    from dragoman.translation.translator import Translator

app = typer.Typer()


class Way(NamedTuple):
    """How all lines are translated: the search, what translations have to contain, and what chooses among several."""

    search: "Spec"
    demanded: "Asked"
    risk: "MinimumBayesRisk | None"
    reranker: "Reranker | None"


@command(app)
def translate(options: Options) -> None:
    """Translate lines with a run, or with an ensemble of several: one line out for each line in."""
    candidates = two(options.candidates)
    from dragoman.cli import documents, sources
    from dragoman.translation.loading import load

    runs, source = split(options.words)
    fills = documents.is_document(source)
    if fills:
        check_document(options, source)
    memory = sources.memory_files(options.memory, runs)
    check(options, runs, source, memory)
    asked = output_options(options, runs, candidates, memory)
    size = 1 if is_typed(source) else options.batch_lines or PORTION
    done = kept(options.output, asked if options.resumable else None, size, resume=options.resume)
    if options.follows:
        from dragoman.cli.following import follow

        check_following(options, runs)
        translator = load(
            runs, weights=options.weights, dictionary=options.dictionary or (), replace_unk=options.replace_unk
        )
        follow(translator, source, options.output, done, wait=options.wait, to=options.to)
        return
    demanded, risk = _demanded(options, whole=fills), _risk(options)
    translator = load(
        runs,
        weights=options.weights,
        engine=options.engine.value,
        candidates=candidates,
        memory=options.memory,
        dictionary=options.dictionary or (),
        replace_unk=options.replace_unk,
    )
    if options.min_confidence is not None and translator.codec.temperature is None:
        raise UserError(f"--min-confidence: {runs[0]} was calibrated with other weights; `dragoman calibrate` it again")
    if options.via and translator.codec.unknown and translator.codec.unknown.dictionaries:
        raise UserError("--via: a dictionary has words of two languages, and a third stands between; leave out one")
    if options.via and not translator.marks:
        raise UserError("--via: goes by way of another language, and this run has no others (data.pairs)")
    search = sources.search_of(translator, options.search, options.beam)
    way = Way(search, demanded, risk, _reranker(options, translator))
    if fills:
        from dragoman.documents.spans import WITHIN
        from dragoman.text.protection import Protection

        named = Path(f"{source} (texts to translate)")  # in warnings, before the number of one
        translate = partial(_translated, translator, source=named, options=options, way=way)
        protection = Protection.named(options.protect or WITHIN)
        documents.fill(source, options.output, translator, options.to, translate, protection)
        return
    _translate(translator, source, options, done, asked, way)


def _demanded(options: Options, *, whole: bool) -> "Asked":
    """Return the terms and the protected spans that translations have to contain. From a `whole` document, spans are
    taken out before it is translated.
    """
    from dragoman.text import glossary
    from dragoman.text.protection import Protection
    from dragoman.translation.demands import Asked

    terms = [*map(glossary.read, options.glossary or ()), *map(glossary.read_kept, options.keep or ())]
    protection = None if whole else Protection.named(options.protect or ())
    return Asked(glossary.together(terms), options.glossary_weight or None, protection)


def _risk(options: Options) -> "MinimumBayesRisk | None":
    """Return what `--mbr` asks for."""
    if options.mbr is None:
        return None
    from dragoman.configuration import components
    from dragoman.evaluation.metrics.table import METRICS
    from dragoman.translation.risk import MinimumBayesRisk

    metric = components.build(METRICS, components.read(METRICS, options.mbr))
    return MinimumBayesRisk(metric, options.samples)


def _reranker(options: Options, translator: "Translator") -> "Reranker | None":
    """Return what `--rerank` asks for."""
    if options.rerank is None:
        return None
    from dragoman.translation.nbest import Lists
    from dragoman.translation.tuning import Weighted

    lists = Lists(options.criteria) if options.criteria else None
    return Weighted.read(options.rerank).reranker(translator, options.to, lists)


def _translate(
    translator: "Translator",
    source: Path,
    options: Options,
    done: int | None,
    asked: Mapping[str, Any],
    way: Way,
) -> None:
    """Translate line by line, after the lines that are done."""
    from dragoman.cli import sources
    from dragoman.cli.progress import progress

    target, counts = options.output, Counter[str]()
    with ExitStack() as stack:
        noted = stack.enter_context(noting(target, done if options.resumable else None, asked))
        texts = stack.enter_context(output(target, done))
        source, lines = sources.read(source, options.source or (), options.prefix, translator)
        if target and done:
            deque(done_before(lines, done, source, target), maxlen=0)
        stack.enter_context(left_behind(target, resumable=options.resumable))
        advance = stack.enter_context(progress(source, target, done or 0))
        for portion in portions(lines, options.batch_lines or PORTION, typed=is_typed(source), done=done or 0):
            found = _translated(translator, portion, source, options, way)
            noted(portion.lines)
            for number, translation in enumerate(found, start=portion.first - 1):
                _write(texts, number, translation, options)
                counts["similar" if any(each.match for each in translation.sources) else "new"] += 1
                counts["withheld"] += translation.withheld is not None
            advance(len(found))
    lines_done = counts["similar"] + counts["new"]
    if options.memory:
        tell(f"{options.memory}: has a similar sentence to {counts['similar']:,} of {lines_done:,} lines")
    if options.min_confidence is not None:
        least = f"confidence is below {options.min_confidence:g}"
        tell(f"{shown(source)}: {counts['withheld']:,} of {lines_done:,} lines were left empty, whose {least}")


def _translated(
    translator: "Translator",
    portion: "Portion[tuple[Given, ...]]",
    source: Path,
    options: Options,
    way: Way,
) -> "list[Translation]":
    """Return the translations of some lines."""
    rerank = way.reranker and way.reranker._replace(first=portion.first - 1)
    translated = partial(translator.translate, beam_size=options.beam)
    given = [line[:-1] for line in portion.lines] if options.prefix else portion.lines
    prefix = [str(line[-1]) for line in portion.lines] if options.prefix else None
    if options.via:
        between = translated(given, to=options.via, search=way.search)
        warn(source, portion.first, (translation.left_out for translation in between))
        given = [(translation.text,) for translation in between]
    found = translated(
        given,
        to=options.to,
        n_best=options.n_best or 1,
        search=None if (way.risk or rerank) and options.search is None else way.search,
        prefix=prefix,
        exact=options.exact,
        asked=way.demanded,
        risk=way.risk,
        rerank=rerank,
    )
    warn(source, portion.first, (translation.left_out for translation in found))
    if options.min_confidence is not None:
        found = [each.trusted(options.min_confidence) for each in found]
    for number, translation in enumerate(found, start=portion.first):
        if translation.withheld is not None and (confidence := translation.confidence):
            tell(f"{shown(source)}:{number}: left empty, its confidence is {confidence.sentence:.3f}")
        missing = [each.text for each in translation.spans if each.target is None]
        if options.glossary_weight is None:
            missing += [each.text for each in translation.terms if each.target is None]
        if translation.proved is False:
            tell(f"{shown(source)}:{number}: not proved to be the most probable within the steps of the search")
        if missing:
            tell(f"{shown(source)}:{number}: not in the translation: {', '.join(missing)}")
    return found


def _write(texts: Output, number: int, translation: "Translation", options: Options) -> None:
    texts.write(_lines(number, translation, options))
    if options.show:
        from rich.console import Console

        from dragoman.visualisation import heatmap

        seen = translation.attention_matrix
        grid = heatmap.terminal(seen.attention, seen.columns, translation.words)
        Console(stderr=True).print(grid)


def _lines(number: int, translation: "Translation", options: Options) -> Iterator[str]:
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
    for found in translation.n_best if options.n_best else ():
        fields = [str(number), one_line(found.text), *_alignment(found, options)]
        figures = {"F0": found.log_prob, **found.criteria}
        told = " ".join(f"{name}= {value:.4f}" for name, value in figures.items())
        yield " ||| ".join([*fields, told, f"{found.score:.4f}"])


def _alignment(translation: "Translation", options: Options) -> list[str]:
    """Return the links to each source; none to words that were withheld."""
    if not options.alignments:
        return []
    return ["" if translation.withheld is not None else pharaoh(source.alignment) for source in translation.sources]

"""`dragoman translate`: one line out for each line in."""

import os
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.cli import outputs
from dragoman.cli.option_rules import digests, record
from dragoman.cli.options import command
from dragoman.cli.resuming import done_before, left_behind, lines_done, noting
from dragoman.cli.streams import PORTION, OutputStream, is_typed, is_watched, output, portions, tell
from dragoman.cli.translate_options import TranslateOptions, dictionary_files
from dragoman.cli.translating import Pipeline, follow, load_pipeline, translated, written
from dragoman.errors import UserError
from dragoman.files.reading import shown
from dragoman.files.writing import all_written, is_special
from dragoman.run.folder import RunFolder

if TYPE_CHECKING:
    from dragoman.translation.translation import Translation


@command(epilog="Example: dragoman translate runs/en-de test.en -o test.de --beam 5")
def translate(options: TranslateOptions) -> None:
    """Translate text or documents with a run or an ensemble of runs.

    Writes one line per input line.
    """
    from dragoman.cli import sources, translate_documents

    runs, source = options.runs, options.file
    fills = translate_documents.is_document(source, runs)
    memory = sources.memory_files(options.translation_memory, runs)
    check(options, memory)
    settings = output_options(options, memory)
    if options.shards is not None:
        from dragoman.cli.shards import in_shards

        in_shards(options, source, options.shards, settings)
        return
    size = 1 if is_typed(source) else options.batch_lines or PORTION
    done = lines_done(options.output, settings if options.resumable else None, size, resume=options.resume)
    if options.follows:
        from dragoman.translation.loading import load

        translator = load(
            runs, weights=options.weights, dictionary=options.dictionary or (), replace_unk=options.replace_unk
        )
        follow(translator, source, options.output, done, wait=options.wait, to=options.to)
        return
    pipeline = load_pipeline(options, whole=fills)
    if fills:
        translate = partial(translated, pipeline, source=source, options=options, whole=True)
        translate_documents.fill(
            source, options.output, pipeline.translator, options.to, translate, exact=options.exact
        )
        return
    _translate(pipeline, source, options, done, settings)


def _translate(
    pipeline: Pipeline, source: Path, options: TranslateOptions, done: int | None, settings: Mapping[str, Any]
) -> None:
    """Translate line by line, after the lines that are done."""
    from dragoman.cli import sources
    from dragoman.cli.progress_bar import progress

    target, counts = options.output, Counter[str]()
    with ExitStack() as stack:
        resumable = target is not None and options.resumable
        note_lines = stack.enter_context(noting(target, done, settings)) if resumable else None
        texts = stack.enter_context(output(target, done))
        source, lines = sources.read(source, options.source or (), options.prefix, pipeline.translator)
        if target and done:
            deque(done_before(lines, done, source, target), maxlen=0)
        if target:
            stack.enter_context(left_behind(target, resumable=resumable))
        advance = stack.enter_context(progress(source, target, done or 0)) if is_watched(source, target) else None
        for portion in portions(lines, options.batch_lines or PORTION, typed=is_typed(source), done=done or 0):
            translations = translated(pipeline, portion, source, options)
            if note_lines:
                note_lines(portion.lines)
            for number, translation in enumerate(translations, start=portion.first - 1):
                _write(texts, number, translation, options)
                counts["similar" if any(source_text.match for source_text in translation.sources) else "new"] += 1
                counts["withheld"] += translation.withheld is not None
            if advance:
                advance(len(translations))
    lines_done = counts["similar"] + counts["new"]
    if options.translation_memory:
        tell(f"{options.translation_memory}: has a similar sentence to {counts['similar']:,} of {lines_done:,} lines")
    if options.min_confidence is not None:
        least = f"confidence is below {options.min_confidence:g}"
        tell(f"{shown(source)}: {counts['withheld']:,} of {lines_done:,} lines were left empty: {least}")


def _write(texts: OutputStream, number: int, translation: "Translation", options: TranslateOptions) -> None:
    texts.write(written(number, translation, options))
    if options.show:
        from rich.console import Console

        from dragoman.visualization import heatmap

        seen = translation.attention_matrix
        grid = heatmap.terminal(seen.attention, seen.columns, translation.words)
        Console(stderr=True).print(grid)


def check(options: TranslateOptions, memory: Sequence[Path]) -> None:
    """Raise UserError for files that would get in each other's way, and for runs without what an option needs."""
    read = [*options.line_files, *memory, *dictionary_files(options.dictionary)]
    read += [
        *filter(None, [options.rerank, options.criteria]),
        *(options.glossary or ()),
        *(options.do_not_translate or ()),
    ]
    read += [RunFolder(run).weights(options.weights) for run in options.runs if options.weights]
    outputs.check([("--output", path) for path in all_written(options.output)], read, options.runs)
    if options.glossary_weight == 0:
        raise UserError("--glossary-weight: expected more than 0; omit it to require the terms")
    if options.min_confidence is not None and not RunFolder(run := options.runs[0]).calibration.is_file():
        raise UserError(
            f"--min-confidence: {run} is not calibrated; run `dragoman calibrate {run} --source FILE "
            "--reference FILE` first"
        )
    files = [*options.line_files, options.output]
    if options.shards and any(path is None or str(path) == "-" or is_special(path) for path in files):
        raise UserError("--shards: requires an input FILE and an output file (-o)")


def output_options(options: TranslateOptions, memory: Sequence[Path]) -> Mapping[str, Any]:
    """Return what the output depends on."""
    runs = options.runs
    calibrations = [RunFolder(run).calibration for run in runs if run.is_dir() and len(runs) == 1]
    return {
        "command": "translate",
        "RUN": [os.path.realpath(run) for run in runs],
        "calibration": digests(calibrations),
        "--translation-memory": digests(memory),
        **record(options),
    }

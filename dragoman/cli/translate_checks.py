"""What `dragoman translate` checks of its files, and what `--resume` compares, beside the rules of single options."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.cli import outputs
from dragoman.cli.option_rules import digests, record
from dragoman.cli.translate_options import Options, dictionary_files
from dragoman.errors import UserError
from dragoman.files.writing import all_written, is_special
from dragoman.run.folder import RunFolder


def check(options: Options, memory: Sequence[Path]) -> None:
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
        raise UserError("--glossary-weight: expected more than 0; without it, terms are required")
    if options.min_confidence is not None and not RunFolder(run := options.runs[0]).calibration.is_file():
        raise UserError(
            f"--min-confidence: {run} is not calibrated; `dragoman calibrate {run} --source FILE --reference FILE` "
            "does it"
        )
    files = [*options.line_files, options.output]
    if options.shards and any(path is None or str(path) == "-" or is_special(path) for path in files):
        raise UserError("--shards: takes lines from files and writes a file; name them, FILE and -o")


def output_options(options: Options, memory: Sequence[Path]) -> Mapping[str, Any]:
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

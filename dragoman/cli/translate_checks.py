"""Which options of `dragoman translate` do not go together, and those that its output depends on."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman.cli import outputs
from dragoman.cli.options import Engines
from dragoman.cli.translate_options import Options
from dragoman.errors import UserError
from dragoman.files.writing import all_written, is_special


def check(options: Options, runs: Sequence[Path], source: Path, memory: Sequence[Path]) -> None:
    """Raises UserError if files or options do not go together."""
    from dragoman.run.folder import RunFolder

    written = [("--output", path) for path in all_written(options.output)]
    read = [source, *(Path(each.partition("=")[2]) for each in options.source or ()), *memory]
    read += [options.prefix] if options.prefix else []
    read += [path for path in (options.rerank, options.criteria) if path]
    read += _dictionaries(options)
    read += [*(options.glossary or ()), *(options.keep or ())]
    read += [RunFolder(run).weights(options.weights) for run in runs if options.weights]
    outputs.check(written, read, runs)
    if options.via and (options.alignments or options.json or options.show):
        raise UserError("--via: what a model looked at is the translation in between; leave out one")
    if options.dictionary and options.replace_unk is False:
        raise UserError(
            "--dictionary: is for what takes the place of <unk>, and --no-replace-unk leaves it; leave out one"
        )
    if options.via and (options.glossary or options.keep):
        raise UserError("--via: terms would have to be those of the translation in between; leave out one")
    if options.glossary_weight is not None and not (options.glossary or options.keep):
        raise UserError("--glossary-weight: there are no terms (--glossary, --keep)")
    if options.glossary_weight == 0:
        raise UserError("--glossary-weight: expected more than 0; without it, terms are required")
    _check_ranking(options)
    if options.min_confidence is not None:
        _check_confidence(options, runs)
    if options.alignments and options.json:
        raise UserError("--alignments: the objects of --json have them; leave out one")
    if options.resume and not options.resumable:
        raise UserError(
            "--resume: continues translations of whole lines, without --wait and --incremental, and --n-best as --json"
        )


def _check_ranking(options: Options) -> None:
    """Raises UserError for options that choose among translations in different ways."""
    if options.samples and not options.mbr:
        raise UserError("--samples: is for --mbr; --search sample --n-best N writes samples")
    if options.rerank and options.mbr:
        raise UserError("--rerank: --mbr says in another way which translation is best; leave out one")
    if options.rerank and options.via:
        raise UserError("--rerank: was tuned on translations of what was given, and not of what --via is between")
    if options.criteria and not options.rerank:
        raise UserError("--criteria: is for --rerank")


def _check_confidence(options: Options, runs: Sequence[Path]) -> None:
    """Raises UserError if there is no confidence, or no line that could be left empty for the want of it."""
    from dragoman.run.folder import RunFolder

    if options.n_best and not options.json:
        raise UserError(
            "--min-confidence: leaves single lines empty, and --n-best has several; leave one out, or use --json"
        )
    if len(runs) > 1:
        raise UserError("--min-confidence: a run is calibrated alone, and these translate together; name one run")
    if not RunFolder(runs[0]).calibration.is_file():
        raise UserError(
            f"--min-confidence: {runs[0]} is not calibrated; "
            f"`dragoman calibrate {runs[0]} --source FILE --reference FILE` does it"
        )


def _dictionaries(options: Options) -> list[Path]:
    """Return the files of `--dictionary`, which may be named `SOURCE=FILE`."""
    every = options.dictionary or ()
    return [Path(each if Path(each).exists() else each[each.find("=") + 1 :]) for each in every]


def check_following(options: Options, runs: Sequence[Path]) -> None:
    """Raises UserError for options that cannot be used while lines arrive."""
    way = "--incremental" if options.wait is None else "--wait"
    refused = {
        "--incremental": options.incremental and options.wait is not None,
        "--beam": options.beam,
        "--search": options.search not in (None, "greedy"),
        "--n-best": options.n_best,
        "--mbr": options.mbr,
        "--rerank": options.rerank,
        "--min-confidence": options.min_confidence,
        "--alignments": options.alignments,
        "--json": options.json,
        "--show": options.show,
        "--engine": options.engine != Engines.torch,
        "--candidates": options.candidates,
        "--batch-lines": options.batch_lines,
        "--source": options.source,
        "--via": options.via,
        "--prefix": options.prefix,
        "--memory": options.memory,
        "--exact": options.exact,
        "--glossary": options.glossary,
        "--keep": options.keep,
        "--protect": options.protect,
        "several RUNs": len(runs) > 1,
    }
    for option, given in refused.items():
        if given:
            raise UserError(f"{option}: {way} writes word by word, by greedy search with engine torch; leave out one")


def check_shards(options: Options, source: Path) -> None:
    """Raises UserError for options that do not go together with --shards."""
    if options.shards is None:
        if options.workers is not None:
            raise UserError("--workers: is for --shards")
        return
    read = [source, *(Path(each.partition("=")[2]) for each in options.source or ())]
    read += [options.prefix] if options.prefix else []
    read = read[1:] if options.source and str(source) == "-" else read
    if options.output is None or any(str(path) == "-" or is_special(path) for path in (*read, options.output)):
        raise UserError("--shards: takes lines from files and writes a file; name them, FILE and -o")
    if options.resume:
        raise UserError("--resume: the same command with --shards goes on with the shards that are done; leave it out")
    for option, given in {"--show": options.show, "--wait": options.wait, "--incremental": options.incremental}.items():
        if given:
            raise UserError(f"{option}: is for lines that are read one after the other; leave out --shards")


def check_document(options: Options, source: Path) -> None:
    """Raises UserError for options that are about lines."""
    refused = {
        "--resume": options.resume,
        "--n-best": options.n_best,
        "--alignments": options.alignments,
        "--json": options.json,
        "--show": options.show,
        "--source": options.source,
        "--prefix": options.prefix,
        "--batch-lines": options.batch_lines,
        "--wait": options.wait,
        "--incremental": options.incremental,
        "--shards": options.shards,
    }
    for option, given in refused.items():
        if given:
            raise UserError(f"{option}: is about lines of text, and {source} is a document; leave it out")


def output_options(
    options: Options, runs: Sequence[Path], candidates: tuple[int, int] | None, memory: Sequence[Path]
) -> Mapping[str, Any]:
    """Return the options that the output depends on."""
    from dragoman.cli.sources import digests
    from dragoman.run.folder import RunFolder

    return {
        "command": "translate",
        "RUN": [os.path.realpath(run) for run in runs],
        "--weights": options.weights,
        "--engine": options.engine,
        "--candidates": candidates,
        "--search": options.search,
        "--beam": options.beam,
        "--n-best": options.n_best,
        "--mbr": options.mbr,
        "--samples": options.samples,
        "--rerank": digests([options.rerank] if options.rerank else []),
        "--criteria": digests([options.criteria] if options.criteria else []),
        "--min-confidence": options.min_confidence,
        "calibration": digests([RunFolder(run).calibration for run in runs if run.is_dir()]) if len(runs) == 1 else [],
        "--alignments": options.alignments,
        "--json": options.json,
        "--batch-lines": options.batch_lines,
        "--source": [each.partition("=")[0] for each in options.source or ()],
        "--to": options.to,
        "--via": options.via,
        "--prefix": bool(options.prefix),
        "--memory": digests(memory),
        "--exact": options.exact,
        "--dictionary": digests(_dictionaries(options)),
        "--replace-unk": options.replace_unk,
        "--glossary": digests(options.glossary or ()),
        "--glossary-weight": options.glossary_weight,
        "--keep": digests(options.keep or ()),
        "--protect": options.protect,
    }

"""`dragoman distil`: a smaller model learns from what larger ones make of its training text."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.option_rules import digests
from dragoman.cli.options import OVERRIDES, Beam, Engine, Threads, app, files_and_overrides
from dragoman.cli.resuming import noted_folder
from dragoman.cli.streams import one_line, tell
from dragoman.errors import UserError
from dragoman.files.writing import partial, write_atomically
from dragoman.run.folder import RunFolder, data_folder

if TYPE_CHECKING:
    from dragoman.configuration.data import DataConfig

PAIRS = "train"  # in the folder beside the run: what the teachers make of the training text


@app.command(context_settings=OVERRIDES, epilog="Example: dragoman distil runs/large small.yaml")
def distil(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN... CONFIG",
            help="Folders of the teacher runs, and the YAML file of the student; override any key with "
            "--section.key VALUE.",
        ),
    ],
    references: Annotated[bool, typer.Option("--references", help="Train on the original pairs as well.")] = False,
    beam: Beam = None,
    engine: Engine = "torch",
    threads: Threads = None,
) -> None:
    """Train a student on translations by RUN or an ensemble: sequence-level knowledge distillation (Kim and Rush 2016).

    Repeat the command to resume interrupted training.
    """
    files, changes = files_and_overrides([*words, *(["--device.threads", str(threads)] if threads else [])])
    *runs, file = map(Path, files)
    if not runs:
        raise UserError("distil: expected a run and a configuration: dragoman distil RUN student.yaml")
    from dragoman.cli.train import tell_next, trained
    from dragoman.cli.translate import translate
    from dragoman.cli.translate_options import TranslateOptions
    from dragoman.corpus.examples import corpus_files
    from dragoman.training import checks

    config = checks.load_config(file, {**changes, "data.temperature": "1", "data.weights": "[]"})
    data, folder = config.data, data_folder(str(config.run))
    _check(runs, file, data)
    (source,) = data.source
    train = [str(folder / PAIRS), *(data.train if references else ())]
    learned = checks.load_config(file, {**changes, "data.train": json.dumps(train, ensure_ascii=False)})
    provenance = {
        "command": "distil",
        "RUN": digests([RunFolder(run).weights() for run in runs]),
        "--beam": beam,
        "--engine": engine,
        "data.train": digests(corpus_files(data.train, source, data.target)),
    }
    with noted_folder(folder, provenance, "distilled text"):
        texts, translations = (folder / f"{PAIRS}.{name}" for name in (source, data.target))
        if not texts.exists():
            _write(data, texts)
        if not translations.exists():
            tell(f"{translations}: what {' and '.join(map(str, runs))} make of {data.places('train')}")
            resume = partial(translations).exists()
            translate(TranslateOptions([*runs, texts], output=translations, resume=resume, beam=beam, engine=engine))
    if run := trained(learned):
        tell_next(learned, run)


def _check(runs: Sequence[Path], file: Path, data: "DataConfig") -> None:
    """Raises UserError unless all translate one text from the same language to the same other one."""
    from dragoman.run.run import Run

    unsupported = (data.pairs, data.source[1:], data.features, data.edits, data.recalled, data.alignments)
    if any(unsupported) or data.denoises:
        raise UserError(f"{file}: distillation requires a single text source and no data.alignments")
    for run in runs:
        teacher = Run.load(run).config.data
        if teacher.pairs or (teacher.source, teacher.target) != (data.source, data.target):
            wanted = f"{data.source[0]} to {data.target}"
            raise UserError(f"{run}: translates {teacher.languages}, and {file} is of {wanted}")


def _write(data: "DataConfig", path: Path) -> None:
    """Write the source of each training pair to a line."""
    from dragoman.corpus.examples import read_pairs

    with write_atomically(path) as file:
        for source, _ in read_pairs(data.train, data.source[0], data.target):
            file.write(one_line(source) + "\n")

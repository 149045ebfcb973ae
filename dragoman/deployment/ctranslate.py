"""The export of a Transformer in the format of CTranslate2."""

import shutil
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from dragoman.data.language import is_only_text
from dragoman.deployment import export
from dragoman.deployment.ctranslate_search import CTranslate2Engine
from dragoman.deployment.ctranslate_spec import specification, unknown_part
from dragoman.deployment.export_folder import ExportFolder, name_weights
from dragoman.errors import UserError, missing_library
from dragoman.files.reading import compute_sha256
from dragoman.files.writing import write_atomically
from dragoman.run.run import Run

FOLDER: Final = "ctranslate2"  # in the run folder
VERSION: Final = 1  # of the note
Quantization = Literal["int8", "int16", "float16"]


class ModelNote(NamedTuple):
    """The description of an export, written when its files are complete."""

    version: int
    weights: str  # the file of the run that it was made from
    weights_digest: str  # SHA-256
    files: dict[str, str]  # file: SHA-256


def folder_of(run: Run) -> ExportFolder:
    """The folder of the model of a run."""
    return ExportFolder(run.folder.path / FOLDER, "--ctranslate2", VERSION)


def write(run: Run, weights: str | None = None, quantization: Quantization | None = None) -> Path:
    """Write the model of a run with these weights into its folder, and return the folder of the model.

    Raises UserError if the extra `ctranslate2` is missing, or if CTranslate2 does not have a part of the model.
    """
    path, folder = run.weights(weights), folder_of(run)
    spec = convert(run, weights, quantization)
    folder.begin()
    files = {}
    with tempfile.TemporaryDirectory(prefix=".", dir=folder.path) as place:
        spec.save(place)
        for file in sorted(Path(place).iterdir()):
            with write_atomically(folder.path / file.name, "wb") as output, file.open("rb") as saved:
                shutil.copyfileobj(saved, output)
            files[file.name] = compute_sha256(folder.path / file.name)
    folder.write(ModelNote(VERSION, name_weights(run, path), compute_sha256(path), files)._asdict())
    return folder.path


def convert(run: Run, weights: str | None = None, quantization: Quantization | None = None) -> Any:
    """Return the model of a run as a specification that can be saved. UserError names a part that CTranslate2 does not
    have.
    """
    needed()
    if not is_only_text(run.sources):
        raise UserError(f"{run.folder.path}: CTranslate2 reads one text; this model reads more, or numbers")
    model = run.model(weights)
    part = "a sentinel" if run.config.combines else export.unknown_part(model) or unknown_part(model)
    if part:
        raise UserError(f"{run.folder.path}: has {part}, which CTranslate2 does not have")
    spec = specification(model, run.source.vocabulary, run.target.vocabulary)
    spec.validate()
    spec.optimize(quantization)
    return spec


def needed() -> Any:
    """Import the library. Raises UserError if the extra is missing."""
    try:
        return import_module("ctranslate2")
    except ModuleNotFoundError as error:
        raise missing_library(error.name, "ctranslate2") from error


def read_note(run: Run) -> ModelNote:
    """The note of the export in a run folder."""
    folder = folder_of(run)
    fields = folder.read()
    try:
        return ModelNote(**fields)
    except TypeError as error:
        raise folder.damaged(error) from error


def read(run: Run, weights: str | None, threads: int) -> CTranslate2Engine:
    """Read the export in a run folder. Raises UserError if there is none, if it is damaged, if the weights that it was
    made from have changed, or if the named ones are others.
    """
    library, note, folder = needed(), read_note(run), folder_of(run)
    folder.check(run, weights, note.weights, note.weights_digest, note.files)
    translator = library.Translator(str(folder.path), inter_threads=1, intra_threads=threads)
    return CTranslate2Engine(translator, note.weights, run.source.vocabulary, run.target.vocabulary)

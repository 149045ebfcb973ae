"""Marian's models (Junczys-Dowmunt et al. 2018): OPUS-MT, Firefox, HPLT, and the recurrent systems of WMT."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dragoman.configuration import yaml_lines
from dragoman.errors import UserError
from dragoman.files.reading import read_lines
from dragoman.interop import (
    marian_file,
    marian_options,
    marian_rnn,
    marian_shortlist,
    marian_transformer,
    vocabulary_files,
)
from dragoman.interop.foreign_model import ForeignModel, ReaderOptions, TensorMap
from dragoman.interop.foreign_text import build_side
from dragoman.interop.marian_options import MarianOptions
from dragoman.interop.subword_files import CodesFolder

MODELS: Final = (".npz", ".bin")
VOCABULARIES: Final = (".spm", ".yml", ".yaml", ".json", ".txt", ".model")
DECODERS: Final = ("decoder.yml", "*.decoder.yml")  # how `marian-decoder` is to run the model
TYPES: Final = {"transformer": marian_transformer, **dict.fromkeys(("s2s", "nematus", "amun"), marian_rnn)}
NEMATUS: Final = ("nematus", "amun")  # types whose tensors have the names of Nematus


def find_model(source: Path) -> Path | None:
    """The model of a folder, or of a file of this kind; None if it is none of Marian's. UserError if a folder has
    several.
    """
    if source.suffix in MODELS and source.is_file():
        return source
    if not source.is_dir():
        return None
    # Beside a model there may be a shortlist (lex.50.50.enfr.s2t.bin), or the state of its optimizer.
    models = [
        path
        for path in sorted(source.iterdir())
        if path.suffix in MODELS and not path.name.startswith("lex.") and ".optimizer" not in path.name
    ]
    if len(models) > 1:
        raise UserError(f"{source}: expected one model, found {', '.join(path.name for path in models)}; name the file")
    return models[0] if models else None


def read(path: Path, reader_options: ReaderOptions) -> ForeignModel:
    """Read a model with its vocabularies, those of its folder if none are given.

    UserError names file, tensor or option, and what was expected.
    """
    decoder, settings = _decoder_settings(path.parent)
    options, tensors = _opened(path)
    of_type = TYPES[options.text("type")]
    files = reader_options.vocabularies or _named_vocabularies(decoder, settings) or _vocabularies_in_folder(path)
    source_file, target_file = (*files, *files)[:2] if len(files) == 1 else files[:2]
    sizes = options.vocabularies
    read_files = {file: vocabulary_files.read(file) for file in (source_file, target_file)}
    foreign = [read_files[source_file], read_files[target_file]]
    (source, source_rows), (target, target_rows) = (
        build_side(
            vocabulary, size, path.parent / f"{side}.spm", segmentation=CodesFolder(path.parent, (side, language))
        )
        for vocabulary, size, side, language in zip(
            foreign, sizes, ("source", "target"), reader_options.languages, strict=True
        )
    )
    model = of_type.configuration(options, tensors.tensors)
    of_type.parameters(options, model, tensors, (source_rows, target_rows))
    used = (path, *dict.fromkeys((source_file, target_file)))
    shortlist = None
    if candidates := marian_shortlist.find(path.parent):
        used += (candidates,)
        binary = marian_shortlist.read(candidates, (len(foreign[0].symbols), len(foreign[1].symbols)))
        shortlist = binary.convert((source_rows, target_rows), shared=source_file == target_file)
    return ForeignModel("Marian", used, model, _search(settings), source, target, tensors.finish(), shortlist)


def _opened(path: Path) -> tuple[MarianOptions, TensorMap]:
    file = marian_file.read(path)
    options = MarianOptions(path, file.options)
    if (kind := options.text("type")) not in TYPES:
        raise UserError(f"{path}: option type: expected {' or '.join(TYPES)}, found {kind[:60] or 'none'}")
    options.check(marian_options.SUPPORTED)
    return options, TensorMap(path, marian_rnn.rename(file.tensors) if kind in NEMATUS else file.tensors)


def _decoder_settings(folder: Path) -> tuple[Path | None, Mapping[str, Any]]:
    """The settings of `marian-decoder`, if there is one file of them."""
    files = [path for pattern in DECODERS for path in sorted(folder.glob(pattern))]
    if not files:
        return None, {}
    path = files[0]
    document = yaml_lines.read("\n".join(read_lines(path)), str(path))
    if document.faults or not isinstance(document.value, dict):
        fault = document.faults[0] if document.faults else None
        raise UserError(f"{fault.place.text if fault else path}: {fault.message if fault else 'expected options'}")
    return path, document.value


def _named_vocabularies(decoder: Path | None, settings: Mapping[str, Any]) -> list[Path]:
    """The vocabularies that the settings name, which may be paths of another machine: files of the same names count."""
    names = settings.get("vocabs")
    if decoder is None or not isinstance(names, list) or len(names) < 2:
        return []
    paths = []
    for name in map(str, names[:2]):
        places = (decoder.parent / name, decoder.parent / Path(name).name)
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            return []
        paths.append(path)
    return paths


def _vocabularies_in_folder(model: Path) -> list[Path]:
    """The vocabularies in the folder of a model, that of the source first."""
    folder = model.parent
    files = [
        path
        for path in sorted(folder.iterdir())
        if path.suffix in VOCABULARIES and ("vocab" in path.name or path.suffix == ".spm")
    ]
    # `source.spm` and `target.spm` of OPUS-MT segment the text; what has the ids then is a list.
    lists = [path for path in files if path.suffix != ".spm"]
    files = lists or files
    if len(files) not in (1, 2):
        names = ", ".join(path.name for path in files) or "none"
        raise UserError(f"{folder}: expected one or two vocabularies, found {names}; give --vocabulary FILE")
    return sorted(files, key=lambda path: any(part in path.name for part in ("trg", "target", "tgt")))


def _search(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Beam search with the settings of the file, or with those that OPUS-MT recommends; lengths are limited as by
    Marian (`--max-length-factor 3`).
    """
    size, alpha = settings.get("beam-size", 6), settings.get("normalize", 1.0)
    if type(size) is not int or not 1 <= size <= 1000:
        size = 6
    is_number = isinstance(alpha, int | float) and not isinstance(alpha, bool)
    alpha = float(alpha) if is_number and 0 <= alpha <= 10 else 1.0
    ranked = {"normalization": "length", "alpha": alpha} if alpha else {"normalization": "none"}
    return {"kind": "beam", "size": size, "shrink": True, **ranked, "length_ratio": 3.0, "length_margin": 0}

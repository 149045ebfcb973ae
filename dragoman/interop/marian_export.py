"""A run as a model of Marian: `model.npz`, its vocabularies and `decoder.yml`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from dragoman.errors import UserError
from dragoman.interop import marian, marian_rnn, marian_transformer, vocabulary_files
from dragoman.interop.foreign_model import Array
from dragoman.interop.foreign_text import build_side
from dragoman.interop.imported_run import new_folder
from dragoman.interop.inverse_map import TensorRecorder, check_model, invert
from dragoman.interop.marian_file import OPTIONS
from dragoman.interop.marian_options import MarianOptions
from dragoman.interop.text_files import FIRST, TextFiles, write_yaml
from dragoman.model.positions import LONGEST
from dragoman.model.weights import read_tensors
from dragoman.run.run import Run

MODEL: Final = "model.npz"
ALIGNMENT: Final = 256  # Marian fills the options with NULs up to a multiple of it
VERSION: Final = "v1.12.0"


def write(run: Run, folder: Path, weights: str | None = None) -> Path:
    """Write the files to a folder that does not exist yet, or is empty, and return it.

    UserError names what Marian does not have.
    """
    sides = [TextFiles.of(run, language) for language in (run.source, run.target)]
    sizes = [len(FIRST) + len(side.symbols) for side in sides]
    options = MarianOptions(folder / MODEL, _options(run, sizes))
    of_type = marian.TYPES[options.text("type")]
    model = of_type.configuration(options, _sized_tensors(run))
    check_model(run, model, "Marian")
    with new_folder(folder) as place:
        names = _write_vocabularies(place, sides)
        vocabularies = [vocabulary_files.read(place / name) for name in names]
        rows = [
            build_side(vocabulary, size, place / f"{side}.spm")[1]
            for vocabulary, size, side in zip(vocabularies, sizes, ("source", "target"), strict=True)
        ]
        recorder = TensorRecorder()
        of_type.parameters(options, model, recorder, (rows[0], rows[1]))
        parameters = {name: tensor.numpy() for name, tensor in read_tensors(run.weights(weights))[0].items()}
        tensors = invert(recorder, parameters, run.folder.path)
        _write_model(place / MODEL, options.values, tensors)
        (place / "decoder.yml").write_text(_yaml(_decoder(run, names)), encoding="utf-8")
    return folder


def _write_vocabularies(folder: Path, sides: list[TextFiles]) -> list[str]:
    """Write a file for both sides if they are the same, or one each; return their names."""
    names = ["vocab"] * 2 if sides[0] == sides[1] else ["vocab.src", "vocab.trg"]
    files = []
    for name, side, segmenter in zip(names, sides, ("source.spm", "target.spm"), strict=True):
        if side.is_numbered_by_model and side.model:
            files.append(f"{name}.spm")
            (folder / files[-1]).write_bytes(side.model)
            continue
        files.append(f"{name}.yml")
        write_yaml(folder / files[-1], [*FIRST, *side.symbols])
        if side.model:
            (folder / segmenter).write_bytes(side.model)
    return files


def _write_model(path: Path, options: Mapping[str, Any], tensors: Mapping[str, Array]) -> None:
    text = _yaml(options).encode()
    padded = np.frombuffer(text + b"\0" * (ALIGNMENT - len(text) % ALIGNMENT), np.int8)
    arrays: dict[str, Any] = {**tensors, OPTIONS: padded}
    np.savez(path, **arrays)


def _yaml(values: Mapping[str, Any]) -> str:
    """Options as YAML, of which JSON's values are a part."""
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in values.items())


def _decoder(run: Run, vocabularies: list[str]) -> dict[str, Any]:
    """The settings of `marian-decoder`: the beam of the run."""
    search = run.config.search.options
    alpha = {"length": search.get("alpha", 1.0)}.get(search.get("normalization", "none"), 0.0)
    return {
        "relative-paths": True,
        "models": [MODEL],
        "vocabs": vocabularies,
        "beam-size": search.get("size", 1),
        "normalize": alpha,
    }


def _options(run: Run, sizes: list[int]) -> dict[str, Any]:
    """The options of a model file."""
    model = run.config.model
    tie = model.embedding.tie
    options = {
        "version": VERSION,
        "dim-emb": model.embedding.size,
        "dim-vocabs": sizes,
        "tied-embeddings": tie == "output",
        "tied-embeddings-src": tie == "languages",
        "tied-embeddings-all": tie == "all",
        "output-omit-bias": False,
        "right-left": False,
        "lemma-dim-emb": 0,
        "factors-dim-emb": 0,
        "ulr": False,
        "input-types": [],
        "skip": False,
        "layer-normalization": False,
    }
    for of_type in (marian_transformer, marian_rnn):
        further: dict[str, Any] = of_type.options_of(model.encoder.options, model.decoder.options)
        if further:
            return options | further
    raise UserError(
        f"{run.folder.path}: model: Marian has encoders and decoders of the kind self_attention, or rnn; this run has "
        f"{model.encoder.kind} and {model.decoder.kind}"
    )


def _sized_tensors(run: Run) -> dict[str, Array]:
    """Tensors of which the importer reads the length: those of learned positions and of additive scores."""
    model = run.config.model
    halves = {"encoder": model.encoder.options, "decoder": model.decoder.options}
    lengths = {f"{side}_Wpos": options.get("longest") or LONGEST for side, options in halves.items()}
    if size := model.attention.score.options.get("size"):
        lengths["decoder_U_att"] = size
    return {name: np.zeros((length, 1)) for name, length in lengths.items()}

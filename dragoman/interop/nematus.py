"""Models of Nematus (Sennrich et al. 2017) as its Theano version wrote them: `model.npz`, `model.npz.json`, and a
dictionary of each language.

The tensors are those of Marian's type `nematus`, and a configuration has the same options under other names.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np

from dragoman.errors import UserError
from dragoman.interop import marian_file, marian_rnn, vocabulary_files
from dragoman.interop.foreign_model import Array, ForeignModel, ReaderOptions, TensorMap
from dragoman.interop.foreign_options import ForeignOptions
from dragoman.interop.foreign_text import build_side
from dragoman.interop.huggingface_file import read_json
from dragoman.interop.marian_options import MarianOptions
from dragoman.interop.subword_files import CodesFolder
from dragoman.interop.vocabulary_files import ForeignVocabulary

# Options that change the model, with the only value that is supported.
SUPPORTED: Final[dict[str, Any]] = {
    "encoder": "gru",
    "decoder": "gru_cond",
    "enc_depth": 1,
    "dec_depth": 1,
    "factors": 1,
    "weight_normalisation": False,
    "deep_fusion_lm": None,
    "model_type": None,
    "output_hidden_activation": None,
}
SEARCH: Final = {"kind": "beam", "size": 5, "shrink": True, "alpha": 1.0, "length_ratio": 3.0, "length_margin": 0}


def find_model(source: Path) -> Path | None:
    """A file with its configuration beside it, or the only one of a folder; None if there is none."""
    paths = sorted(source.glob("*.npz")) if source.is_dir() else [source]
    models = [path for path in paths if path.suffix == ".npz" and _configuration(path).is_file()]
    if len(models) > 1:
        raise UserError(f"{source}: expected one model, found {', '.join(path.name for path in models)}; name the file")
    return models[0] if models else None


def _configuration(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def read(path: Path, reader_options: ReaderOptions) -> ForeignModel:
    """Read a model with its dictionaries. UserError names file, tensor or option."""
    options = ForeignOptions(_configuration(path), read_json(_configuration(path)))
    options.expect(SUPPORTED)
    marian = _marian_options(options)
    tensors = TensorMap(path, marian_rnn.rename(_read_tensors(path)))
    files = [*reader_options.vocabularies] or _dictionaries(options)
    sizes = marian.vocabularies
    foreign = [_read_dictionary(file, size) for file, size in zip((files[0], files[-1]), sizes, strict=True)]
    (source, source_rows), (target, target_rows) = (
        build_side(
            vocabulary, size, path.parent / f"{side}.spm", segmentation=CodesFolder(path.parent, (side, language))
        )
        for vocabulary, size, side, language in zip(
            foreign, sizes, ("source", "target"), reader_options.languages, strict=True
        )
    )
    model = marian_rnn.configuration(marian, tensors.tensors)
    marian_rnn.parameters(marian, model, tensors, (source_rows, target_rows))
    if options.flag("tie_encoder_decoder_embeddings", False):
        model["embedding"]["tie"] = "all" if marian.flag("tied-embeddings") else "languages"
    used = (path, options.path, *dict.fromkeys(files))
    return ForeignModel("Nematus", used, model, SEARCH, source, target, tensors.finish())


def _marian_options(options: ForeignOptions) -> MarianOptions:
    """The options that Marian has for the same model."""
    embedding = options.number("dim_word")
    if options.values.get("dim_per_factor") not in (None, [embedding]):
        raise options.refuse("dim_per_factor", f"[{embedding}]")
    values = {
        "type": "nematus",
        "dim-vocabs": [options.number("n_words_src"), options.number("n_words")],
        "dim-emb": embedding,
        "dim-rnn": options.number("dim"),
        "enc-depth": 1,
        "dec-depth": 1,
        "enc-type": "bidirectional",
        "enc-cell": "gru-nematus",
        "dec-cell": "gru-nematus",
        "enc-cell-depth": options.number("enc_recurrence_transition_depth", default=1),
        "dec-cell-base-depth": options.number("dec_base_recurrence_transition_depth", default=2),
        "dec-cell-high-depth": 1,
        "layer-normalization": options.flag("layer_normalisation", False),
        "tied-embeddings": options.flag("tie_decoder_embeddings", False),
    }
    return MarianOptions(options.path, values)


def _read_tensors(path: Path) -> dict[str, Array]:
    """The weights, without the state of an optimizer. UserError names one that cannot be used."""
    arrays = marian_file.read_npz(path)
    weights = {}
    for name, array in arrays.items():
        if name in marian_rnn.LEFT_OUT or name.startswith("adam"):
            continue
        if not np.issubdtype(array.dtype, np.floating) or not np.isfinite(array).all():
            raise UserError(f"{path}: tensor {name[:100]!r}: expected finite floating-point numbers")
        weights[name] = array
    if "Wemb" in weights and "Wemb_dec" not in weights:  # one table for both sides
        weights["Wemb_dec"] = weights["Wemb"]
    return weights


def _dictionaries(options: ForeignOptions) -> list[Path]:
    """The dictionaries that the configuration names, in the folder of the model."""
    names = options.values.get("dictionaries")
    if not isinstance(names, list) or len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise options.refuse("dictionaries", "two files, or --vocabulary twice")
    paths = [options.path.parent / Path(name).name for name in names]
    for path in paths:
        if not path.is_file():
            raise UserError(f"{options.path}: dictionaries: expected {path}, found no such file; give --vocabulary")
    return paths


def _read_dictionary(path: Path, size: int) -> ForeignVocabulary:
    """The symbols that the model has: a dictionary may have more."""
    vocabulary = vocabulary_files.read(path)
    return vocabulary._replace(symbols=vocabulary.symbols[:size])

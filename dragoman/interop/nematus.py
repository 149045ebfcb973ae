"""Models of Nematus (Sennrich et al. 2017) as its Theano version wrote them: `model.npz`, `model.npz.json`, and a
dictionary of each language.

The tensors are those of Marian's type `nematus`, and a configuration has the same options under other names. Each layer
of a deep encoder reads the one that runs the other way (Miceli Barone et al. 2017): layer 2 of `encoder` is that of the
stack that begins with `encoder_r`. From the second layer on, inputs are added to outputs.
"""

import re
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
    "decoder_deep": "gru",
    "dec_deep_context": False,
    "output_depth": 1,
    "factors": 1,
    "weight_normalisation": False,
    "deep_fusion_lm": None,
    "model_type": None,
    "output_hidden_activation": None,
}
_UPPER: Final = re.compile(r"(encoder|encoder_r|decoder)_(\d{1,6})_([UWb]x?)(?:_drt_(\d{1,6}))?(_ln[sb])?")
# Matrices whose rows are the states of both directions
OF_STATES: Final = ("decoder_Wc_att", "decoder_Wc", "decoder_Wcx", "ff_state_W", "ff_logit_ctx_W")
SEARCH: Final = {"kind": "beam", "size": 5, "shrink": True, "alpha": 1.0, "length_ratio": 3.0, "length_margin": 0}


def find_model(source: Path) -> Path | None:
    """A file with its configuration beside it, or the only one of a folder; None if there is none. UserError for a
    checkpoint of the TensorFlow version.
    """
    paths = sorted(source.glob("*.npz")) if source.is_dir() else [source]
    checkpoints = sorted(source.glob("*.index")) if source.is_dir() else [source]
    if checkpoints and checkpoints[0].suffix == ".index" and not (source.is_dir() and paths):
        raise UserError(
            f"{checkpoints[0]}: a checkpoint of TensorFlow: expected .npz and .npz.json of Theano "
            "(Nematus' theano_tf_convert.py --from_tf converts weights)"
        )
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
    tensors = TensorMap(path, marian_rnn.rename(_read_tensors(path, marian.number("enc-depth"))))
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
    marian_rnn.parameters(marian, model, tensors, (source_rows, target_rows), outside=True)
    if options.flag("tie_encoder_decoder_embeddings", False):
        model["embedding"]["tie"] = "all" if marian.flag("tied-embeddings") else "languages"
    used = (path, options.path, *dict.fromkeys(files))
    return ForeignModel("Nematus", used, model, SEARCH, source, target, tensors.finish())


def _marian_options(options: ForeignOptions) -> MarianOptions:
    """The options that Marian has for the same model."""
    embedding = options.number("dim_word")
    if options.values.get("dim_per_factor") not in (None, [embedding]):
        raise options.refuse("dim_per_factor", f"[{embedding}]")
    depth, decoder_depth = (options.number(f"{side}_depth", default=1) for side in ("enc", "dec"))
    options.expect({"enc_depth_bidirectional": depth})
    values = {
        "type": "nematus",
        "dim-vocabs": [options.number("n_words_src"), options.number("n_words")],
        "dim-emb": embedding,
        "dim-rnn": options.number("dim"),
        "enc-depth": depth,
        "dec-depth": decoder_depth,
        "enc-type": "bidirectional" if depth == 1 else "alternating",
        "skip": max(depth, decoder_depth) > 1,
        "enc-cell": "gru-nematus",
        "dec-cell": "gru-nematus",
        "enc-cell-depth": options.number("enc_recurrence_transition_depth", default=1),
        "dec-cell-base-depth": options.number("dec_base_recurrence_transition_depth", default=2),
        "dec-cell-high-depth": options.number("dec_high_recurrence_transition_depth", default=1),
        "layer-normalization": options.flag("layer_normalisation", False),
        "tied-embeddings": options.flag("tie_decoder_embeddings", False),
    }
    return MarianOptions(options.path, values)


def _read_tensors(path: Path, depth: int) -> dict[str, Array]:
    """The weights of a model with an encoder of so many layers, without the state of an optimizer. UserError names one
    that cannot be used.
    """
    arrays = marian_file.read_npz(path)
    weights = {}
    for name, array in arrays.items():
        if name in marian_rnn.LEFT_OUT or name.startswith("adam"):
            continue
        if not np.issubdtype(array.dtype, np.floating) or not np.isfinite(array).all():
            raise UserError(f"{path}: tensor {name[:100]!r}: expected finite floating-point numbers")
        if name in OF_STATES and depth % 2 == 0:  # the top of `encoder` is that of our second stack
            array = np.roll(array, len(array) // 2, 0) if array.ndim else array
        weights[_upper_name(name)] = array
    if "Wemb" in weights and "Wemb_dec" not in weights:  # one table for both sides
        weights["Wemb_dec"] = weights["Wemb"]
    return weights


def _upper_name(name: str) -> str:
    """The name that Marian has for a tensor of an upper layer; any other one as it is."""
    match = _UPPER.fullmatch(name)
    if not match:
        return name
    side, layer, part, transition, norm = match.groups("")
    if side != "decoder":
        is_backward = (side == "encoder_r") != (int(layer) % 2 == 0)
        side = "encoder_bi_r" if is_backward else "encoder_bi"
    return f"{side}_l{int(layer)}_cell{int(transition or 0) + 1}_{part}{norm}"


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

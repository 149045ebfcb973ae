"""Files of Keras: a `.keras` archive of a configuration (JSON) and weights (HDF5), and a pickle of tokenizers."""

import io
import json
import zipfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from dragoman.errors import UserError, describe, missing_library
from dragoman.interop import checkpoint_pickle, vocabulary_files
from dragoman.interop.checkpoint_pickle import Holder
from dragoman.interop.foreign_model import Array
from dragoman.interop.foreign_options import ForeignOptions

CONFIG, WEIGHTS = "config.json", "model.weights.h5"
TENSORS: Final = "layers/"  # beside those of the optimizer
PADDING: Final = "<pad>"  # number 0, which a tokenizer does not use
LONGEST: Final = 1000  # texts that are padded to more are none of a model


class CharacterTokenizer(NamedTuple):
    """The symbols of a tokenizer in the order of their numbers, and the number of the unknown one."""

    symbols: list[str]
    unknown: int
    lowercase: bool


class Assets(NamedTuple):
    """The tokenizers of source and target, and the length to which sources are padded."""

    source: CharacterTokenizer
    target: CharacterTokenizer
    padded_length: int


def read_archive(path: Path) -> tuple[ForeignOptions, dict[str, Array]]:
    """Read the configuration and the tensors of the layers. UserError if the archive is damaged."""
    try:
        h5py = import_module("h5py")
    except ModuleNotFoundError as error:
        raise missing_library(error.name, "keras") from error
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > path.stat().st_size:
                raise UserError(f"{path}: expected files that are not compressed")
            config, weights = json.loads(archive.read(CONFIG)), archive.read(WEIGHTS)
        with h5py.File(io.BytesIO(weights), "r") as file:
            tensors = _read_tensors(h5py, file, len(weights), path)
    except UserError:
        raise
    except Exception as error:  # libraries that read damaged files fail in many ways
        raise UserError(f"{path}: truncated, or not a model of Keras 3 ({describe(error)})") from error
    if not isinstance(config, dict):
        raise UserError(f"{path}: {CONFIG}: expected keys and values")
    return ForeignOptions(path, config, f"{CONFIG}: "), tensors


def _read_tensors(h5py: Any, file: Any, size: int, path: Path) -> dict[str, Array]:
    """The tensors of layers, none of which may come from elsewhere than the `size` bytes of the file."""
    items: dict[str, Any] = {}
    file.visititems(items.__setitem__)  # links to other files are not followed
    tensors = {}
    for name, item in items.items():
        if not isinstance(item, h5py.Dataset) or not name.startswith(TENSORS):
            continue
        if item.external or item.is_virtual or item.chunks or item.nbytes > size:
            raise UserError(f"{path}: tensor {name[:100]!r}: expected numbers in the file itself, not compressed")
        if item.dtype.kind != "f" or not item.ndim:
            continue  # counters, such as of random numbers
        tensors[name] = np.asarray(item[()])
        if not np.isfinite(tensors[name]).all():
            raise UserError(f"{path}: tensor {name[:100]!r}: expected finite numbers, found infinity or NaN")
    return tensors


def read_assets(path: Path) -> Assets:
    """Read a pickled dictionary with two tokenizers of characters, and the greatest lengths of texts, both first of the
    source. UserError names what is missing.
    """
    assets = checkpoint_pickle.read_object(path)
    values = [*assets.values()] if isinstance(assets, dict) else []
    tokenizers = [value for value in values if isinstance(value, Holder) and value.kind.endswith(".Tokenizer")]
    lengths = [value for value in values if type(value) is int]
    if len(tokenizers) != 2 or not lengths:
        raise UserError(f"{path}: expected two tokenizers of Keras and the length of sources")
    if not 1 <= lengths[0] <= LONGEST:
        raise UserError(f"{path}: expected a length of sources from 1 to {LONGEST}, found {lengths[0]}")
    source, target = (_read_tokenizer(path, tokenizer.attributes) for tokenizer in tokenizers)
    return Assets(source, target, lengths[0])


def _read_tokenizer(path: Path, attributes: Mapping[str, Any]) -> CharacterTokenizer:
    options, numbers = ForeignOptions(path, attributes, "tokenizer: "), attributes.get("word_index")
    if not options.flag("char_level", False):
        raise options.refuse("char_level", "true")
    options.expect({"num_words": None})
    if not isinstance(numbers, dict) or not all(
        isinstance(symbol, str) and type(number) is int for symbol, number in numbers.items()
    ):
        raise UserError(f"{path}: tokenizer: word_index: expected symbols and their numbers")
    entries = [(PADDING, 0, 0), *((symbol, number, 0) for symbol, number in numbers.items())]
    symbols = vocabulary_files.order_symbols(path, entries)
    unknown = attributes.get("oov_token")
    if not isinstance(unknown, str) or unknown not in symbols:
        raise options.refuse("oov_token", "the symbol of unknown characters")
    return CharacterTokenizer(symbols, symbols.index(unknown), options.flag("lower", True))

"""The pronunciations of g2p-en (Park and Kim 2019): a `.npz` with a GRU for the letters of an English word and one for
its phones in ARPAbet, without attention. The symbols are not in the file.
"""

import string
import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np

from dragoman.errors import UserError
from dragoman.interop import marian_file
from dragoman.interop.foreign_model import ForeignModel, ReaderOptions, TensorMap
from dragoman.interop.foreign_text import build_side
from dragoman.interop.torch_layers import ENCODER, TorchLayers
from dragoman.interop.vocabulary_files import ForeignVocabulary

LETTERS: Final = ("<pad>", "<unk>", "</s>", *string.ascii_lowercase)
VOWELS: Final = "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW"  # each with three degrees of stress
PHONES: Final = "B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH UW"
SYMBOLS: Final = ("<pad>", "<unk>", "<s>", "</s>")
TARGET: Final = (
    *SYMBOLS,
    *sorted([*PHONES.split(), *(f"{vowel}{stress}" for vowel in VOWELS.split() for stress in range(3))]),
)
SIDES: Final = {"enc": f"{ENCODER}.layers.0.0", "dec": "decoder.cells.0"}


def find_model(source: Path) -> Path | None:
    """A file of this kind, or the only one of a folder; None if it is another one."""
    paths = sorted(source.glob("*.npz")) if source.is_dir() else [source]
    if len(paths) != 1 or paths[0].suffix != ".npz":
        return None
    try:
        with zipfile.ZipFile(paths[0]) as archive:
            names = {*archive.namelist()}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return None  # Marian's reader reports what is wrong
    return paths[0] if {"enc_emb.npy", "dec_emb.npy", "fc_w.npy"} <= names else None


def read(path: Path, reader_options: ReaderOptions) -> ForeignModel:
    """Read a model. UserError names the tensor that does not fit."""
    if reader_options.vocabularies:
        raise UserError("--vocabulary: the symbols of g2p-en are known")
    arrays = marian_file.read_npz(path)
    for name, array in arrays.items():
        if not np.issubdtype(array.dtype, np.floating) or not np.isfinite(array).all() or not array.ndim:
            raise UserError(f"{path}: tensor {name[:100]!r}: expected finite floating-point numbers")
    # As torch names them
    tensors = TensorMap(
        path, {name.replace("_w_", "_weight_").replace("_b_", "_bias_"): array for name, array in arrays.items()}
    )
    embedding, size = (tensors.tensors[name].shape[-1] for name in ("enc_emb", "fc_w"))
    layers = TorchLayers(tensors)
    for side, ours in SIDES.items():
        layers.cell(ours, f"{side}_{{}}", "gru", embedding, size)
    source = ForeignVocabulary(path, LETTERS, end=2, unknown=1, padding=0)
    target = ForeignVocabulary(path, TARGET, end=3, unknown=1, padding=0, begin=2)
    (source_side, source_rows), (target_side, target_rows) = (
        build_side(source, len(LETTERS), path, tokenizer="character", lowercase=True),
        build_side(target, len(TARGET), path),
    )
    rows = (source_rows, target_rows)
    tables = (tensors.take("enc_emb", (len(LETTERS), embedding)), tensors.take("dec_emb", (len(TARGET), embedding)))
    layers.tables(rows, tables, (tensors.take("fc_w", (len(TARGET), size)), tensors.take("fc_b", (len(TARGET),))))
    model = _configuration(embedding, size)
    search = {"kind": "greedy"}
    return ForeignModel("g2p-en", (path,), model, search, source_side, target_side, tensors.finish())


def _configuration(embedding: int, size: int) -> dict[str, Any]:
    return {
        "embedding": {"size": embedding, "tie": "none"},
        "encoder": {"kind": "rnn", "cell": "gru", "size": size, "layers": 1, "direction": "forward"},
        "bridge": "copy",
        "attention": {"score": "none"},
        "decoder": {
            "kind": "rnn",
            "cell": "gru",
            "size": size,
            "layers": 1,
            "attend": "after",
            "input_feeding": "none",
            "readout": "concat",
        },
    }

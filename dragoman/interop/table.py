"""Which program wrote a checkpoint."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from dragoman.errors import UserError
from dragoman.interop import fairseq, g2p, huggingface, joeynmt, keras, marian, nematus, opennmt
from dragoman.interop.foreign_model import ForeignModel, Positions, ReaderOptions

FindModel: TypeAlias = Callable[[Path], Path | None]
ReadModel: TypeAlias = Callable[[Path, ReaderOptions], ForeignModel]
# In this order, since Marian's files have the suffixes of others
PROGRAMS: Final[Sequence[tuple[FindModel, ReadModel]]] = (
    (joeynmt.find_model, joeynmt.read),
    (fairseq.find_model, fairseq.read),
    (opennmt.find_model, opennmt.read),
    (nematus.find_model, nematus.read),
    (g2p.find_model, g2p.read),
    (keras.find_model, keras.read),
    (marian.find_model, marian.read),
)


def read(
    source: Path,
    vocabularies: Sequence[Path] = (),
    positions: Positions = "marian",
    languages: tuple[str, str] = ("source", "target"),
) -> ForeignModel:
    """Read a checkpoint from a folder or a file, with these vocabularies or those that are with it (`ReaderOptions`).
    UserError if it is missing, damaged, or of an unknown program.
    """
    reader_options = ReaderOptions(vocabularies, languages, positions)
    if not source.exists():
        raise UserError(f"{source}: no such file or folder")
    if len(vocabularies) > 2:
        raise UserError(f"--vocabulary: expected one or two files, found {len(vocabularies)}")
    if model := huggingface.find_model(source):
        return huggingface.read(model, reader_options)
    for find_model, read_model in PROGRAMS:
        if model := find_model(source):
            return read_model(model, reader_options)
    raise UserError(
        f"{source}: expected a model of Marian (.npz or .bin with its vocabularies), a folder of Hugging Face "
        "(config.json and model.safetensors), JoeyNMT (config.yaml and best.ckpt) or fairseq (checkpoint_best.pt and "
        "dict.*.txt), or a file of OpenNMT-py (.pt), Nematus (.npz with .npz.json) or Keras (.keras), found none"
    )

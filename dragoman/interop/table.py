"""Which program wrote a checkpoint."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.errors import UserError
from dragoman.interop import fairseq, g2p, huggingface, joeynmt, marian, nematus, opennmt
from dragoman.interop.foreign_model import ForeignModel


def read(
    source: Path,
    vocabularies: Sequence[Path] = (),
    positions: huggingface.Positions = "marian",
    languages: tuple[str, str] = ("source", "target"),
) -> ForeignModel:
    """Read a checkpoint from a folder or a file, with these vocabularies or those that are with it. `positions` are how
    those of a MarianMT folder are computed; `languages` choose the codes of a multilingual model. UserError if it is
    missing, damaged, or of an unknown program.
    """
    if not source.exists():
        raise UserError(f"{source}: no such file or folder")
    if len(vocabularies) > 2:
        raise UserError(f"--vocabulary: expected one or two files, found {len(vocabularies)}")
    if model := huggingface.find_model(source):
        return huggingface.read(model, vocabularies, positions, languages)
    if model := joeynmt.find_model(source):
        return joeynmt.read(model, vocabularies)
    if model := fairseq.find_model(source):
        return fairseq.read(model, vocabularies)
    if model := opennmt.find_model(source):
        return opennmt.read(model, vocabularies)
    if model := nematus.find_model(source):
        return nematus.read(model, vocabularies)
    if model := g2p.find_model(source):
        return g2p.read(model, vocabularies)
    if model := marian.find_model(source):
        return marian.read(model, vocabularies)
    raise UserError(
        f"{source}: expected a model of Marian (.npz or .bin with its vocabularies), a folder of Hugging Face "
        "(config.json and model.safetensors), JoeyNMT (config.yaml and best.ckpt) or fairseq (checkpoint_best.pt and "
        "dict.*.txt), or a file of OpenNMT-py (.pt) or Nematus (.npz with .npz.json), found none"
    )

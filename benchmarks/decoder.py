"""The run for decoding: it has random weights, since speed does not depend on their values."""

import torch

from dragoman.cli import shortlist
from dragoman.configuration import config_file
from dragoman.configuration.config import Config
from dragoman.data.language import Language
from dragoman.data.vocabulary import EOS
from dragoman.deployment import engine, export, export_folder
from dragoman.errors import UserError
from dragoman.model import build
from dragoman.model.weights import weights, write_tensors
from dragoman.run.folder import RunFolder
from dragoman.run.run import Run
from dragoman.training.training_folder import write_proof

NEVER = -1e4  # logit of the end symbol: only the limit ends a translation


def prepare(config: Config, folder: RunFolder) -> list[str]:
    """Turn the prepared corpus in a folder into a run with a lexicon and, if the extra is installed, an ONNX export.
    Return a line for each thing that is missing.
    """
    source, target = (Language.load(folder.path, side, side) for side in ("source", "target"))
    torch.manual_seed(config.seed)
    model = build.build(config.model, (len(source.vocabulary),), len(target.vocabulary))
    model.output.get_parameter("bias").data[EOS] = NEVER
    write_tensors(folder.weights(), weights(model), {})
    write_proof(folder)
    folder.config.write_text(config_file.dump(config), encoding="utf-8")
    shortlist.shortlist(shortlist.ShortlistOptions(folder.path))
    try:
        export.write(Run.load(folder.path), int8=True)
    except UserError as error:
        return [f"no ONNX: {error}"]
    return []


def exported(folder: RunFolder) -> bool:
    """Whether there is an export."""
    return (folder.path / engine.FOLDER / export_folder.NOTE).is_file()

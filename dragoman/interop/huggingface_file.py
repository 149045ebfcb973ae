"""Files of a Hugging Face folder: keys of JSON, and tensors, in one file or in several."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from dragoman.errors import UserError, describe
from dragoman.interop.foreign_model import Array
from dragoman.interop.foreign_options import ForeignOptions

CONFIG: Final = "config.json"
WEIGHTS: Final = ("model.safetensors", "pytorch_model.bin")
INDEX: Final = ".index.json"  # after the name of weights that are in several files


def find_weights(folder: Path) -> Path | None:
    """The weights of a folder, or the index of their files; None if it has neither."""
    if not (folder / CONFIG).is_file():
        return None
    names = [f"{name}{end}" for name in WEIGHTS for end in ("", INDEX)]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_json(path: Path) -> dict[str, Any]:
    """The keys and values of a file. UserError if it has none."""
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not readable as JSON ({error})") from error
    if not isinstance(values, dict):
        raise UserError(f"{path}: expected keys and values")
    return values


def read_optional_json(path: Path) -> dict[str, Any]:
    """The same; none if there is no such file."""
    return read_json(path) if path.is_file() else {}


def read_weights(path: Path) -> tuple[dict[str, Array], tuple[Path, ...]]:
    """The tensors of a file, or of those that an index lists, and these files. UserError names file and tensor."""
    if not path.name.endswith(INDEX):
        return _read_tensors(path), (path,)
    places = read_json(path).get("weight_map")
    if not isinstance(places, Mapping) or not all(isinstance(name, str) for name in places.values()):
        raise UserError(f"{path}: weight_map: expected a file for each tensor")
    suffix = Path(path.name.removesuffix(INDEX)).suffix
    tensors: dict[str, Array] = {}
    files = tuple(path.parent / name for name in sorted(set(places.values())))
    for file in files:
        if file.parent != path.parent or file.suffix != suffix:
            raise UserError(f"{path}: weight_map: expected names of {suffix} files, found {file.name[:60]!r}")
        if not file.is_file():
            raise UserError(f"{path}: weight_map: expected {file}, found no such file")
        tensors |= _read_tensors(file)
    if missing := sorted(places.keys() - tensors.keys()):
        raise UserError(f"{path}: tensor {missing[0]!r}: expected it in {places[missing[0]]}, found no such tensor")
    return tensors, (path, *files)


def _read_tensors(path: Path) -> dict[str, Array]:
    try:
        if path.suffix == ".safetensors":
            tensors: Any = load_file(path)
        else:  # weights_only: an unpickler that knows tensors and nothing else
            tensors = torch.load(path, map_location="cpu", weights_only=True)
    except (SafetensorError, OSError, RuntimeError, ValueError, KeyError, TypeError, EOFError) as error:
        raise UserError(f"{path}: truncated, or not a file of weights ({describe(error)})") from error
    except Exception as error:  # what the unpickler refuses has a type of the module `pickle`
        raise UserError(f"{path}: holds more than weights ({type(error).__name__})") from error
    if not isinstance(tensors, dict) or not all(isinstance(tensor, torch.Tensor) for tensor in tensors.values()):
        raise UserError(f"{path}: expected tensors by name")
    arrays = {}
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            raise UserError(f"{path}: tensor {name!r}: expected floating-point numbers, found {tensor.dtype}")
        if not torch.isfinite(tensor).all():
            raise UserError(f"{path}: tensor {name!r}: expected finite numbers, found infinity or NaN")
        arrays[name] = tensor.float().numpy()
    return arrays


class HuggingFaceOptions(ForeignOptions):
    """The keys of `config.json`."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, read_json(path))

"""Checkpoints that torch pickled, read without calling anything that a file names.

A pickle is a program that names functions and classes. Of these, only the few that make up tensors and containers are
known here; every other name becomes a class of inert holders, which keep what they are given and do nothing.
"""

import io
import pickle
import warnings
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from dragoman.errors import UserError, describe
from dragoman.interop.foreign_model import Array

ZIP, PICKLE = b"PK\x03\x04", b"\x80"  # how files of torch begin, since version 1.6 and before
TORCHSCRIPT: Final = "constants.pkl"  # a file with programs has it


class Holder:
    """An object of a class that is not known here: `kind` is its name, `values` its arguments and items, `state` what
    it was given as its state.
    """

    kind = ""
    values: list[Any]
    items: dict[Any, Any]
    state: Any

    def __new__(cls, *values: Any, **_: Any) -> "Holder":  # a pickle may make objects without `__init__`
        holder = super().__new__(cls)
        holder.values, holder.items, holder.state = [*values], {}, None
        return holder

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, key: Any, value: Any) -> None:
        self.items[key] = value

    def append(self, value: Any) -> None:
        """Keep an item of a list."""
        self.values.append(value)

    def extend(self, values: Any) -> None:
        """Keep items of a list."""
        self.values.extend(values)

    def add(self, value: Any) -> None:
        """Keep an item of a set."""
        self.values.append(value)

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of an ordinary object."""
        return self.state if isinstance(self.state, dict) else {}


class _Dictionary(dict[Any, Any]):
    """A dictionary, of whatever subclass: a Counter, or one with a default, whose factory is not kept."""

    def __init__(self, *values: Any) -> None:
        super().__init__(values[-1] if values and isinstance(values[-1], Mapping) else {})


def _rebuild_tensor(storage: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Tensor:
    """A tensor of a storage, inside which it must lie."""
    if not isinstance(storage, torch.TypedStorage) or len(size) != len(stride):
        raise pickle.UnpicklingError("a tensor without a storage")
    numbers = (offset, *size, *stride)
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise pickle.UnpicklingError(f"a tensor of size {size}")
    last = offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    if 0 not in size and last >= len(storage):
        raise pickle.UnpicklingError(f"a tensor of size {size} in a storage of {len(storage)} numbers")
    return torch.empty(0, dtype=storage.dtype).set_(storage, offset, size, stride)


def _rebuild_parameter(tensor: Any, *_: Any) -> Any:
    return tensor


def _reconstruct(kind: Any, *_: Any) -> Any:
    """An object of an old pickle. Only holders are made."""
    return kind() if isinstance(kind, type) and issubclass(kind, Holder | _Dictionary) else Holder()


KNOWN: Final[Mapping[tuple[str, str], Callable[..., Any]]] = {
    ("torch._utils", "_rebuild_tensor"): _rebuild_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
    ("torch._utils", "_rebuild_parameter"): _rebuild_parameter,
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "Counter"): _Dictionary,
    ("collections", "defaultdict"): _Dictionary,
    ("copyreg", "_reconstructor"): _reconstruct,
    ("copy_reg", "_reconstructor"): _reconstruct,
    ("builtins", "set"): set,
    ("__builtin__", "set"): set,
}


class _Unpickler(pickle._Unpickler):  # the one in Python: the other allocates what a file claims to need
    """Finds names in KNOWN, and holders for all others."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        function = KNOWN.get((module_name, global_name))
        return function or type("Holder", (Holder,), {"kind": f"{module_name}.{global_name}"})


def _load(file: Any, **options: Any) -> Any:
    return _Unpickler(file, **options).load()


PICKLE_MODULE: Final = SimpleNamespace(Unpickler=_Unpickler, load=_load, __name__="checkpoint_pickle")


def choose(folder: Path, best: str) -> Path | None:
    """The file `best` of a folder, or its only one with that suffix; None if there is none. UserError for several."""
    paths = sorted(folder.glob(f"*{Path(best).suffix}"))
    if folder / best in paths:
        return folder / best
    if len(paths) > 1:
        raise UserError(f"{folder}: expected {best}, found {', '.join(path.name for path in paths)}; name the file")
    return paths[0] if paths else None


def is_checkpoint(path: Path) -> bool:
    """Whether a file begins as those of torch do."""
    with path.open("rb") as file:
        return file.read(4)[:4].startswith((ZIP, PICKLE))


def read(path: Path) -> Any:
    """Read a checkpoint. UserError if it is truncated, or none of torch's."""
    with _errors(path, "a checkpoint of PyTorch"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # storages with a type are old
        return torch.load(_opened(path), map_location="cpu", pickle_module=PICKLE_MODULE, weights_only=False)


def read_object(path: Path) -> Any:
    """Read a pickle without tensors. UserError if it is truncated, or none."""
    with _errors(path, "a pickle"):
        return _load(io.BytesIO(path.read_bytes()))


@contextmanager
def _errors(path: Path, expected: str) -> Iterator[None]:
    """UserError for whatever goes wrong when a file is read."""
    try:
        yield
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"{path}: cannot read ({error.strerror or error})") from error
    except MemoryError as error:
        raise UserError(f"{path}: damaged: it claims to be larger than the memory") from error
    except Exception as error:  # a program of which any step can fail
        raise UserError(f"{path}: truncated, or not {expected} ({describe(error)})") from error


def _opened(path: Path) -> Path | io.BytesIO:
    """What torch is to read: not a program, an archive that expands, or one whose files it would write to the disk."""
    with path.open("rb") as file:
        start = file.read(4)
    if start.startswith(PICKLE):
        return io.BytesIO(path.read_bytes())
    if start != ZIP:
        raise UserError(f"{path}: not a checkpoint of PyTorch")
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    if any(member.filename.rsplit("/", 1)[-1] == TORCHSCRIPT for member in members):
        raise UserError(f"{path}: expected weights, found a program (TorchScript)")
    if sum(member.file_size for member in members) > path.stat().st_size:
        raise UserError(f"{path}: expected files that are not compressed")
    return path


def arrays(path: Path, state: Any) -> dict[str, Array]:
    """The tensors of a state by name. UserError names one that cannot be used."""
    if not isinstance(state, Mapping):
        raise UserError(f"{path}: expected tensors by name")
    tensors = {}
    for name, tensor in state.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise UserError(f"{path}: tensor {str(name)[:60]!r}: expected numbers, found {type(tensor).__name__}")
        if not tensor.is_floating_point():
            continue  # counters, such as of batches
        if not torch.isfinite(tensor).all():
            raise UserError(f"{path}: tensor {name[:60]!r}: expected finite numbers, found infinity or NaN")
        tensors[name] = np.asarray(tensor.detach().float().numpy())
    return tensors

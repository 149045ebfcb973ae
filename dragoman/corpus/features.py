"""Numeric sources, such as the regions of images: an array for each line of a corpus."""

import json
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from dragoman.errors import UserError
from dragoman.files.writing import write_atomically
from dragoman.text.pipeline import Side

Array: TypeAlias = npt.NDArray[Any]
Given: TypeAlias = str | Path | Array  # a source as users give it: a text, an array, or a .npy file
Item = TypeVar("Item")

DAMAGED = (  # exceptions that the readers raise for malformed files
    ValueError,
    EOFError,
    KeyError,
    NotImplementedError,
    TokenError,
    zipfile.BadZipFile,
    zlib.error,
    SafetensorError,
)


class _Arrays(NamedTuple):
    """Arrays that are read on demand."""

    lines: int
    read: Callable[[int], Array]


class FeatureFile:
    """The arrays (regions, size) of a file, one for each line of the corpus.

    A .npy file holds all of them as one array (lines, regions, size), or (lines, size) if each is a single vector; it
    is memory-mapped. A .npz file holds one array per line, named 0, 1, 2 and so on, with any numbers of regions. A
    .safetensors file may use either layout. An array without regions, or with only zeros, means that the line lacks
    this source.

    Raises UserError if the file is not such a file, or when an array is read that has another size or is not finite.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.suffix not in FORMS:
            raise UserError(f"{path}: expected the name of an array file ({', '.join(FORMS)})")
        with _readable(path):
            self._arrays = FORMS[path.suffix](path)
            if not self._arrays.lines:
                raise ValueError("there is no array")
            self.size = int(np.atleast_1d(self._arrays.read(0)).shape[-1])

    def __len__(self) -> int:
        return self._arrays.lines

    def __getitem__(self, line: int) -> Array:
        regions = self._sound(line)
        return regions if regions.any() else regions[:0]

    def __iter__(self) -> Iterator[Array]:
        return map(self.__getitem__, range(len(self)))

    def _sound(self, line: int) -> Array:
        with _readable(self.path):
            array = self._arrays.read(line)
        return sound(array, f"{self.path}:{line + 1}", self.size)


class FeatureFiles:
    """The arrays of several files, concatenated. UserError if their sizes differ."""

    def __init__(self, files: Sequence[FeatureFile]) -> None:
        self.files = files
        self._ends = list(accumulate(map(len, files)))
        self.size = files[0].size
        for file in files:
            if file.size != self.size:
                raise UserError(f"{file.path}: {file.size} numbers in a region, {files[0].path} has {self.size}")

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, line: int) -> Array:
        number = bisect_right(self._ends, line)
        return self.files[number][line - (self._ends[number - 1] if number else 0)]


@dataclass(frozen=True)
class FeatureSource:
    """A numeric source: its name (the suffix of its files) and the size of a region."""

    name: str
    size: int

    def read(self, value: Given) -> Array:
        """Read the regions (R, size) that a user gave: an array, the name of a .npy file, or nothing ("").

        An array of zeros counts as missing. UserError if it is not an array of that size.
        """
        if isinstance(value, str) and not value.strip():
            return np.zeros((0, self.size), np.float32)
        where = self.name
        if isinstance(value, str | Path):
            where = str(value)
            with _readable(where):
                value = _array(np.load(value, allow_pickle=False))
        if not isinstance(value, np.ndarray):
            raise TypeError(f"{where}: expected an array or the name of a .npy file, found {type(value).__name__}")
        regions = sound(value, where, self.size)
        return regions if regions.any() else regions[:0]

    def opened(self, path: Path) -> FeatureFile:
        """Open a file of arrays for this source. UserError if the size of its regions differs."""
        file = FeatureFile(path)
        self.check(file.size, path)
        return file

    def check(self, size: int, path: Path) -> None:
        """Raise UserError if `size` is not the size of a region."""
        if size != self.size:
            raise UserError(f"{path}: {size} numbers in a region, this run has {self.size}")

    def save(self, folder: Path, side: Side) -> None:
        """Write `SIDE.json`."""
        with write_atomically(folder / f"{side}.json") as file:
            file.write(json.dumps({"size": self.size}) + "\n")

    @classmethod
    def load(cls, folder: Path, side: Side, name: str) -> "FeatureSource":
        """Read what `save` wrote. UserError if the file is missing or damaged."""
        path = folder / f"{side}.json"
        try:
            return cls(name, int(json.loads(path.read_text(encoding="utf-8"))["size"]))
        except OSError as error:
            raise UserError(f"{path}: cannot read ({error.strerror or error})") from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UserError(f"{path}: invalid description of features ({error})") from error


def sound(array: Array, where: str, size: int) -> Array:
    """Return an array as regions (R, size). UserError if it is not numeric, has another shape or is not finite."""
    if array.dtype.kind not in "fiu" or array.ndim not in (1, 2) or array.shape[-1] != size:
        description = f"{array.dtype} of shape {array.shape}"
        raise UserError(f"{where}: expected numbers of shape (regions, {size}) or ({size},), found {description}")
    with np.errstate(over="ignore"):
        array = array.astype(np.float32, copy=False)
    if not np.isfinite(array).all():
        raise UserError(f"{where}: a number is NaN or infinite, or too large for float32")
    return np.atleast_2d(array)


def beside(lines: Iterator[Item], where: str | Path, files: Sequence[FeatureFile]) -> Iterator[Item]:
    """Yield the same lines. Raises UserError, at the latest after the last line, if the number of arrays in one of the
    files differs from the number of lines. `where` names the lines in the message.
    """
    count, shortest = 0, min(map(len, files), default=None)
    for count, line in enumerate(lines, start=1):
        if shortest is not None and count > shortest:
            count += sum(1 for _ in lines)
            break
        yield line
    for file in files:
        if len(file) != count:
            raise UserError(f"{file.path} has {len(file):,} arrays, {where} has {count:,} lines; expected one per line")


@contextmanager
def _readable(where: str | Path) -> Iterator[None]:
    """Turn errors of reading into UserErrors."""
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"{where}: no such file") from None
    except OSError as error:
        raise UserError(f"{where}: cannot read ({error.strerror or error})") from error
    except DAMAGED as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        if "pickle" in reason:  # numpy assumes that an unknown file is a pickle and suggests loading it
            reason = "not numeric, or not in numpy format"
        raise UserError(f"{where}: invalid array file ({reason})") from error


def _npy(path: Path) -> _Arrays:
    return _of_one(_array(np.load(path, mmap_mode="r", allow_pickle=False)))


def _npz(path: Path) -> _Arrays:
    archive = np.load(path, allow_pickle=False)
    if isinstance(archive, np.ndarray):
        raise ValueError("it contains a single array: name it .npy")
    if len(archive.files) == 1 and archive.files != ["0"]:
        raise ValueError("a single array for all lines: save it as .npy, which is read on demand")
    return _of_many(archive.files, lambda name: _array(archive[name]))


def _safetensors(path: Path) -> _Arrays:
    file: Any = safe_open(path, framework="pt")  # torch, unlike numpy, has bfloat16
    names = list(file.keys())
    if len(names) == 1:
        whole = file.get_slice(names[0])
        shape = whole.get_shape()
        if names != ["0"] or len(shape) == 3:
            _check(len(shape))
            return _Arrays(shape[0], lambda line: whole[line].float().numpy())
    return _of_many(names, lambda name: file.get_tensor(name).float().numpy())


def _array(content: Any) -> Array:
    """Return what numpy has read. ValueError if it is not an array."""
    if not isinstance(content, np.ndarray):
        raise ValueError(f"expected an array, found {type(content).__name__}")
    return content


def _of_one(array: Array) -> _Arrays:
    _check(array.ndim)
    return _Arrays(len(array), lambda line: np.asarray(array[line]))


def _check(axes: int) -> None:
    if axes not in (2, 3):
        raise ValueError(f"expected an array (lines, regions, size) or (lines, size), found one of {axes} axes")


def _of_many(names: list[str], read: Callable[[str], Array]) -> _Arrays:
    distinct = set(names)
    missing = next((number for number in range(len(names)) if str(number) not in distinct), None)
    if missing is not None:
        raise ValueError(f"expected arrays named 0 to {len(names) - 1}, {missing} is missing")
    return _Arrays(len(names), lambda line: read(str(line)))


FORMS: dict[str, Callable[[Path], _Arrays]] = {".npy": _npy, ".npz": _npz, ".safetensors": _safetensors}

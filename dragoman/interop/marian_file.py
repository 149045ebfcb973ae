"""Files of Marian's models: `.npz`, and the `.bin` of its converter, with 8- and 16-bit integers.

Both hold tensors by name and, as `special:model.yml`, the options of the model as YAML. A `.bin` is little-endian: u64
version (1), u64 count; for each item u64 name length (with its NUL), type, dimensions and data length; the names; the
shapes as i32; u64 padding and so many bytes; the data. Integers of `intgemm` are those of the transposed matrix, except
those of a table of embeddings, and are followed by the float32 by which the matrix was multiplied.
"""

import math
import struct
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from dragoman.configuration import yaml_lines
from dragoman.errors import UserError, describe

OPTIONS: Final = "special:model.yml"
MOST_ITEMS = 100_000
UNREADABLE: Final = (  # what reading a damaged archive raises
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    struct.error,
)
EXPANSION = 200  # a file that claims to hold this many times its own size is none of Marian's
FLOATS: Final[Mapping[int, str]] = {0x402: "<f2", 0x404: "<f4", 0x408: "<f8"}
INTEGERS: Final[Mapping[int, str]] = {0x101: "i1", 0x102: "<i2", 0x104: "<i4", 0x108: "<i8", 0x201: "u1"}
QUANTIZED: Final[Mapping[int, str]] = {0x10001: "i1", 0x10002: "<i2"}  # intgemm8, intgemm16
NAMES: Final[Mapping[int, str]] = {0x802: "packed16", 0x1801: "packed8avx2", 0x2801: "packed8avx512"}

Array = npt.NDArray[Any]


class MarianFile(NamedTuple):
    """The options and tensors of a model file."""

    path: Path
    options: dict[str, Any]
    tensors: dict[str, Array]


def read(path: Path) -> MarianFile:
    """Read a `.npz` or a `.bin`. UserError names the file, the tensor, and what was expected."""
    try:
        with path.open("rb") as file:
            is_zip = file.read(4) == b"PK\x03\x04"
        tensors = read_npz(path) if is_zip else _read_bin(path, path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: cannot read ({error.strerror or error})") from error
    if OPTIONS not in tensors:
        raise UserError(f"{path}: not a Marian model (it has no {OPTIONS})")
    # Marian fills the array with NULs.
    text = tensors.pop(OPTIONS).tobytes().partition(b"\0")[0]
    document = yaml_lines.read(text.decode(errors="replace"), f"{path}: {OPTIONS}")
    if document.faults or not isinstance(document.value, dict):
        problem = document.faults[0].message if document.faults else "expected options by name"
        raise UserError(f"{path}: {OPTIONS}: {problem}")
    for name, tensor in tensors.items():
        if not np.issubdtype(tensor.dtype, np.floating):
            _refuse(path, name, "floating-point numbers", str(tensor.dtype))
        if not np.isfinite(tensor).all():
            _refuse(path, name, "finite numbers", "infinity or NaN")
    return MarianFile(path, document.value, tensors)


def _refuse(path: Path, name: str, expected: str, actual: str) -> NoReturn:
    raise UserError(f"{path}: tensor {name[:100]!r}: expected {expected}, found {actual}")


def read_npz(path: Path) -> dict[str, Array]:
    """The arrays of a `.npz` by name. UserError names the file, the array, and what was expected."""
    tensors = {}
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > MOST_ITEMS or sum(item.file_size for item in members) > EXPANSION * path.stat().st_size:
                raise UserError(f"{path}: not a Marian model (it would expand to more than {EXPANSION} times its size)")
            for member in members:
                name = member.filename.removesuffix(".npy")
                with archive.open(member) as file:
                    tensors[name] = _read_array(path, name, file.read())
    except UNREADABLE as error:
        raise UserError(f"{path}: truncated or not a .npz file ({describe(error)})") from error
    return tensors


def _read_array(path: Path, name: str, data: bytes) -> Array:
    """One array in NumPy's format, whose header is text; objects are refused, since they are pickles."""
    from io import BytesIO

    file = BytesIO(data)
    try:
        version = npy.read_magic(file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # headers of Python 2 are read in another way
            header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
            shape, by_columns, kind = header(file)
    except KeyError as error:
        raise UserError(f"{path}: tensor {name[:100]!r}: expected version 1 or 2 of NumPy's format") from error
    except Exception as error:  # the header is a Python expression, of which any step can fail
        raise UserError(
            f"{path}: tensor {name[:100]!r}: expected an array in NumPy's format ({describe(error)})"
        ) from error
    if kind.hasobject or any(size < 0 for size in shape):
        _refuse(path, name, "an array of numbers", f"{kind} {shape}")
    _check_length(path, name, shape, kind.itemsize, len(data) - file.tell())
    array: Array = np.frombuffer(data, kind, math.prod(shape), file.tell())
    return array.reshape(shape, order="F" if by_columns else "C")


def _check_length(path: Path, name: str, shape: tuple[int, ...], size: int, length: int) -> None:
    if math.prod(shape) * size != length:
        _refuse(path, name, f"{math.prod(shape) * size:,} bytes of data for shape {shape}", f"{length:,}")


class _Header(NamedTuple):
    name: int
    kind: int
    dimensions: int
    data: int


class _Cursor:
    """Reads a file's bytes one after another, never beyond their end."""

    def __init__(self, path: Path, data: bytes) -> None:
        self._path, self._data, self._at = path, data, 0

    def take(self, length: int, what: str) -> bytes:
        if not 0 <= length <= len(self._data) - self._at:
            left = len(self._data) - self._at
            raise UserError(
                f"{self._path}: {what}: expected {length:,} bytes, found {left:,} up to the end of the file"
            )
        self._at += length
        return self._data[self._at - length : self._at]

    def integers(self, count: int, letter: str, what: str) -> tuple[int, ...]:
        form = f"<{count}{letter}"
        return struct.unpack(form, self.take(struct.calcsize(form), what))


def _read_bin(path: Path, data: bytes) -> dict[str, Array]:
    cursor = _Cursor(path, data)
    version, count = cursor.integers(2, "Q", "header")
    if version != 1 or not 0 < count <= MOST_ITEMS:
        raise UserError(f"{path}: not a Marian model (neither a .npz nor a .bin of version 1)")
    headers = [_Header(*cursor.integers(4, "Q", "table of items")) for _ in range(count)]
    names = [cursor.take(header.name, "names").rstrip(b"\0").decode(errors="replace") for header in headers]
    shapes = []
    for name, header in zip(names, headers, strict=True):
        if header.dimensions > 8:
            _refuse(path, name, "at most 8 dimensions", f"{header.dimensions:,}")
        shapes.append(cursor.integers(header.dimensions, "i", "shapes"))
    (padding,) = cursor.integers(1, "Q", "padding")
    cursor.take(padding, "padding")
    tensors = {}
    for name, header, shape in zip(names, headers, shapes, strict=True):
        values = cursor.take(header.data, f"data of tensor {name[:100]!r}")
        if any(size < 0 for size in shape):
            _refuse(path, name, "sizes of at least 0", str(shape))
        if name in tensors:
            raise UserError(f"{path}: tensor {name[:100]!r}: expected once, found twice")
        if "QuantMultA" not in name:  # scales of activations, which we do not quantize
            tensors[name] = _decoded(path, name, header.kind, shape, values)
    return tensors


def _decoded(path: Path, name: str, kind: int, shape: tuple[int, ...], data: bytes) -> Array:
    """The numbers of one item, as float32 where they were rounded to integers."""
    if kind in QUANTIZED:
        numbers = np.dtype(QUANTIZED[kind])
        length = math.prod(shape) * numbers.itemsize
        if len(data) < length + 4 or len(shape) != 2:
            _refuse(path, name, f"a matrix of {math.prod(shape):,} integers and a scale", f"{len(data):,} bytes")
        scale = np.frombuffer(data, "<f4", 1, length)[0]
        if not (np.isfinite(scale) and scale > 0):
            _refuse(path, name, "a positive scale", str(scale))
        with np.errstate(over="ignore"):  # what overflows is refused as not finite
            rounded: Array = np.frombuffer(data, numbers, math.prod(shape)).astype(np.float32) / scale
        return rounded.reshape(shape) if name.endswith("Wemb") else rounded.reshape(shape[::-1]).T
    if kind not in FLOATS and kind not in INTEGERS:
        kind_name = NAMES.get(kind, f"type {kind:#x}, made for one kind of processor")
        _refuse(
            path, name, "float32, intgemm8 or intgemm16", f"{kind_name}; import the .npz that it was converted from"
        )
    numbers = np.dtype({**FLOATS, **INTEGERS}[kind])
    length = math.prod(shape) * numbers.itemsize
    if len(data) < length:  # Marian rounds the length up
        _refuse(path, name, f"{length:,} bytes of data for shape {shape}", f"{len(data):,}")
    return np.frombuffer(data, numbers, math.prod(shape)).reshape(shape)

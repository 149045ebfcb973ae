"""A prepared corpus on disk: rows of different lengths in flat, memory-mapped files."""

import copy
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dragoman.configuration.messages import written_by
from dragoman.errors import UserError
from dragoman.files.writing import write_atomically

VERSION = 2
HEADER = "header.json"
VALUES, OFFSETS = ".values", ".offsets"  # the two files of a column
OFFSET = np.dtype("<i8")
FOREIGN = "not the header of a prepared corpus; delete its folder to prepare the corpus again"
PART = r"\.[0-9a-f]{8}\.part"  # the suffix of a store while it is written or removed
CHECKED = 1 << 20  # rows checked at a time

Row = npt.NDArray[np.integer]


class Rows(NamedTuple):
    """Rows of different lengths (N,), with their values concatenated."""

    values: Row
    lengths: npt.NDArray[np.int64]

    def chosen(self, rows: npt.NDArray[np.bool_]) -> "Rows":
        """Return only the rows for which `rows` (N,) is True."""
        return Rows(self.values[np.repeat(rows, self.lengths)], self.lengths[rows])

    def holding(self, value: int) -> npt.NDArray[np.bool_]:
        """Return a mask (N,) of the rows that contain this value; no row may be empty."""
        return np.logical_or.reduceat(self.values == value, np.cumsum(self.lengths) - self.lengths)

    def after(self, values: Sequence[int]) -> "Rows":
        """Return the same rows, each preceded by these values."""
        begins = np.repeat(np.cumsum(self.lengths) - self.lengths, len(values))
        return Rows(np.insert(self.values, begins, np.tile(values, len(self.lengths))), self.lengths + len(values))


class Column:
    """Row i is `values[offsets[i] : offsets[i + 1]]`."""

    def __init__(self, values: Row, offsets: npt.NDArray[np.int64]) -> None:
        self.values = values
        self.offsets = offsets

    def __getitem__(self, row: int) -> Row:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of values in each row (N,)."""
        return np.diff(self.offsets)


class Store:
    """The columns of a corpus by name, each with the same number of rows, and the writer's notes about them.

    `source` and `target` hold ids that end with EOS; the meaning of other columns is up to the writer. Raises UserError
    if the folder is not a complete store.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        header = read_header(folder)
        try:
            self.notes: dict[str, Any] = header["notes"]
            self.rows = int(header["rows"])
            layouts = {name: (np.dtype(dtype), int(size)) for name, (dtype, size) in header["columns"].items()}
            if self.rows < 0 or any(dtype.kind != "u" for dtype, _ in layouts.values()):
                raise ValueError("columns are rows of unsigned integers")
            self.columns = {name: self._open(name, *layout) for name, layout in layouts.items()}
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{folder / HEADER}: not the header of a prepared corpus ({error})") from error

    def __len__(self) -> int:
        return self.rows

    def renamed(self, names: Mapping[str, str]) -> "Store":
        """Return the same store with only these columns, as far as they exist, under new names."""
        store = copy.copy(self)
        store.columns = {names[name]: column for name, column in self.columns.items() if name in names}
        return store

    def _open(self, name: str, dtype: np.dtype[Any], size: int) -> Column:
        values = _open_array(self.folder / f"{name}{VALUES}", dtype, size)
        offsets = _open_array(self.folder / f"{name}{OFFSETS}", OFFSET, self.rows + 1)
        # Checked once here, since a wrong offset would be read as another sentence, without an error.
        if offsets[0] != 0 or offsets[-1] != size or not _is_rising(offsets):
            raise self.damaged(f"{name}{OFFSETS}")
        return Column(values, offsets)

    def damaged(self, name: str) -> UserError:
        """Return the error to raise if a file of the store has unexpected content."""
        return UserError(f"{self.folder / name}: damaged; delete {self.folder} to prepare it again")


def _is_rising(offsets: npt.NDArray[np.int64]) -> bool:
    """Return whether offsets never decrease, checked in blocks to bound memory."""
    parts = (offsets[begin : begin + CHECKED + 1] for begin in range(0, len(offsets) - 1, CHECKED))
    return all(bool((part[:-1] <= part[1:]).all()) for part in parts)


def read_header(folder: Path) -> dict[str, Any]:
    """Return the header of a store. UserError if it is missing, damaged or of another version."""
    header = _header(folder)
    if header["version"] != VERSION:
        reason = written_by(header["version"], VERSION)
        raise UserError(f"{folder / HEADER}: {reason}; delete its folder to prepare the corpus again")
    return header


def _header(folder: Path) -> dict[str, Any]:
    """Return the header of a store of any version."""
    path = folder / HEADER
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot read ({error.strerror or error})") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: {FOREIGN}") from error
    if not isinstance(header, dict) or not isinstance(header.get("columns"), dict) or "version" not in header:
        raise UserError(f"{path}: {FOREIGN}")
    return header


def discard_store(folder: Path) -> None:
    """Remove a store, if there is one. UserError, and nothing is removed, if something else has its name.

    The store is renamed first, so that a killed process leaves no partial store under its name.
    """
    check_free(folder)
    if folder.exists():
        # Renaming is one step of the file system, removing several files is not.
        removed = _part(folder)
        folder.rename(removed)
        _clear(removed)


def check_free(folder: Path) -> None:
    """Raise UserError if the folder is not a store, or contains anything that its header does not name."""
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or not (folder / HEADER).is_file():
        raise UserError(f"{folder}: is not a prepared corpus; move it elsewhere")
    expected = {HEADER, *(f"{name}{file}" for name in _header(folder)["columns"] for file in (VALUES, OFFSETS))}
    strange = sorted({path.name for path in folder.iterdir()} - expected)
    if strange:
        raise UserError(f"{folder}: holds {strange[0]}, which is not part of the prepared corpus; move it elsewhere")


def sweep_stores(folder: Path) -> None:
    """Remove half-written or half-removed stores of that name, left by killed processes."""
    for path in folder.parent.glob(f".{folder.name}.*.part"):
        if re.fullmatch(re.escape(f".{folder.name}") + PART, path.name):
            _clear(path)


def _part(folder: Path) -> Path:
    """Return a hidden path beside the folder for an incomplete store."""
    return folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.part")


def _clear(folder: Path) -> None:
    """Remove the files of a store, and the folder if nothing else is in it."""
    ours = re.compile(rf".+({re.escape(VALUES)}|{re.escape(OFFSETS)})|\.?{re.escape(HEADER)}({PART})?")
    with suppress(OSError):
        for path in folder.iterdir():
            if ours.fullmatch(path.name):
                path.unlink()
        folder.rmdir()


def _open_array(path: Path, dtype: np.dtype[Any], size: int) -> npt.NDArray[Any]:
    try:
        actual = path.stat().st_size
        if actual == size * dtype.itemsize:
            # Only pages in use are loaded into memory. An empty file cannot be mapped.
            return np.memmap(path, dtype, "r", shape=(size,)) if size else np.empty(0, dtype)
    except OSError as error:
        raise UserError(f"{path}: cannot read ({error.strerror or error})") from error
    raise UserError(
        f"{path}: has {actual:,} bytes instead of {size * dtype.itemsize:,}; delete {path.parent} to prepare it again"
    )


@contextmanager
def new_store(folder: Path, columns: Mapping[str, npt.DTypeLike]) -> Iterator["StoreWriter"]:
    """Yield the writer of a store, which appears under its name when the block ends without an exception.

    Until then it is a hidden folder beside that name; an existing store is replaced. UserError if the disk is full, or
    if something other than a store has that name.
    """
    temporary = _part(folder)
    check_free(folder)
    try:
        sweep_stores(folder)
        temporary.mkdir(parents=True)
        with ExitStack() as stack:
            writer = StoreWriter([stack.enter_context(ColumnWriter(temporary, *column)) for column in columns.items()])
            yield writer
        # The header last: a store is one that has it.
        with write_atomically(temporary / HEADER) as file:
            json.dump(writer.header(), file)
        discard_store(folder)
        temporary.rename(folder)
    except OSError as error:
        raise UserError(f"{folder}: cannot write ({error.strerror or error})") from error
    finally:
        _clear(temporary)


class StoreWriter:
    """Writes the columns of a store, and the notes that go into its header."""

    def __init__(self, columns: Sequence["ColumnWriter"]) -> None:
        self.notes: dict[str, Any] = {}
        self.rows = 0
        self._columns = columns

    def append(self, rows: Mapping[str, Rows]) -> None:
        """Append rows, given their values in every column."""
        (count,) = {len(rows[column.name].lengths) for column in self._columns}
        for column in self._columns:
            column.append(rows[column.name])
        self.rows += count

    def header(self) -> dict[str, Any]:
        """Return the header that a reader needs; complete once the columns are closed."""
        columns = {column.name: (column.dtype.str, column.size) for column in self._columns}
        return {"version": VERSION, "rows": self.rows, "columns": columns, "notes": self.notes}


class ColumnWriter:
    """Appends rows to the two files of a column."""

    def __init__(self, folder: Path, name: str, dtype: npt.DTypeLike) -> None:
        self.name = name
        # Little-endian on all machines, so that a store can be copied.
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.size = 0
        self._values = (folder / f"{name}{VALUES}").open("wb")
        self._offsets = (folder / f"{name}{OFFSETS}").open("wb")
        self._offsets.write(np.zeros(1, OFFSET).tobytes())

    def __enter__(self) -> "ColumnWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._values, self._offsets:
            if error is None:  # after a power failure, a header must not name values that are not on the disk
                for file in (self._values, self._offsets):
                    file.flush()
                    os.fsync(file.fileno())

    def append(self, rows: Rows) -> None:
        """Append rows of values. ValueError if the column's type cannot hold them."""
        # numpy wraps numbers that do not fit, and says nothing.
        values = rows.values.astype(self.dtype)
        if not np.array_equal(values, rows.values):
            raise ValueError(f"column {self.name}: a value does not fit into {self.dtype}")
        self._values.write(values.tobytes())
        self._offsets.write((self.size + np.cumsum(rows.lengths, dtype=OFFSET)).tobytes())
        self.size += len(values)

"""A prepared corpus on disk: rows of different lengths in flat files that are mapped, not read."""

import copy
import json
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
from dragoman.files import write_atomically

VERSION = 2
HEADER = "header.json"
VALUES, OFFSETS = ".values", ".offsets"  # of a column: its two files
OFFSET = np.dtype("<i8")
FOREIGN = "not the header of a prepared corpus; if training wrote it, delete its folder to prepare the corpus again"
PART = r"\.[0-9a-f]{8}\.part"  # how the name of what is being written, or removed, ends
CHECKED = 1 << 20  # rows that are checked at a time

Row = npt.NDArray[np.integer]


class Rows(NamedTuple):
    """Rows of different lengths (N,), their values one after another."""

    values: Row
    lengths: npt.NDArray[np.int64]

    def chosen(self, rows: npt.NDArray[np.bool_]) -> "Rows":
        """Those rows alone for which `rows` (N,) is True."""
        return Rows(self.values[np.repeat(rows, self.lengths)], self.lengths[rows])

    def holding(self, value: int) -> npt.NDArray[np.bool_]:
        """Which rows, none of them empty, have this value (N,)."""
        return np.logical_or.reduceat(self.values == value, np.cumsum(self.lengths) - self.lengths)

    def behind(self, values: Sequence[int]) -> "Rows":
        """The same rows, each behind these values."""
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
    """The columns of a corpus by name, each with the same rows, and what the writer noted about them.

    `source` and `target` hold ids that end with EOS; other columns are their writer's affair. Raises
    UserError where the folder is not a whole store.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        header = read_header(folder)
        try:
            self.notes: dict[str, Any] = header["notes"]
            self.rows = int(header["rows"])
            kinds = {name: (np.dtype(kind), int(size)) for name, (kind, size) in header["columns"].items()}
            if self.rows < 0 or any(kind.kind != "u" for kind, _ in kinds.values()):
                raise ValueError("columns are rows of unsigned integers")
            self.columns = {name: self._open(name, *kind) for name, kind in kinds.items()}
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{folder / HEADER}: not the header of a prepared corpus ({error})") from error

    def __len__(self) -> int:
        return self.rows

    def renamed(self, names: Mapping[str, str]) -> "Store":
        """The same store with these columns alone, as far as it has them, under their new names."""
        store = copy.copy(self)
        store.columns = {names[name]: column for name, column in self.columns.items() if name in names}
        return store

    def _open(self, name: str, dtype: np.dtype[Any], size: int) -> Column:
        values = _mapped(self.folder / f"{name}{VALUES}", dtype, size)
        offsets = _mapped(self.folder / f"{name}{OFFSETS}", OFFSET, self.rows + 1)
        if offsets[0] != 0 or offsets[-1] != size or not _rising(offsets):
            raise self.damaged(f"{name}{OFFSETS}")
        return Column(values, offsets)

    def damaged(self, name: str) -> UserError:
        """What to raise where a file of the store has what nobody wrote there."""
        return UserError(f"{self.folder / name}: damaged; delete {self.folder} to prepare it again")


def _rising(offsets: npt.NDArray[np.int64]) -> bool:
    """Whether none is less than the one before; of a large corpus only a part is in memory at a time."""
    parts = (offsets[begin : begin + CHECKED + 1] for begin in range(0, len(offsets) - 1, CHECKED))
    return all(bool((part[:-1] <= part[1:]).all()) for part in parts)


def read_header(folder: Path) -> dict[str, Any]:
    """The header of a store. UserError where it is missing, damaged or of another version."""
    header = _header(folder)
    if header["version"] != VERSION:
        found = written_by(header["version"], VERSION)
        raise UserError(f"{folder / HEADER}: {found}; delete its folder to prepare the corpus again")
    return header


def _header(folder: Path) -> dict[str, Any]:
    """The same of any version."""
    path = folder / HEADER
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot read ({error.strerror or error})") from error
    except ValueError as error:
        raise UserError(f"{path}: {FOREIGN}") from error
    if not isinstance(header, dict) or not isinstance(header.get("columns"), dict) or "version" not in header:
        raise UserError(f"{path}: {FOREIGN}")
    return header


def discard(folder: Path) -> None:
    """Remove a store, if there is one. UserError, and nothing is removed, where something else has its name.

    It is renamed first: a process killed on the way leaves no half of a store under the name.
    """
    check_free(folder)
    if folder.exists():
        removed = _part(folder)
        folder.rename(removed)
        _clear(removed)


def check_free(folder: Path) -> None:
    """UserError where the folder is no store, or holds anything that its header does not name."""
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or not (folder / HEADER).is_file():
        raise UserError(f"{folder}: is not a prepared corpus, whose place it takes; move it elsewhere")
    known = {HEADER, *(f"{name}{file}" for name in _header(folder)["columns"] for file in (VALUES, OFFSETS))}
    strange = sorted({path.name for path in folder.iterdir()} - known)
    if strange:
        raise UserError(f"{folder}: holds {strange[0]}, which is no part of the prepared corpus; move it elsewhere")


def sweep(folder: Path) -> None:
    """Remove what a killed process left half-written, or half-removed, of a store of that name."""
    for path in folder.parent.glob(f".{folder.name}.*.part"):
        if re.fullmatch(re.escape(f".{folder.name}") + PART, path.name):
            _clear(path)


def _part(folder: Path) -> Path:
    """A hidden name beside the folder for what is not a whole store."""
    return folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.part")


def _clear(folder: Path) -> None:
    """Remove the files of a store, and the folder if nothing else is in it."""
    ours = re.compile(rf".+({re.escape(VALUES)}|{re.escape(OFFSETS)})|\.?{re.escape(HEADER)}({PART})?")
    with suppress(OSError):
        for path in folder.iterdir():
            if ours.fullmatch(path.name):
                path.unlink()
        folder.rmdir()


def _mapped(path: Path, dtype: np.dtype[Any], size: int) -> npt.NDArray[Any]:
    try:
        found = path.stat().st_size
        if found == size * dtype.itemsize:
            # Only the pages that are used come into memory. An empty file cannot be mapped.
            return np.memmap(path, dtype, "r", shape=(size,)) if size else np.empty(0, dtype)
    except OSError as error:
        raise UserError(f"{path}: cannot read ({error.strerror or error})") from error
    raise UserError(
        f"{path}: has {found:,} bytes instead of {size * dtype.itemsize:,}; delete {path.parent} to prepare it again"
    )


@contextmanager
def new_store(folder: Path, columns: Mapping[str, npt.DTypeLike]) -> Iterator["StoreWriter"]:
    """A writer of a store that appears under its name when the block ends without an exception.

    Until then it is a hidden folder beside it; a store that stood under the name is replaced. UserError where the
    disk is full, or where something else stands there.
    """
    temporary = _part(folder)
    check_free(folder)
    try:
        sweep(folder)
        temporary.mkdir(parents=True)
        with ExitStack() as stack:
            writer = StoreWriter([stack.enter_context(ColumnWriter(temporary, *column)) for column in columns.items()])
            yield writer
        with write_atomically(temporary / HEADER) as file:
            json.dump(writer.header(), file)
        discard(folder)
        temporary.rename(folder)
    except OSError as error:
        raise UserError(f"{folder}: cannot write ({error.strerror or error})") from error
    finally:
        _clear(temporary)


class StoreWriter:
    """The columns of a store in the making and the notes that go into its header."""

    def __init__(self, columns: Sequence["ColumnWriter"]) -> None:
        self.notes: dict[str, Any] = {}
        self.rows = 0
        self._columns = columns

    def append(self, rows: Mapping[str, Rows]) -> None:
        """Adds rows: their values in every column."""
        (count,) = {len(rows[column.name].lengths) for column in self._columns}
        for column in self._columns:
            column.append(rows[column.name])
        self.rows += count

    def header(self) -> dict[str, Any]:
        """What a reader must know; complete once the columns are closed."""
        columns = {column.name: (column.dtype.str, column.size) for column in self._columns}
        return {"version": VERSION, "rows": self.rows, "columns": columns, "notes": self.notes}


class ColumnWriter:
    """Appends rows to the two files of a column."""

    def __init__(self, folder: Path, name: str, dtype: npt.DTypeLike) -> None:
        self.name = name
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
        self._values.close()
        self._offsets.close()

    def append(self, rows: Rows) -> None:
        """Adds rows of values. ValueError where the column's type cannot hold them."""
        values = rows.values.astype(self.dtype)
        if not np.array_equal(values, rows.values):
            raise ValueError(f"column {self.name}: a value does not fit into {self.dtype}")
        self._values.write(values.tobytes())
        self._offsets.write((self.size + np.cumsum(rows.lengths, dtype=OFFSET)).tobytes())
        self.size += len(values)

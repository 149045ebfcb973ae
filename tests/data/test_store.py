"""Stores: what was written is read, and what is not whole is not read."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from dragoman.data.store import HEADER, Rows, Store, new_store
from dragoman.errors import UserError
from tests import disk
from tests.golden import Golden

ROWS = [[4, 5, 3], [3], [65535, 3]]


def flat(rows: Sequence[Sequence[int]]) -> Rows:
    return Rows(
        np.array([number for row in rows for number in row], np.int64), np.array(list(map(len, rows)), np.int64)
    )


def written(folder: Path, rows: list[list[int]] = ROWS, portion: int = 2) -> Store:
    columns = {"source": np.uint16, "target": np.uint32, "source.text": np.uint8}
    with new_store(folder, columns) as store:
        for begin in range(0, len(rows), portion):
            block = rows[begin : begin + portion]
            texts = [f"ä{number}".encode() for number in range(begin, begin + len(block))]
            store.append(
                {"source": flat(block), "target": flat([[70_000, *row] for row in block]), "source.text": flat(texts)}
            )
        store.notes = {"made": "by a test"}
    return Store(folder)


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    store = written(tmp_path / "data")
    assert len(store) == 3
    assert [store.columns["source"][row].tolist() for row in range(3)] == ROWS
    assert store.columns["target"][2].tolist() == [70_000, 65535, 3]
    assert store.columns["source.text"][1].tobytes().decode() == "ä1"
    assert store.columns["source"].lengths.tolist() == [3, 1, 2]
    assert store.columns["target"].offsets.tolist() == [0, 4, 6, 9]
    assert store.notes == {"made": "by a test"}


def test_rows_go_to_disk_in_portions(tmp_path: Path) -> None:
    rows = [[number % 7] * (number % 5) for number in range(2_001)]
    store = written(tmp_path / "data", rows, portion=500)
    assert [store.columns["source"][row].tolist() for row in range(len(rows))] == rows
    assert isinstance(store.columns["source"].values, np.memmap)


def test_some_rows_can_be_chosen() -> None:
    chosen = flat(ROWS).chosen(np.array([True, False, True]))
    assert chosen.values.tolist() == [4, 5, 3, 65535, 3]
    assert chosen.lengths.tolist() == [3, 2]


def test_rows_that_hold_a_value_are_found() -> None:
    rows = flat(ROWS)
    assert [rows.holding(value).tolist() for value in (3, 5, 65535, 6)] == [
        [True, True, True],
        [True, False, False],
        [False, False, True],
        [False, False, False],
    ]


def test_a_value_that_a_column_cannot_hold_is_not_written_as_another(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="column source: a value does not fit into uint16"),
        new_store(tmp_path / "data", {"source": np.uint16}) as store,
    ):
        store.append({"source": flat([[65536]])})
    assert list(tmp_path.iterdir()) == []


def test_an_empty_store_can_be_read(tmp_path: Path) -> None:
    assert len(written(tmp_path / "data", [])) == 0


@pytest.mark.parametrize("bit", [0, 40, 63])
@pytest.mark.parametrize("place", [0, 3])
def test_rows_begin_with_the_first_value_and_end_with_the_last(place: int, bit: int, tmp_path: Path) -> None:
    """One bit has changed in the first offset or in the last."""
    written(tmp_path / "data")
    path = tmp_path / "data" / "target.offsets"
    offsets = np.fromfile(path, "<u8")
    offsets[place] ^= np.uint64(1 << bit)
    offsets.tofile(path)
    with pytest.raises(UserError, match=str(path)):
        Store(tmp_path / "data")


def test_a_new_store_takes_the_place_of_the_old(tmp_path: Path) -> None:
    written(tmp_path / "data")
    assert len(written(tmp_path / "data", [[1]])) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def fail_halfway(folder: Path) -> None:
    with new_store(folder, {"source": np.uint16}) as store:
        store.append({"source": flat([[1]])})
        raise KeyError


def test_values_are_on_the_disk_before_the_header_that_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = disk.record(monkeypatch)
    written(tmp_path / "data")
    files = {path.stat() for path in (tmp_path / "data").iterdir() if path.name != HEADER}
    header = (tmp_path / "data" / HEADER).stat()
    assert len(files) == 6
    *values, last, named = calls
    assert set(values) == {disk.Synchronized(status.st_ino, status.st_size) for status in files}
    assert last == disk.Synchronized(header.st_ino, header.st_size)
    assert isinstance(named, disk.Replaced)
    assert (named.inode, named.target.name) == (header.st_ino, HEADER)


def test_a_writer_that_fails_leaves_the_old_store(tmp_path: Path) -> None:
    written(tmp_path / "data")
    with pytest.raises(KeyError):
        fail_halfway(tmp_path / "data")
    assert len(Store(tmp_path / "data")) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_the_remains_of_a_killed_writer_go(tmp_path: Path) -> None:
    remains = tmp_path / ".data.01234567.part"
    remains.mkdir()
    (remains / "source.values").write_bytes(b"half")
    (remains / ".header.json.89abcdef.part").touch()
    written(tmp_path / "data")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_where_nothing_can_be_written_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file/data: cannot write"), new_store(tmp_path / "file" / "data", {}):
        pass


def flip(row: int) -> Callable[[Path], None]:
    """One offset that points elsewhere."""

    def damage(path: Path) -> None:
        offsets = np.frombuffer(path.read_bytes(), "<i8").copy()
        offsets[row] ^= 1 << 40
        path.write_bytes(offsets.tobytes())

    return damage


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + bytes(8))


def overwrite(path: Path) -> None:
    path.write_bytes(b"\xff" * path.stat().st_size)


def nest(path: Path) -> None:
    path.write_bytes(b"[" * 100_000)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("source.values", cut),
        ("source.values", lengthen),
        ("source.values", Path.unlink),
        ("target.offsets", cut),
        ("target.offsets", overwrite),
        ("target.offsets", flip(0)),
        ("target.offsets", flip(1)),
        ("target.offsets", flip(3)),
        (HEADER, cut),
        (HEADER, Path.unlink),
        (HEADER, overwrite),
        (HEADER, nest),
    ],
)
def test_a_damaged_store_is_told(tmp_path: Path, name: str, damage: Callable[[Path], None]) -> None:
    written(tmp_path / "data")
    damage(tmp_path / "data" / name)
    with pytest.raises(UserError, match=str(tmp_path / "data" / name.partition(".")[0])):
        Store(tmp_path / "data")


@pytest.mark.parametrize("row", range(11))
def test_offsets_are_checked_across_the_parts_that_are_in_memory(
    row: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setattr("dragoman.data.store.CHECKED", 3)
    written(tmp_path / "data", [[4] * (number % 3) for number in range(10)])
    path = tmp_path / "data" / "source.offsets"
    offsets = np.frombuffer(path.read_bytes(), "<i8").copy()
    for wrong in (-1, 99):
        path.write_bytes(np.where(np.arange(11) == row, wrong, offsets).tobytes())
        with pytest.raises(UserError, match=r"source\.offsets:") as raised:
            Store(tmp_path / "data")
        golden(str(raised.value))
    path.write_bytes(offsets.tobytes())
    assert len(Store(tmp_path / "data")) == 10


@pytest.mark.parametrize("kind", ["|O", "<f4", "<i8"])
def test_columns_of_something_else_are_told(kind: str, tmp_path: Path, golden: Golden) -> None:
    written(tmp_path / "data")
    path = tmp_path / "data" / HEADER
    header = json.loads(path.read_text())
    header["columns"]["source"][0] = kind
    path.write_text(json.dumps(header))
    with pytest.raises(UserError) as raised:
        Store(tmp_path / "data")
    golden(str(raised.value))


@pytest.mark.parametrize(
    "header",
    [
        "[]",
        "{}",
        '{"version": 0}',
        '{"version": 2}',
        '{"version": 2, "rows": "x"}',
        '{"version": 2, "rows": -1, "columns": {}, "notes": {}}',
    ],
)
def test_a_foreign_header_is_told(tmp_path: Path, header: str, golden: Golden) -> None:
    written(tmp_path / "data")
    (tmp_path / "data" / HEADER).write_text(header)
    with pytest.raises(UserError) as raised:
        Store(tmp_path / "data")
    golden(str(raised.value))


def test_another_version_is_told(tmp_path: Path, golden: Golden) -> None:
    written(tmp_path / "data")
    path = tmp_path / "data" / HEADER
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 99}))
    with pytest.raises(UserError) as raised:
        Store(tmp_path / "data")
    golden(str(raised.value))

"""Stores: what was written is read, and what is not whole is not read."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dragoman.data.store import BUFFERED_ROWS, HEADER, Store, new_store
from dragoman.errors import UserError

ROWS = [[4, 5, 3], [3], [65535, 3]]


def written(folder: Path, rows: list[list[int]] = ROWS) -> Store:
    columns = {"line": np.int64, "source": np.uint16, "target": np.uint32, "source.text": np.uint8}
    with new_store(folder, columns) as store:
        for number, row in enumerate(rows):
            text = f"ä{number}".encode()
            store.append({"line": [10 * number], "source": row, "target": [70_000, *row], "source.text": text})
        store.notes = {"made": "by a test"}
    return Store(folder)


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    store = written(tmp_path / "data")
    assert len(store) == 3
    assert [store.columns["source"][row].tolist() for row in range(3)] == ROWS
    assert store.columns["target"][2].tolist() == [70_000, 65535, 3]
    assert store.columns["source.text"][1].tobytes().decode() == "ä1"
    assert store.source_lengths.tolist() == [3, 1, 2]
    assert store.target_lengths.tolist() == [4, 2, 3]
    assert store.lines.tolist() == [0, 10, 20]
    assert store.notes == {"made": "by a test"}


def test_rows_go_to_disk_in_portions(tmp_path: Path) -> None:
    rows = [[number % 7] * (number % 5) for number in range(2 * BUFFERED_ROWS + 1)]
    store = written(tmp_path / "data", rows)
    assert all(store.columns["source"][row].tolist() == rows[row] for row in range(0, len(rows), 97))
    assert isinstance(store.columns["source"].values, np.memmap)


def test_an_empty_store_can_be_read(tmp_path: Path) -> None:
    assert len(written(tmp_path / "data", [])) == 0


def test_a_new_store_takes_the_place_of_the_old(tmp_path: Path) -> None:
    written(tmp_path / "data")
    assert len(written(tmp_path / "data", [[1]])) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def fail_halfway(folder: Path) -> None:
    with new_store(folder, {"source": np.uint16}) as store:
        store.append({"source": [1]})
        raise KeyError


def test_a_writer_that_fails_leaves_the_old_store(tmp_path: Path) -> None:
    written(tmp_path / "data")
    with pytest.raises(KeyError):
        fail_halfway(tmp_path / "data")
    assert len(Store(tmp_path / "data")) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_the_remains_of_a_killed_writer_go(tmp_path: Path) -> None:
    (tmp_path / ".data.0123.part").mkdir()
    written(tmp_path / "data")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_where_nothing_can_be_written_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file/data: cannot write"), new_store(tmp_path / "file" / "data", {}):
        pass


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + bytes(8))


def overwrite(path: Path) -> None:
    path.write_bytes(b"\xff" * path.stat().st_size)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("source.values", cut),
        ("source.values", lengthen),
        ("source.values", Path.unlink),
        ("target.offsets", cut),
        ("target.offsets", overwrite),
        (HEADER, cut),
        (HEADER, Path.unlink),
        (HEADER, overwrite),
    ],
)
def test_a_damaged_store_is_told(tmp_path: Path, name: str, damage: Callable[[Path], None]) -> None:
    written(tmp_path / "data")
    damage(tmp_path / "data" / name)
    with pytest.raises(UserError, match=str(tmp_path / "data" / name.partition(".")[0])):
        Store(tmp_path / "data")


@pytest.mark.parametrize("header", ["[]", "{}", '{"version": 0}', '{"version": 1}', '{"version": 1, "rows": "x"}'])
def test_a_foreign_header_is_told(tmp_path: Path, header: str) -> None:
    written(tmp_path / "data")
    (tmp_path / "data" / HEADER).write_text(header)
    with pytest.raises(UserError, match="not the header of a prepared corpus"):
        Store(tmp_path / "data")


def test_another_version_is_told(tmp_path: Path) -> None:
    written(tmp_path / "data")
    path = tmp_path / "data" / HEADER
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 99}))
    with pytest.raises(UserError, match="of version 1"):
        Store(tmp_path / "data")

"""Checkpoints that torch pickled: what they hold, and that nothing of what they name is called."""

import argparse
import collections
import io
import os
import pickle
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.errors import UserError
from dragoman.interop import checkpoint_pickle
from dragoman.interop.checkpoint_pickle import Holder

MARKED: list[str] = []


def mark(text: str) -> str:
    """What a file must not make happen."""
    MARKED.append(text)
    return text


class Payload:
    """Calls a function when it is unpickled."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


class Field:
    """A class of another program."""

    def __init__(self, words: list[str]) -> None:
        self.words = words


class Words(list[str]):
    """The same, as a list."""


def saved(path: Path, value: Any, *, zipped: bool = True) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=zipped)
    return path


@pytest.mark.parametrize("zipped", [True, False])
def test_tensors_containers_and_attributes_are_read(zipped: bool, tmp_path: Path) -> None:
    matrix = torch.arange(12.0).reshape(3, 4)
    value = {
        "model": collections.OrderedDict(
            a=matrix, b=matrix.t()[1:], c=torch.nn.Parameter(matrix[0]), n=torch.tensor(3)
        ),
        "opt": argparse.Namespace(rnn_size=5, layers=[1, 2]),
        "vocab": Field(["a", "b"]),
        "words": Words(["c", "d"]),
        "counts": collections.Counter("aab"),
        "default": collections.defaultdict(int, {"x": 1}),
        "set": {1, 2},
    }
    checkpoint = checkpoint_pickle.read(saved(tmp_path / "model.pt", value, zipped=zipped))
    arrays = checkpoint_pickle.arrays(tmp_path, checkpoint["model"])
    assert arrays.keys() == {"a", "b", "c"}
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, value["model"][name].detach().numpy())  # type: ignore[index]
    assert checkpoint["opt"].kind == "argparse.Namespace"
    assert checkpoint["opt"].attributes == {"rnn_size": 5, "layers": [1, 2]}
    assert checkpoint["vocab"].attributes == {"words": ["a", "b"]}
    assert checkpoint["words"].values == ["c", "d"]
    assert checkpoint["counts"] == {"a": 2, "b": 1}
    assert checkpoint["default"] == {"x": 1}
    assert checkpoint["set"] == {1, 2}


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("function", [mark, os.system, eval, exec, os.mkdir])
def test_nothing_that_a_file_names_is_called(function: Any, zipped: bool, tmp_path: Path) -> None:
    place = tmp_path / "written"
    text = {mark: "x", os.system: f"touch {place}", os.mkdir: str(place)}.get(function, f"open({str(place)!r}, 'w')")
    checkpoint = checkpoint_pickle.read(saved(tmp_path / "model.pt", {"a": Payload(function, text)}, zipped=zipped))
    assert isinstance(checkpoint["a"], Holder)
    assert checkpoint["a"].values == [text]
    assert not MARKED
    assert not place.exists()


def test_a_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/constants.pkl", b"")
    with pytest.raises(UserError, match=r"expected weights, found a program \(TorchScript\)"):
        checkpoint_pickle.read(path)


def test_a_file_that_would_fill_the_memory_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model/data.pkl", bytes(1_000_000))
    with pytest.raises(UserError, match="expected files that are not compressed"):
        checkpoint_pickle.read(path)


def outside(offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> bytes:
    """A pickle with a tensor that may lie outside of its storage."""

    class Storage:
        pass

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            return ("storage", torch.FloatStorage, "0", "cpu", 4) if isinstance(value, Storage) else None

    stream = io.BytesIO()
    rebuild = Payload(torch._utils._rebuild_tensor_v2, Storage(), offset, size, stride, False, {})
    Pickler(stream, 2).dump({"a": rebuild})
    return stream.getvalue()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((1, (4,), (1,)), "a tensor of size (4,) in a storage of 4 numbers"),
        ((0, (2, 2), (1, 3)), "a tensor of size (2, 2) in a storage of 4 numbers"),
        ((0, (1 << 40,), (1,)), "in a storage of 4 numbers"),
        ((-1, (2,), (1,)), "a tensor of size (2,)"),
        ((0, (2,), (1, 1)), "a tensor without a storage"),
    ],
)
def test_a_tensor_outside_its_storage_is_refused(place: Any, message: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "whole.pt", {"a": torch.arange(4.0)})
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
        for name, data in members.items():
            archive.writestr(name, outside(*place) if name.endswith("data.pkl") else data)
    with pytest.raises(UserError) as raised:
        checkpoint_pickle.read(tmp_path / "model.pt")
    assert message in str(raised.value)


@pytest.mark.parametrize("zipped", [True, False])
def test_damaged_files_are_refused_in_one_line(zipped: bool, tmp_path: Path) -> None:
    value = {"model": {"a": torch.ones(3, 4)}, "opt": argparse.Namespace(size=4), "vocab": Field(["a"])}
    path = saved(tmp_path / "model.pt", value, zipped=zipped)
    whole, refused = path.read_bytes(), 0
    for seed in range(200):
        draw, data = random.Random(seed), bytearray(whole)
        for _ in range(draw.choice([1, 3, 20])):
            place = draw.randrange(min(len(data), 600))
            match draw.randrange(3):
                case 0:
                    data[place] = draw.randrange(256)
                case 1:
                    del data[place : place + draw.choice([1, 8, 300])]
                case _:
                    data[place:place] = draw.choice([b"\xff" * 8, b"(", b"R", b"\x80\x02", b"c__builtin__\neval\n"])
        path.write_bytes(data)
        try:
            checkpoint_pickle.read(path)
        except UserError as error:
            refused += 1
            assert str(error).startswith(str(path))  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017
    assert refused > 50


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ([], "expected tensors by name"),
        ({"a": 1}, "tensor 'a': expected numbers, found int"),
        ({"a": torch.full((2,), torch.nan)}, "tensor 'a': expected finite numbers, found infinity or NaN"),
    ],
)
def test_what_is_not_a_state_is_refused(state: Any, message: str) -> None:
    with pytest.raises(UserError) as raised:
        checkpoint_pickle.arrays(Path("model.pt"), state)
    assert str(raised.value) == f"model.pt: {message}"


@pytest.mark.parametrize("contents", [b"", b"text", b"\x80\x02.", b"PK\x03\x04"])
def test_other_files_are_refused(contents: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(contents)
    assert checkpoint_pickle.is_checkpoint(tmp_path / "model.pt") == (contents[:1] in (b"\x80", b"P"))
    with pytest.raises(UserError, match="not a checkpoint of PyTorch"):
        checkpoint_pickle.read(tmp_path / "model.pt")

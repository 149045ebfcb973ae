"""Weights on disk."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save, save_file

from dragoman.errors import UserError
from dragoman.model import build
from dragoman.model.assembly import skip_initial_values
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.weights import DTYPES, NOTE, average_weights, load_weights, read_tensors, weights, write_tensors
from tests.builders import BATCH, SYMBOLS, build_model, settings
from tests.golden import Golden


def saved(folder: Path, model: Seq2Seq, name: str = "model.safetensors") -> Path:
    path = folder / name
    write_tensors(path, weights(model), {"step": 7})
    return path


@pytest.mark.parametrize(("tie", "tensors"), [("none", 3), ("output", 2), ("languages", 2), ("all", 1)])
def test_a_model_is_read_as_it_was_written(tmp_path: Path, tie: str, tensors: int) -> None:
    """With tables tied in any way: each is in the file once, and the same model comes back, still tied."""
    options: dict[str, Any] = {"embedding": {"tie": tie}, "decoder": {"cell": "lstm", "layer_norm": "standard"}}
    model, other = build_model(**options), build_model(**options, seed=1)
    assert not torch.allclose(model(BATCH).features, other(BATCH).features)
    read, note = read_tensors(saved(tmp_path, model))
    assert note == {"step": 7}
    assert sum(tensor.shape == (SYMBOLS, 4) for tensor in read.values()) == tensors
    load_weights(other, read, tmp_path)
    assert torch.equal(other.score(BATCH)[0], model.score(BATCH)[0])
    assert (other.target_embedding.table is other.output.weight) == (tie in ("output", "all"))


def test_the_note_may_hold_any_text(tmp_path: Path) -> None:
    path = tmp_path / "notes.safetensors"
    write_tensors(path, {"one": torch.ones(2)}, {"text": "naïve ☃", "list": [1, None, {"deep": True}]})
    tensors, note = read_tensors(path)
    assert tensors["one"].tolist() == [1.0, 1.0]
    assert note == {"text": "naïve ☃", "list": [1, None, {"deep": True}]}


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.int64, torch.uint8])
def test_types_and_shapes_are_kept(tmp_path: Path, kind: torch.dtype) -> None:
    tensor = torch.arange(6).view(2, 3).t().to(kind)  # not contiguous
    write_tensors(tmp_path / "file", {"t": tensor, "scalar": torch.tensor(3), "empty": torch.zeros(0, 4)}, {})
    tensors, _ = read_tensors(tmp_path / "file")
    assert torch.equal(tensors["t"], tensor)
    assert tensors["t"].dtype is kind
    assert tensors["scalar"].shape == ()
    assert tensors["empty"].shape == (0, 4)


def test_a_file_is_what_the_library_writes(tmp_path: Path) -> None:
    """Of every type, in any order, with names and a note that JSON has to quote."""
    tensors = {f'"é\t{dtype}': torch.tensor([0, 1, 1]).to(dtype) for dtype in DTYPES}
    tensors |= {"b": torch.eye(2).t()[:, :1].contiguous(), "a": torch.tensor(2.5), "": torch.zeros(2, 0)}
    write_tensors(tmp_path / "file", tensors, {"text": "naïve ☃"})
    note = json.dumps({"text": "naïve ☃"})
    assert (tmp_path / "file").read_bytes() == save(tensors, metadata={NOTE: note})


@pytest.mark.slow
def test_writing_does_not_copy_all_tensors(tmp_path: Path) -> None:
    """The state of training is the largest thing in memory: a copy of it would be the peak."""
    program = f"""
import resource, torch
from pathlib import Path
from dragoman.model.weights import write_tensors
tensors = {{str(number): torch.ones(1 << 20) for number in range(64)}}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
write_tensors(Path({str(tmp_path / "file")!r}), tensors, {{}})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    kilobytes = int(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout)
    assert kilobytes < 64 * 4096 / 4


def assert_one_line(path: Path) -> None:
    with pytest.raises(UserError) as raised:
        read_tensors(path)
    text = str(raised.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.3, 0.9, 0.9999])
def test_a_truncated_file_is_told_in_one_line(tmp_path: Path, share: float) -> None:
    path = saved(tmp_path, build_model())
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    assert_one_line(path)


@pytest.mark.parametrize("content", [b"Dear diary,\n" * 100, b"\0" * 100, b"\xff" * 100, b"\x80\x04pickle"])
def test_a_foreign_file_is_told_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    assert_one_line(path)


def test_weights_of_another_tool_are_told_in_one_line(tmp_path: Path) -> None:
    save_file({"one": torch.ones(2)}, tmp_path / "other.safetensors")
    assert_one_line(tmp_path / "other.safetensors")
    save_file({"one": torch.ones(2)}, tmp_path / "noted.safetensors", metadata={"dragoman": "{not JSON"})
    assert_one_line(tmp_path / "noted.safetensors")


def test_a_missing_file_is_told(tmp_path: Path, golden: Golden) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(UserError) as raised:
            read_tensors(path)
        golden(str(raised.value))


def test_the_names_of_another_model_are_told_and_nothing_is_changed(tmp_path: Path, golden: Golden) -> None:
    tensors, _ = read_tensors(saved(tmp_path, build_model(decoder={"layers": 2})))
    model = build_model()
    before = {name: tensor.clone() for name, tensor in weights(model).items()}
    with pytest.raises(UserError, match=r"here:") as raised:
        load_weights(model, tensors, Path("here"))
    golden(str(raised.value))
    assert all(torch.equal(before[name], tensor) for name, tensor in weights(model).items())


def test_the_shapes_of_another_model_are_told_and_nothing_is_changed(golden: Golden) -> None:
    model = build_model()
    before = {name: tensor.clone() for name, tensor in weights(model).items()}
    tensors = {name: tensor + 1 for name, tensor in before.items()}
    tensors["output.weight"] = torch.zeros(SYMBOLS + 1, 4)
    with pytest.raises(UserError, match=r"here:") as raised:
        load_weights(model, tensors, Path("here"))
    golden(str(raised.value))
    assert all(torch.equal(before[name], tensor) for name, tensor in weights(model).items())


def test_the_mean_of_models(tmp_path: Path) -> None:
    """Worked by hand, and of whole models: every parameter is the mean of that parameter."""
    for number, value in enumerate((1.0, 2.0, 6.0)):
        write_tensors(tmp_path / str(number), {"one": torch.full((2,), value)}, {})
    tensors = average_weights([tmp_path / str(number) for number in range(3)])
    assert tensors["one"].tolist() == [3.0, 3.0]
    assert tensors["one"].dtype is torch.float32
    models = [build_model(seed=seed, embedding={"tie": "all"}) for seed in range(3)]
    averaged = average_weights([saved(tmp_path, model, f"{seed}.safetensors") for seed, model in enumerate(models)])
    for name, tensor in averaged.items():
        assert torch.allclose(tensor, torch.stack([weights(model)[name] for model in models]).mean(0))


def test_the_mean_of_one_model_is_that_model(tmp_path: Path) -> None:
    model = build.build(settings(), (SYMBOLS,), SYMBOLS)
    averaged = average_weights([saved(tmp_path, model)])
    assert all(torch.equal(tensor, averaged[name]) for name, tensor in weights(model).items())


def test_nothing_has_no_mean(golden: Golden) -> None:
    with pytest.raises(UserError) as raised:
        average_weights([])
    golden(str(raised.value))


def test_models_of_other_shapes_have_no_mean(tmp_path: Path, golden: Golden) -> None:
    paths = [saved(tmp_path, build_model(decoder={"size": size}), f"{size}") for size in (4, 5)]
    with pytest.raises(UserError, match=r"5:") as raised:
        average_weights(paths)
    golden(str(raised.value))


@pytest.mark.parametrize(
    "options",
    [
        {"embedding": {"tie": "all"}},
        {"embedding": {"source": {"kind": "character_rnn"}}},
        *({"output": {"kind": kind}} for kind in ("adaptive", "classes", "huffman", "nce", "softmax")),
    ],
    ids=str,
)
def test_a_model_without_values_becomes_the_model_whose_weights_fill_it(options: dict[str, Any]) -> None:
    filled = build.build(settings(**options), (SYMBOLS,), SYMBOLS)
    with skip_initial_values():
        empty = build.build(settings(**options), (SYMBOLS,), SYMBOLS)
    load_weights(empty, weights(filled), Path("model"))
    expected = dict(filled.named_parameters(remove_duplicate=False))
    parameters = dict(empty.named_parameters(remove_duplicate=False))
    assert parameters.keys() == expected.keys()
    assert all(torch.equal(parameters[name], parameter) for name, parameter in expected.items())
    assert len(list(empty.parameters())) == len(list(filled.parameters()))  # tied ones are one parameter
    assert all(map(torch.equal, empty.buffers(), filled.buffers()))  # of which some are not saved

"""Saved weights (parameters and persistent buffers): safetensors without pickle, each tied tensor once."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from dragoman.errors import UserError
from dragoman.files.writing import write_atomically

NOTE = "dragoman"  # key of the JSON note in the file's header
DTYPES = {  # as safetensors names and sorts them
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.int16: "I16",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int32: "I32",
    torch.float32: "F32",
    torch.float64: "F64",
    torch.int64: "I64",
}


def write_tensors(path: Path, tensors: Mapping[str, Tensor], note: Mapping[str, Any]) -> None:
    """Write tensors and a small JSON note to one file, atomically."""
    with write_atomically(path, "wb") as file:
        _stream(file, tensors, {NOTE: json.dumps(note)})


def _stream(file: IO[bytes], tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write what `safetensors.torch.save` returns, one tensor after the other. It would copy all of them twice, and the
    state of training is the largest thing in memory; `save_file` replaces devices, and does not wait for the disk.
    """
    ranks = {dtype: rank for rank, dtype in enumerate(DTYPES)}
    ordered = sorted(tensors.items(), key=lambda item: (-ranks[item[1].dtype], item[0]))
    header: dict[str, Any] = {"__metadata__": metadata}
    offset = 0
    for name, tensor in ordered:
        begin, offset = offset, offset + tensor.nbytes
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, offset]}
    encoded = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)  # so that all data is aligned
    file.write(len(encoded).to_bytes(8, "little") + encoded)
    for _, tensor in ordered:
        file.write(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], Any]:
    """Read what `write_tensors` wrote; the note is not validated. UserError if it is missing, truncated or foreign."""
    with _open_tensors(path) as (file, note):
        return {name: file.get_tensor(name) for name in file.keys()}, note  # noqa: SIM118


def read_note(path: Path) -> Any:
    """Read only the note, which is not validated."""
    with _open_tensors(path) as (_, note):
        return note


def read_shapes(path: Path) -> dict[str, torch.Size]:
    """Read the shapes of the tensors without reading the tensors."""
    with _open_tensors(path) as (file, _):
        return {name: torch.Size(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


@contextmanager
def _open_tensors(path: Path) -> Iterator[tuple[Any, Any]]:
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    try:
        with safe_open(path, framework="pt") as file:
            yield file, json.loads((file.metadata() or {})[NOTE])
    except (SafetensorError, OSError, KeyError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: truncated or not a dragoman weights file ({error})") from error


def weights(model: nn.Module) -> dict[str, Tensor]:
    """The saved tensors of a model: parameters and persistent buffers by name. A tied parameter appears once, under its
    first name.
    """
    saved = model.state_dict().keys()
    buffers = {name: buffer for name, buffer in model.named_buffers() if name in saved}
    return {**{name: parameter.detach() for name, parameter in model.named_parameters()}, **buffers}


def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], origin: Path) -> None:
    """Copy tensors into the model's parameters and persistent buffers; UserError if names, shapes or kinds of numbers
    differ.
    """
    check_weights(model, {name: tensor.shape for name, tensor in tensors.items()}, origin)
    own = weights(model)
    for name, tensor in own.items():
        if tensor.is_floating_point() != tensors[name].is_floating_point():
            raise UserError(f"{origin}: weights of another model ({name} is of type {tensors[name].dtype})")
    allocate_memory(model)
    with torch.no_grad():
        for name, tensor in weights(model).items():
            tensor.copy_(tensors[name])


def allocate_memory(model: nn.Module) -> None:
    """Give memory to the tensors of a model that was built on the device `meta`. Tied parameters stay one parameter,
    which `Module.to_empty` would separate.
    """
    for tensor in (*model.parameters(), *model.buffers()):
        if tensor.is_meta:
            empty = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
            new = nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else empty
            torch.utils.swap_tensors(tensor, new)  # type: ignore[no-untyped-call]


def check_weights(model: nn.Module, shapes: Mapping[str, torch.Size], origin: Path) -> None:
    """UserError unless the model's parameters and persistent buffers have these names and shapes."""
    own = {name: tensor.shape for name, tensor in weights(model).items()}
    if own.keys() != shapes.keys():
        odd = sorted(own.keys() ^ shapes.keys())
        raise UserError(f"{origin}: weights of another model ({len(odd)} names differ, the first is {odd[0]})")
    for name, shape in own.items():
        if shape != shapes[name]:
            difference = f"{tuple(shapes[name])}, expected {tuple(shape)}"
            raise UserError(f"{origin}: weights of another model ({name} has shape {difference})")


def average_weights(paths: Sequence[Path], shares: Sequence[float] = ()) -> dict[str, Tensor]:
    """The element-wise mean of several files of the same model, each with its share (equal unless given), summed in
    float64. UserError if integers differ between files, or if there are no files.
    """
    if not paths:
        raise UserError("no weights to average")
    shares = shares or [1.0] * len(paths)
    shapes = read_shapes(paths[0])
    for path in paths[1:]:
        if read_shapes(path) != shapes:
            raise UserError(f"{path}: weights of another model than {paths[0]}")
    with ExitStack() as opened:
        files = [opened.enter_context(_open_tensors(path))[0] for path in paths]
        # One after the other: all tensors of all files may not fit into memory.
        return {name: _mean([file.get_tensor(name) for file in files], shares, name, paths) for name in shapes}


def _mean(tensors: Sequence[Tensor], shares: Sequence[float], name: str, paths: Sequence[Path]) -> Tensor:
    """The mean of a tensor of several files."""
    first = tensors[0]
    if first.is_floating_point():
        total = torch.zeros_like(first, dtype=torch.float64)
        for share, tensor in zip(shares, tensors, strict=True):
            total.add_(tensor, alpha=share)
        return total.div_(sum(shares)).to(first.dtype)
    for path, tensor in zip(paths, tensors, strict=True):
        if not torch.equal(tensor, first):
            raise UserError(f"{path}: {name} differs from that of {paths[0]}, and integers cannot be averaged")
    return first.clone()  # the file may change or go

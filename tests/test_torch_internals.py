"""Functions of torch that have no public name: each is used in one place, and does what is expected of it there."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from torch import Tensor

from dragoman import torch_internals
from dragoman.torch_internals import (
    CAPABILITIES,
    approach,
    backward_pass,
    capabilities,
    int8_product,
    multiply,
    scan,
    shared_onnx_registry,
)

NAMES = {
    "torch._C._current_graph_task_id",
    "torch._foreach_lerp_",
    "torch._foreach_mul_",
    "torch._int_mm",
    "torch.onnx._internal.exporter._registration.ONNXRegistry",
    "torch.ops.higher_order.scan",
    "torch.utils._python_dispatch.TorchDispatchMode",
    "torch.cpu._",  # its functions of one instruction
}


def dotted(node: ast.AST) -> list[str]:
    """`torch.nn.Module` in its parts; nothing where it is not made of names alone."""
    match node:
        case ast.Name(name):
            return [name]
        case ast.Attribute(value, name) if before := dotted(value):
            return [*before, name]
    return []


def internals(module: ast.Module) -> Iterator[str]:
    """Names of torch, by whatever name it was imported, that begin with one underscore somewhere, are looked up in its
    table of operators, or are not written out (`getattr`, reported as `_`).
    """
    origins = {"torch": "torch"}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "torch":
            origins |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            origins |= {
                alias.asname: alias.name for alias in node.names if alias.asname and alias.name.startswith("torch")
            }
    inner = {node.value for node in ast.walk(module) if isinstance(node, ast.Attribute)}
    for node in ast.walk(module):
        if node not in inner and (parts := dotted(node)) and parts[0] in origins:
            name = ".".join([origins[parts[0]], *parts[1:]])
            if name.startswith("torch.ops.") or any(re.match("_(?!_)", part) for part in name.split(".")):
                yield name
        elif isinstance(node, ast.Call) and dotted(node.func) == ["getattr"]:
            parts = dotted(node.args[0])
            if parts and parts[0] in origins and not isinstance(node.args[1], ast.Constant):
                yield ".".join([origins[parts[0]], *parts[1:], "_"])


def test_no_other_module_uses_what_torch_keeps_to_itself(repository: Path) -> None:
    home = Path(torch_internals.__file__)
    private_names = {
        path: set(internals(ast.parse(path.read_text("utf-8")))) for path in (repository / "dragoman").rglob("*.py")
    }
    assert {path: names for path, names in private_names.items() if names} == {home: NAMES}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import torch\ntorch._foreach_add_(x, 2)", "torch._foreach_add_"),
        ("import torch\ntorch.ops.aten.mm(x, x)", "torch.ops.aten.mm"),
        ("from torch import nn\nnn.functional._pad(x)", "torch.nn.functional._pad"),
        ("from torch import _dynamo\n_dynamo.reset()", "torch._dynamo.reset"),
        ("import torch\ngetattr(torch.cpu, name)()", "torch.cpu._"),
        ("import torch.utils._pytree as tree\ntree.tree_map(f, x)", "torch.utils._pytree.tree_map"),
    ],
)
def test_a_use_is_noticed(text: str, name: str) -> None:
    assert name in set(internals(ast.parse(text)))


def test_every_backward_pass_has_a_number_of_its_own() -> None:
    seen = []

    class Noting(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: object, gradient: Tensor) -> Tensor:
            seen.append(backward_pass())
            return gradient

    x = torch.ones(2, requires_grad=True)
    total = Noting.apply(Noting.apply(x)).sum()
    for _ in range(2):
        total.backward(retain_graph=True)
    first, same, second, same_again = seen
    assert -1 != first == same != second == same_again != -1
    assert backward_pass() == -1


def test_several_tensors_are_multiplied_and_moved_in_place() -> None:
    tensors, targets = [torch.ones(2), torch.zeros(1, 3)], [torch.full((2,), 5.0), torch.full((1, 3), 4.0)]
    kept = list(tensors)
    approach(tensors, targets, 0.25)
    multiply(tensors, 3.0)
    assert [tensor.tolist() for tensor in kept] == [[6, 6], [[3, 3, 3]]]


@pytest.mark.parametrize("width", [1, 2, 64])
def test_products_of_small_integers_are_exact(width: int) -> None:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-63, 64, (32, width), dtype=torch.int8, generator=generator) for _ in range(2))
    product = int8_product(a, b.t())
    assert product.dtype is torch.int32
    assert torch.equal(product, a.int() @ b.t().int())


def test_a_processor_has_no_instructions_that_torch_does_not_know() -> None:
    features = capabilities()
    assert set(CAPABILITIES) <= features.keys()
    assert not features["avx512_bf16"] or torch.backends.cpu.get_cpu_capability() in ("AVX512", "AMX")


def test_a_scan_is_a_loop() -> None:
    def turn(state: Tensor, step: Tensor, factor: Tensor) -> list[Tensor]:
        new = factor * state + step
        return [new, new.clone()]

    start, steps, factor = torch.ones(2), torch.arange(6.0).view(3, 2), torch.tensor(2.0)
    final, kept = scan(turn, [start], [steps], [factor])
    expected = [start]
    for step in steps:
        expected.append(factor * expected[-1] + step)
    assert torch.equal(kept, torch.stack(expected[1:]))
    assert torch.equal(final, expected[-1])


def test_the_table_of_onnx_operators_is_built_once_within_the_context(monkeypatch: pytest.MonkeyPatch) -> None:
    registration = pytest.importorskip("torch.onnx._internal.exporter._registration", reason="needs the extra onnx")
    registry = registration.ONNXRegistry

    class Counting(registry):  # type: ignore[misc, valid-type]
        calls: ClassVar[list[int]] = []

        @classmethod
        def from_torchlib(cls, opset_version: int = 18) -> object:
            cls.calls.append(opset_version)
            return object()

    monkeypatch.setattr(registration, "ONNXRegistry", Counting)
    for _ in range(2):
        with shared_onnx_registry():
            assert Counting.from_torchlib() is Counting().from_torchlib()
            Counting.from_torchlib(opset_version=20)
    assert Counting.calls == [18, 20]
    Counting.from_torchlib()
    assert Counting.calls == [18, 20, 18]


@pytest.mark.slow
def test_a_torch_without_that_table_exports_as_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.onnx._internal.exporter._registration", None)
    entered = False
    with shared_onnx_registry():
        entered = True
    assert entered

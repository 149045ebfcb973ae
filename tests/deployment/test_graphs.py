"""ONNX graphs without what their outputs do not depend on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.deployment import graphs

onnx = pytest.importorskip("onnx")


def test_sizes_are_read_from_inputs_that_are_needed_anyway() -> None:
    sizes = {"symbols": ["R"], "keys": ["B", "S"], "values": ["R", "S", "D"]}
    inputs = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, axes) for name, axes in sizes.items()]
    nodes = [
        onnx.helper.make_node("Shape", ["values"], [f"size {axis}"], start=axis, end=axis + 1) for axis in range(3)
    ]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "step", inputs, []))
    graphs.measure_by(model, ["symbols", "keys"])
    read = [
        (node.input[0], *(attribute.i for attribute in sorted(node.attribute, key=lambda attribute: attribute.name)))
        for node in model.graph.node
    ]
    assert read == [("symbols", 1, 0), ("keys", 2, 1), ("values", 3, 2)]  # where each axis ends and begins


def test_an_input_is_read_if_it_affects_an_output_of_a_later_step() -> None:
    operands = {
        "output": ["symbols", "hidden"],
        "next hidden": ["cell"],
        "next cell": ["cell"],
        "next memory": ["memory"],
    }
    nodes = [onnx.helper.make_node("Sum", names, [output]) for output, names in operands.items()]
    step = onnx.helper.make_model(onnx.helper.make_graph(nodes, "step", [], []))
    carried = {name: f"next {name}" for name in ("hidden", "cell", "memory")}
    read = graphs.read_inputs(step, ["output"], carried)
    assert read & {"symbols", "memory", *carried} == {"symbols", "hidden", "cell"}


def test_matrices_of_one_column_stay_in_float32() -> None:
    pytest.importorskip("onnxruntime")
    tensors = {"matrix": np.eye(8, 4, dtype=np.float32), "column": np.ones((4, 1), dtype=np.float32)}
    value_infos = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["R", None]) for name in ("x", "y")]
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "matrix"], ["mapped"], name="map"),
        onnx.helper.make_node("MatMul", ["mapped", "column"], ["y"], name="energy"),
    ]
    constants = [onnx.numpy_helper.from_array(tensor, name) for name, tensor in tensors.items()]
    graph = onnx.helper.make_graph(nodes, "score", value_infos[:1], value_infos[1:], constants)
    model = graphs.quantised(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)]))
    operations = {node.op_type: node.input[1] for node in model.graph.node if node.op_type.startswith("MatMul")}
    assert operations["MatMul"] == "column"
    assert operations["MatMulInteger"].startswith("matrix")


def test_equal_constants_of_several_graphs_are_stored_once(tmp_path: Path) -> None:
    """Also those within a loop; small ones stay in the graph."""
    helper, runtime = onnx.helper, pytest.importorskip("onnxruntime")
    large, small = np.arange(300, dtype=np.float32), np.float32(2)

    def model(*, in_loop: bool) -> Any:
        constants = [
            onnx.numpy_helper.from_array(np.asarray(part), name) for name, part in (("l", large), ("s", small))
        ]
        product = helper.make_node("Mul", ["l", "s"], ["product"])
        result = helper.make_tensor_value_info("product", onnx.TensorProto.FLOAT, [300])
        if in_loop:
            kinds = {"number": onnx.TensorProto.INT64, "before": onnx.TensorProto.BOOL}
            read = [helper.make_tensor_value_info(name, kind, []) for name, kind in kinds.items()]
            go_on = helper.make_tensor_value_info("after", onnx.TensorProto.BOOL, [])
            nodes = [product, helper.make_node("Identity", ["before"], ["after"])]
            body = helper.make_graph(nodes, "body", read, [go_on, result], constants)
            product = helper.make_node("Loop", ["steps", ""], ["products"], body=body)
            result = helper.make_tensor_value_info("products", onnx.TensorProto.FLOAT, [2, 300])
            constants = [onnx.numpy_helper.from_array(np.asarray(2), "steps")]
        graph = helper.make_graph([product], "graph", [], [result], constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)

    models = {"plain": model(in_loop=False), "loop": model(in_loop=True)}
    content = graphs.share_constants(models.values(), "constants.bin")
    assert content == large.tobytes()
    (tmp_path / "constants.bin").write_bytes(content)
    for name, shared in models.items():
        (tmp_path / f"{name}.onnx").write_bytes(shared.SerializeToString())
        session = runtime.InferenceSession(tmp_path / f"{name}.onnx", providers=["CPUExecutionProvider"])
        (products,) = session.run(None, {})
        assert np.array_equal(np.atleast_2d(products), np.tile(2 * large, (2 if name == "loop" else 1, 1)))


def test_results_that_nothing_reads_lose_their_names() -> None:
    """Only those of ONNX Runtime's own operators, which do not compute them then."""
    names = ["read", "keys", "values", "energies"]
    domain = "com.microsoft"
    nodes = [
        onnx.helper.make_node("MultiHeadAttention", ["q", "k", "v"], names, domain=domain, num_heads=2),
        onnx.helper.make_node("MultiHeadAttention", ["read", "k", "v"], ["y", "unread"], domain=domain, num_heads=2),
        onnx.helper.make_node("Split", ["energies"], ["one", "other"], num_outputs=2),
    ]
    results = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("y", "one")]
    model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "step", [], results))
    graphs.drop_unread_outputs(model)
    assert [list(node.output) for node in model.graph.node] == [
        ["read", "", "", "energies"],
        ["y"],
        ["one", "other"],
    ]
    graphs.declare_results(model.graph)
    assert [declared.name for declared in model.graph.value_info] == ["read", "energies", "y"]

"""Analysis and pruning of ONNX graphs: what their outputs depend on, and what can be left out."""

from collections.abc import Iterable, Iterator
from typing import Any


def keep(model: Any, outputs: list[str]) -> None:
    """Keep only these outputs, in this order, and what they are computed from."""
    graph = model.graph
    needed = _needed(graph, outputs)
    by_name = {each.name: each for each in graph.output}
    kept = {
        "output": [by_name[name] for name in outputs],
        "node": [node for node in graph.node if needed.intersection(node.output)],
        "input": [each for each in graph.input if each.name in needed],
        "initializer": [each for each in graph.initializer if each.name in needed],
    }
    for field, found in kept.items():
        held = getattr(graph, field)
        del held[:]
        held.extend(found)


def read_inputs(step: Any, outputs: Iterable[str], carried: dict[str, str]) -> set[str]:
    """Return the inputs that affect these outputs, of this step or of a later one. `carried` maps an input to the
    output of the step before that it receives.
    """
    wanted, needed = set(outputs), set[str]()
    while not wanted <= needed:
        needed = _needed(step.graph, wanted)
        wanted |= {output for name, output in carried.items() if name in needed}
    return needed


def measure_by(model: Any, names: Iterable[str]) -> None:
    """Read sizes from these inputs instead of others, so that an input of which only sizes are read is not needed."""
    sizes = {each.name: [axis.dim_param for axis in each.type.tensor_type.shape.dim] for each in model.graph.input}
    places = {size: (name, axis) for name in names for axis, size in enumerate(sizes[name]) if size}
    for node in model.graph.node:
        bounds = {each.name: each for each in node.attribute}
        if node.op_type != "Shape" or node.input[0] not in sizes or bounds.keys() != {"start", "end"}:
            continue
        start, end = bounds["start"], bounds["end"]
        size = sizes[node.input[0]][start.i]
        if end.i == start.i + 1 and size in places:
            node.input[0], start.i = places[size]
            end.i = start.i + 1


def _needed(graph: Any, outputs: Iterable[str]) -> set[str]:
    """Return the names of everything that these outputs are computed from; nodes are in topological order."""
    needed = set(outputs)
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            for attribute in node.attribute:
                needed.update(name for inner in _nodes(attribute.g) for name in inner.input)
    return needed


def _nodes(graph: Any) -> Iterator[Any]:
    """Yield the nodes of a graph, and those of the loops in it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from _nodes(attribute.g)

"""CUDA graphs: the kernels of the forward passes over a batch, and those of the backward pass, launched at once.

A small model spends most of a training step on a GPU launching kernels, one after the other. A graph is recorded once
for each shape of batches, and replayed from then on: the same kernels, with the random numbers that they would draw.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor, nn

from dragoman.configuration.config import Config
from dragoman.data.batch import SourceBatch
from dragoman.devices import Device
from dragoman.model.seq2seq import ForwardPass, Seq2Seq
from dragoman.model.state import list_tensors, replace_tensors
from dragoman.model.unrolled import without_kernels
from dragoman.torch_internals import WaitsForGpu
from dragoman.training.objectives.consistency import Consistency
from dragoman.training.objectives.table import OBJECTIVES

SEEN: Final = 3  # batches of a shape after which it has a graph
FREE: Final = 0.5  # share of the GPU's memory that must be free for another graph: each keeps gradients and results


class CudaGraphs:
    """`forward_passes` of one consistency and one model in training, replayed. Batches are to be `rounded`, so that
    there are few shapes.

    The backward pass of a batch has to precede the forward passes of the next one: what a replay keeps for it is in
    memory that all graphs share, and what it returns, gradients included, is overwritten by the next one of the same
    shape. A parameter that a pass does not use has a gradient of zeros. If a model cannot be recorded, `say` logs why,
    once, and passes are made as without graphs.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.seen: Counter[Any] = Counter()
        self.graphs: dict[Any, _RecordedPass] = {}
        self.pool: Any = None
        self.possible = True

    @staticmethod
    def wanted(config: Config, device: Device) -> bool:
        """Return whether a training is to have graphs: on a GPU, if its objective can replay passes."""
        replays = OBJECTIVES[config.training.objective.kind].replays
        return device.torch_device.type == "cuda" and config.device.cuda_graphs and replays

    def __call__(
        self, consistency: Consistency, model: Seq2Seq, sources: tuple[SourceBatch, ...], targets: Tensor
    ) -> tuple[ForwardPass, ...]:
        if not self.possible:
            return consistency.forward_passes(model, sources, targets)
        inputs = list_tensors((sources, targets))
        # What a recording is made for, all but the values of the tensors.
        shape = (
            model.training,
            torch.is_autocast_enabled("cuda"),
            *((tensor.shape, tensor.dtype) for tensor in inputs),
        )
        if shape not in self.graphs:
            self.seen[shape] += 1
            if self.seen[shape] < SEEN or not _room(targets.device):
                with without_kernels():  # as in graphs
                    return consistency.forward_passes(model, sources, targets)
            try:
                self.graphs[shape] = self._record(consistency, model, sources, targets)
            except RuntimeError as error:
                self._give_up(targets.device, error)
        if not self.possible:  # only here, since an error keeps alive what was recorded before it
            return consistency.forward_passes(model, sources, targets)
        recorded = self.graphs[shape]
        return replace_tensors(recorded.structure, recorded(*inputs))

    def _record(
        self, consistency: Consistency, model: Seq2Seq, sources: tuple[SourceBatch, ...], targets: Tensor
    ) -> "_RecordedPass":
        """Record the kernels, forward and backward. RuntimeError if that is impossible, or if a pass would wait."""
        recorded = _RecordedPass(consistency, model, sources)
        recorded.train(model.training)
        # A graph reads its inputs where they were at the recording; each replay copies a batch there.
        inputs = tuple(tensor.clone() for tensor in list_tensors((sources, targets)))
        kind = torch.get_autocast_dtype("cuda")
        # Without its cache, as `make_graphed_callables` demands: a cast made earlier is no part of the graph.
        cast = torch.autocast("cuda", kind, enabled=torch.is_autocast_enabled("cuda"), cache_enabled=False)
        # The passes for the recording must not draw from the random numbers of the training.
        with torch.random.fork_rng([targets.device]), cast, without_kernels():
            with torch.no_grad(), WaitsForGpu():  # type: ignore[no-untyped-call]
                recorded(*inputs)
            if self.pool is None:
                # One pool for all graphs, since only one of them is between its forward and its backward pass.
                self.pool = torch.cuda.graph_pool_handle()
            torch.cuda.make_graphed_callables(recorded, inputs, allow_unused_input=True, pool=self.pool)
        if not any(tensor.requires_grad for tensor in list_tensors(recorded.structure)):
            raise RuntimeError("no trained parameters before the loss")
        return recorded

    def _give_up(self, device: torch.device, error: RuntimeError) -> None:
        """Go on without graphs, as if there had been none: a recording that failed leaves its stream and the state of
        its random numbers behind.
        """
        self.possible = False
        self.graphs.clear()
        self.pool = None
        torch.cuda.set_stream(torch.cuda.default_stream(device))
        generator = torch.cuda.default_generators[device.index]
        generator.graphsafe_set_state(generator.clone_state())
        reason = str(error.__context__ or error).splitlines()[0]
        self.say(f"without CUDA graphs: {reason}")


def _room(device: torch.device) -> bool:
    """Return whether there is memory for another graph."""
    free, total = torch.cuda.mem_get_info(device)
    return free >= FREE * total


class _RecordedPass(nn.Module):
    """`Consistency.forward_passes` as a function from tensors to tensors; `structure` is what the latter were nested
    in when it was last called.
    """

    def __init__(self, consistency: Consistency, model: Seq2Seq, sources: tuple[SourceBatch, ...]) -> None:
        super().__init__()
        self.consistency = consistency
        self.model = model
        self.sources = sources
        self.structure: tuple[ForwardPass, ...]

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        sources, targets = replace_tensors((self.sources, inputs[-1]), inputs)
        self.structure = self.consistency.forward_passes(self.model, sources, targets)
        return tuple(list_tensors(self.structure))

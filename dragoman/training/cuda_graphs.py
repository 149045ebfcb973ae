"""CUDA graphs: all kernels of a pass launched at once.

A small model spends most of a training step on a GPU launching kernels, one after the other. A graph is recorded once
for each shape of batches, and replayed from then on: the same kernels, of the same random numbers.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor, nn

from dragoman.configuration.config import Config
from dragoman.data.batch import Batch
from dragoman.devices import Device
from dragoman.model.seq2seq import Pass, Seq2Seq
from dragoman.model.state import tensors_of, with_tensors
from dragoman.model.unrolled import loops
from dragoman.training.objectives.consistency import CONSISTENCIES

SEEN: Final = 3  # batches of a shape after which it has a graph
MOST: Final = 256  # graphs


class CudaGraphs:
    """`Seq2Seq.passed` of one model in training, replayed; batches are to be `rounded`, so that they have few shapes.

    What a replay returns is overwritten by the next one of the same shape, and its gradients are computed in memory
    that all graphs share: the backward pass of a batch has to precede the next batch. Where a model cannot be recorded
    (it waits for the GPU), `say` is told why, once, and passes are made as without graphs.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.seen: Counter[Any] = Counter()
        self.graphs: dict[Any, _Passed] = {}
        self.pool: Any = None
        self.able = True

    @staticmethod
    def wanted(config: Config, device: Device) -> bool:
        """Whether a training is to have graphs. Passes that are compared would overwrite each other."""
        compares = CONSISTENCIES[config.training.consistency.kind].compares
        forces = config.training.objective.kind == "teacher_forcing"
        return device.torch_device.type == "cuda" and config.device.cuda_graphs and forces and not compares

    def __call__(self, model: Seq2Seq, batch: Batch) -> Pass:
        given = (batch.sources, batch.target)
        inputs = tensors_of(given)
        shape = (model.training, torch.is_autocast_enabled("cuda"), *((each.shape, each.dtype) for each in inputs))
        if shape not in self.graphs:
            self.seen[shape] += 1
            if not self.able or self.seen[shape] < SEEN or len(self.graphs) == MOST:
                return model.passed(batch)
            try:
                self.graphs[shape] = self._record(model, batch)
            except RuntimeError as error:
                self.able = False
                self.say(f"without CUDA graphs: {str(error).splitlines()[0]}")
                return model.passed(batch)
        passed = self.graphs[shape]
        return with_tensors(passed.form, passed(*inputs))

    def _record(self, model: Seq2Seq, batch: Batch) -> "_Passed":
        """Record the kernels of the forward and of the backward pass, after a few passes that find the fastest ones."""
        if self.pool is None:
            self.pool = torch.cuda.graph_pool_handle()
        passed = _Passed(model, batch)
        passed.train(model.training)
        inputs = tuple(each.clone() for each in tensors_of((batch.sources, batch.target)))
        kind = torch.get_autocast_dtype("cuda")
        cast = torch.autocast("cuda", kind, enabled=torch.is_autocast_enabled("cuda"), cache_enabled=False)
        device = batch.target.ids.device
        with torch.random.fork_rng([device]), cast, loops():
            try:
                torch.cuda.make_graphed_callables(passed, inputs, allow_unused_input=True, pool=self.pool)
            except RuntimeError:
                generator = torch.cuda.default_generators[device.index]
                generator.graphsafe_set_state(generator.clone_state())  # its own would still be that of a recording
                raise
        return passed


class _Passed(nn.Module):
    """`Seq2Seq.passed` as a function from tensors to tensors; `form` is what it returned last."""

    def __init__(self, model: Seq2Seq, batch: Batch) -> None:
        super().__init__()
        self.model = model
        self.batch = batch
        self.form: Pass

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        sources, target = with_tensors((self.batch.sources, self.batch.target), inputs)
        self.form = self.model.passed(self.batch._replace(sources=sources, target=target))
        return tuple(tensors_of(self.form))

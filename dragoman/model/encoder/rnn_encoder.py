"""The recurrent encoder."""

from collections.abc import Iterable
from typing import Literal, cast, final

import torch
from torch import Tensor, nn

from dragoman.configuration.values import Layers, Rate, Size
from dragoman.model.dropout import Dropout
from dragoman.model.encoder.encoder import Encoder
from dragoman.model.encoder.trees import Trees
from dragoman.model.memory import Memory, StateShape
from dragoman.model.projection_norm import ProjectionNormKind
from dragoman.model.recurrent import CELLS, CellKind, CellState, Recurrence, Transitions, build_cell
from dragoman.model.shapes import Bool, Float
from dragoman.model.unrolled import run_cell


@final
class RnnEncoder(Encoder):
    """A stack of `layers` recurrent layers (NT (68)-(69), CN 1.2-1.6).

    `cell` is the kind of their cells, and `size` the size of a state in one direction. `layer_norm` normalizes the
    products of cells.

    `direction`: `forward`; `reversed`, which reads right to left (CN 1.3); `bidirectional`, two recurrences whose
    states are concatenated as `h_j = [forward; backward]` (CN 1.6; NT prints the other order, which permutes the
    columns of the next matrix and changes nothing else). Layer i reads the states of layer i - 1; `residual` adds
    them to its own if sizes agree. In every direction, output states are at the positions of their symbols.

    With `separate_stacks` the directions meet only above the last layer: each layer reads the states of its own
    direction alone. With `alternating` every second layer reads the other way round (Zhou et al. 2016), and
    `transitions` are further cells in each step (`DeepCell`).

    `dropout` acts on the output states of each layer, including the last, `recurrent_dropout` on h inside the
    recurrence. `variational` shares the mask of `dropout` over time; that of `recurrent_dropout` is always shared. With
    `trees`, the states of the last layer are joined with those of their likely parents: see `trees.py`.
    """

    def __init__(
        self,
        input_size: int,
        *,
        cell: CellKind = "gru",
        size: Size = 256,
        layers: Layers = 1,
        direction: Literal["forward", "reversed", "bidirectional"] = "bidirectional",
        residual: bool = False,
        dropout: Rate = 0.0,
        variational: bool = True,
        recurrent_dropout: Rate = 0.0,
        layer_norm: ProjectionNormKind = "none",
        separate_stacks: bool = False,
        alternating: bool = False,
        transitions: Transitions = 0,
        trees: bool = False,
    ) -> None:
        super().__init__()
        self.backward = {"forward": (False,), "reversed": (True,), "bidirectional": (False, True)}[direction]
        if separate_stacks and len(self.backward) == 1:
            raise ValueError("separate_stacks requires direction: bidirectional")
        self.reads_ahead = any(self.backward) or (alternating and layers > 1) or trees
        self.size = size * len(self.backward)
        self.residual = residual
        self.separate_stacks = separate_stacks
        self.alternating = alternating
        sizes = [input_size] + [size if separate_stacks else self.size] * (layers - 1)
        layer_list = nn.ModuleList(
            nn.ModuleList(
                build_cell(cell, inputs, size, layer_norm=layer_norm, transitions=transitions) for _ in self.backward
            )
            for inputs in sizes
        )
        self.layers = cast(Iterable[Iterable[Recurrence]], layer_list)
        self.trees = Trees(self.size) if trees else None
        self.dropout = Dropout(dropout, variational)
        self.recurrent_dropout = Dropout(recurrent_dropout)
        self.state_shape = StateShape(layers, self.size, CELLS[cell].components)

    def forward(self, embedded: Float[Tensor, "B S E"], mask: Bool[Tensor, "B S"]) -> Memory:
        states = embedded
        finals: list[CellState] = []
        for number, layer in enumerate(self.layers):
            outputs, final = self._layer(number, layer, states, mask)
            if self.residual and outputs.shape == states.shape:
                outputs = outputs + states
            states = self.dropout(outputs)
            finals.append(final)
        if self.trees is not None:
            states = self.trees(states, mask)
        return Memory(states, mask, tuple(finals))

    def _layer(
        self, number: int, cells: Iterable[Recurrence], states: Tensor, mask: Tensor
    ) -> tuple[Tensor, CellState]:
        """All directions of one layer, concatenated: states (B, S, H) and the final state."""
        runs = []
        count = len(self.backward)
        inputs = states.chunk(count, -1) if self.separate_stacks and number else (states,) * count
        turned = self.alternating and number % 2 == 1
        for cell, part, backward in zip(cells, inputs, self.backward, strict=True):
            drop = self.recurrent_dropout.mask(states[:, 0], cell.size)
            runs.append(run_cell(cell, part, mask, backward=backward != turned, mask=drop))
        final = tuple(torch.cat(parts, -1) for parts in zip(*(end for _, end in runs), strict=True))
        return torch.cat([states for states, _ in runs], -1), final

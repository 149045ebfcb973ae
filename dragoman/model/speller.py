"""A speller: words, character by character, from a state of the decoder."""

from typing import NamedTuple, cast, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from dragoman.data.alphabet import LONGEST_WORD, Alphabet
from dragoman.data.vocabulary import BOS, EOS, PAD, UNK
from dragoman.model.linear import deferred_weight_gradients, linear
from dragoman.model.recurrent import CELLS, Cell, CellState
from dragoman.model.shapes import Bool, Float, Int
from dragoman.model.state import select_rows

NEVER = float("-inf")


class Spelling(NamedTuple):
    """A word and `log P` of its characters, the end included."""

    word: str
    log_prob: float


class WordScores(NamedTuple):
    """Scores of given words: `log P`, and whether each character was the most probable one."""

    log_probs: Float[Tensor, "N"]
    correct: Bool[Tensor, "N"]


@final
class Speller(nn.Module):
    """`P(c_1 .. c_n | h) = prod_i softmax(W s_i + b)`, the states s_i of cells that read the characters before c_i.

    The h of the lowest layer begins as a given vector, everything else as zeros (Luong and Manning 2016, 4.2). No word
    is empty. After LONGEST_WORD characters a word ends by itself.
    """

    def __init__(self, alphabet: Alphabet, size: int, character_size: int, layers: int, cell: str) -> None:
        super().__init__()
        self.alphabet = alphabet
        bound = (3 / character_size) ** 0.5  # vectors of length 1 on average
        self.table = nn.Parameter(torch.empty(len(alphabet), character_size).uniform_(-bound, bound))
        self.cells = nn.ModuleList(CELLS[cell](inputs, size) for inputs in [character_size] + [size] * (layers - 1))
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(len(alphabet), size)))
        self.bias = nn.Parameter(torch.zeros(len(alphabet)))

    def forward(self, start: Float[Tensor, "N D"], words: Int[Tensor, "N L"]) -> WordScores:
        """Score words, given as numbers of the alphabet: BOS, the characters, EOS and padding."""
        inputs, targets = words[:, :-1], words[:, 1:]
        real = targets != PAD
        outputs: list[Tensor] = []
        state = self.start(start)
        with deferred_weight_gradients():
            for letters in inputs.unbind(1):
                output, state = self._advance(letters, state)
                outputs.append(output)
        begins = torch.zeros_like(real)
        begins[:, 0] = True
        log_probs = self._log_probs(torch.stack(outputs, 1)[real], begins[real])
        target_log_probs = log_probs.gather(1, targets[real].unsqueeze(1)).squeeze(1)
        right = log_probs.argmax(1) == targets[real]
        of_words = log_probs.new_zeros(real.shape).masked_scatter(real, target_log_probs).sum(1)
        return WordScores(of_words, (torch.zeros_like(real).masked_scatter(real, right) | ~real).all(1))

    def start(self, start: Float[Tensor, "N D"]) -> tuple[CellState, ...]:
        """The state of each layer before the first character."""
        zeros = [cast(Cell, cell).zeros(start) for cell in self.cells]
        return ((start, *zeros[0][1:]), *zeros[1:])

    def _advance(
        self, letters: Int[Tensor, "N"], state: tuple[CellState, ...]
    ) -> tuple[Float[Tensor, "N D"], tuple[CellState, ...]]:
        layers: list[CellState] = []
        output = functional.embedding(letters, self.table)
        for cell, old in zip(self.cells, state, strict=True):
            layers.append(cell(cast(Cell, cell).project(output), old))
            output = layers[-1][0]
        return output, tuple(layers)

    def _log_probs(self, states: Float[Tensor, "N D"], begins: Bool[Tensor, "N"]) -> Float[Tensor, "N C"]:
        """log P of the next character, in float32 or better. Of the numbers that are no characters, words have the end,
        and the unknown character.
        """
        logits = linear(states, self.weight, self.bias)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        never = torch.zeros_like(logits, dtype=torch.bool)
        never[:, : self.alphabet.first] = True
        never[:, UNK] = False
        never[:, EOS] = begins
        return torch.log_softmax(logits.masked_fill(never, NEVER), 1)

    @torch.no_grad()
    def spell(self, start: Float[Tensor, "R D"], width: int) -> list[list[Spelling]]:
        """The most probable words from each start, at most `width` and best first, by beam search."""
        beams = [_Beam(width) for _ in start]
        rows, state = len(start), self.start(start)
        letters = torch.full((rows,), BOS, device=start.device)
        totals = start.new_zeros(rows, 1, dtype=torch.promote_types(start.dtype, torch.float32))
        for length in range(LONGEST_WORD):
            output, state = self._advance(letters, state)
            log_probs = self._log_probs(output, torch.full_like(letters, not length, dtype=torch.bool))
            log_probs[:, UNK] = NEVER
            continued = (totals.unsqueeze(2) + log_probs.view(rows, -1, log_probs.size(1))).flatten(1)
            best, places = continued.topk(min(2 * width, continued.size(1)), 1)
            parents, numbers = places // log_probs.size(1), places % log_probs.size(1)
            last = length == LONGEST_WORD - 1
            for beam, *columns in zip(beams, best.tolist(), parents.tolist(), numbers.tolist(), strict=True):
                beam.keep(list(zip(*columns, strict=True)), last=last)
            if all(beam.done for beam in beams):
                break
            letters = torch.tensor([number for beam in beams for number in beam.numbers], device=start.device)
            totals = totals.new_tensor([beam.totals for beam in beams])
            before = len(log_probs) // rows  # continuations of each start
            chosen = [row * before + parent for row, beam in enumerate(beams) for parent in beam.parents]
            state = select_rows(state, torch.tensor(chosen, device=start.device))
        return [beam.spellings(self.alphabet) for beam in beams]


class _Beam:
    """The spellings of one row: `width` that go on, with their last numbers, totals and parents, and the best ended."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._open: list[tuple[int, ...]] = [()]
        self._ended: list[tuple[float, tuple[int, ...]]] = []
        self.numbers: list[int] = []
        self.totals: list[float] = []
        self.parents: list[int] = []

    def keep(self, candidates: list[tuple[float, int, int]], *, last: bool) -> None:
        """Keep the best continuations (total, parent, number), best first; all of them end after the last step."""
        going: list[tuple[float, int, int]] = []
        for rank, (total, parent, number) in enumerate(candidates):
            if total == NEVER:
                break
            if number == EOS and rank < self._width:
                self._ended.append((total, self._open[parent]))
            elif number != EOS and len(going) < self._width:
                going.append((total, parent, number))
        if last:
            self._ended += [(total, (*self._open[parent], number)) for total, parent, number in going]
        self._ended = sorted(self._ended, key=lambda spelling: -spelling[0])[: self._width]
        self._open = [(*self._open[parent], number) for _, parent, number in going]
        filler = (NEVER, 0, BOS)
        padded = [*going, *[filler] * (self._width - len(going))]
        self._open += [()] * (self._width - len(going))
        self.totals, self.parents, self.numbers = (list(column) for column in zip(*padded, strict=True))

    @property
    def done(self) -> bool:
        """Whether no spelling that goes on can still be among the best."""
        full = len(self._ended) == self._width
        return self.totals[0] == NEVER or (full and self._ended[-1][0] >= self.totals[0])

    def spellings(self, alphabet: Alphabet) -> list[Spelling]:
        return [Spelling(alphabet.word(numbers), total) for total, numbers in self._ended]

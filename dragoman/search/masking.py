"""What a constraint does to the log-probabilities of a step: masks what may not come next."""

import torch
from torch import Tensor

from dragoman.data.vocabulary import BOS, EOS, PAD
from dragoman.model.shapes import Bool, Float, Int
from dragoman.search.constraints import Constraint, State, find_following

NEVER = -1e4  # log P of required symbols that the model rules out: small, but added to others it keeps their order


def mask_log_probs(
    log_probs: Float[Tensor, "R C"],
    symbols: Int[Tensor, "C"],
    constraint: Constraint,
    state: State,
    left: Int[Tensor, "R"] | None = None,
) -> Float[Tensor, "R C"]:
    """Return the log-probabilities of these symbols under the constraint, changed in place: -inf for symbols that are
    not allowed and, while something is missing, for the end, and for all but required symbols in rows that have no more
    symbols `left` than would be missing then or whose most probable symbol is the end. If the model rules out all that
    is allowed, it gets NEVER; if nothing is allowed, the end does.
    """
    allowed, progress = constraint.allowed(state, symbols), constraint.progress(state)
    allowed = allowed & (symbols != PAD) & (symbols != BOS)
    if progress and progress.missing.any():
        missing, following, losing = progress
        # A row that wants to end says what is missing at once: whatever else it said would be improbable filling.
        free = (missing == 0) | (symbols[log_probs.masked_fill(~allowed, float("-inf")).argmax(1)] != EOS)
        if left is not None:
            # As late as possible: one more symbol of another kind, and there would be too little room.
            free &= (missing == 0) | (missing + (0 if losing is None else losing) < left)
        advancing = find_following(following, symbols)
        # Where no required symbol is allowed, the row goes on with any other, to reach a place where one is.
        free |= ~(allowed & advancing).any(1)
        allowed = allowed & ((missing == 0).unsqueeze(1) | (symbols != EOS))
        allowed = allowed & (free.unsqueeze(1) | advancing)
    masked = log_probs.masked_fill_(~allowed, float("-inf"))
    stuck = masked.amax(1) == float("-inf")
    if stuck.any():
        possible = allowed.expand_as(masked)[stuck]
        nothing = ~possible.any(1, keepdim=True) & (symbols == EOS)
        masked[stuck] = masked[stuck].masked_fill(possible | nothing, NEVER)
    return masked


class RefusalMask:
    """Rules out, in place of log P (R, C) of these symbols, continuations that a constraint refuses. If it refuses all
    of `width` rows that compete, they go on as if it refused none. Rows that are `dead` have no probability, and do not
    compete.
    """

    def __init__(
        self,
        constraint: Constraint,
        state: State,
        log_probs: Float[Tensor, "R C"],
        symbols: Int[Tensor, "C"],
        width: int,
        dead: Bool[Tensor, "R"],
    ) -> None:
        self._dead = dead
        self._constraint = constraint
        self._state = state
        self._log_probs = log_probs
        self._symbols = symbols
        self._width = width
        self._before = log_probs.clone()  # restored if everything is refused
        self._free = torch.zeros(len(log_probs), dtype=torch.bool, device=log_probs.device)

    def rule_out(self, rows: Int[Tensor, "P"], columns: Int[Tensor, "P"]) -> Int[Tensor, "_"]:
        """Ask about these rows, each with a column. Returns the rows of which any was ruled out."""
        # Dead rows only fill the batch up: what is refused there must not make their sentence draw again.
        is_open = (self._log_probs[rows, columns] > float("-inf")) & ~self._free[rows] & ~self._dead[rows]
        rows, columns = rows[is_open], columns[is_open]
        refused = self._constraint.refused(self._state, rows.tolist(), self._symbols[columns].tolist())
        bad = torch.tensor(refused, dtype=torch.bool, device=rows.device)
        self._log_probs[rows[bad], columns[bad]] = float("-inf")
        nothing = (self._dead | (self._log_probs.amax(1) == float("-inf"))).view(-1, self._width).all(1)
        self._free |= nothing.repeat_interleave(self._width)
        self._log_probs[self._free] = self._before[self._free]
        return rows[bad]

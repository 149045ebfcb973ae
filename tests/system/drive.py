"""Moments at which a command is sent a signal: the calls of functions, before which it arrives."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dragoman.data import preprocessor
from dragoman.data.store import ColumnWriter
from dragoman.model.seq2seq import Seq2Seq
from dragoman.training import card
from dragoman.training.checkpoint import Selection
from dragoman.training.validation import Validator
from dragoman.translation.translator import Translator

MOMENTS: dict[str, tuple[Any, str]] = {
    "preparation": (ColumnWriter, "append"),  # half of the corpus is in the store
    "step": (Seq2Seq, "unroll"),
    "translation": (Translator, "translate"),  # of a portion of lines
    "save": (os, "fsync"),  # a file is written, and not yet in its place
    "saved": (Path, "replace"),
    "validation": (Validator, "__call__"),
    "selection": (Selection, "keep"),  # measured, and no weights kept yet
    "pruning": (Selection, "prune"),  # saved, and old weights not yet gone
    "end": (card, "write"),  # all but the model card is there
}


def arrange(moment: str, count: int, number: signal.Signals) -> None:
    """Makes the count-th call of a moment's function send the signal to this process, then go on if it still can."""
    preprocessor.BLOCK = 2  # a toy corpus is written in many portions, as a large one is
    owner, name = MOMENTS[moment]
    function: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == count:
            os.kill(os.getpid(), number)
        return function(*arguments, **options)

    setattr(owner, name, counted)

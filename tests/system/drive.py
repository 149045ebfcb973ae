"""Runs dragoman in a process that sends itself a signal at a chosen moment: drive.py MOMENT COUNT SIGNAL WORDS...

Moments are calls of functions; the COUNT-th call sends the signal first, then goes on if it still can. RANK in front
of a moment, as in `1:step`, is the worker that does.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dragoman.cli import main
from dragoman.data import preparation
from dragoman.data.store import ColumnWriter
from dragoman.model.seq2seq import Seq2Seq
from dragoman.training import card
from dragoman.training.selection import Selection
from dragoman.training.validation import Validator
from dragoman.translator import Translator

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


def patch(owner: Any, name: str, count: int, number: signal.Signals) -> None:
    """Makes the count-th call of a function send the signal."""
    function: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == count:
            os.kill(os.getpid(), number)
        return function(*arguments, **options)

    setattr(owner, name, counted)


if __name__ == "__main__":
    moment, count, number = sys.argv[1:4]
    del sys.argv[1:4]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell has its background jobs ignore
    preparation.BLOCK = 2  # a toy corpus is written in many portions, as a large one is
    rank, _, moment = moment.rpartition(":")
    if rank in ("", os.environ.get("RANK")):
        patch(*MOMENTS[moment], int(count), signal.Signals[number])
    main()

"""Weights of reranking, found by `dragoman tune` as users run it."""

import subprocess
import sys
from pathlib import Path

from dragoman.errors import UserError
from dragoman.translation.tuning import Weighted

CANDIDATES = 20


def tuned(path: Path, run: Path, reverse: Path, source: Path, reference: Path, metric: str) -> Weighted:
    """Return the weights that please a metric of these development texts most. They are found when they are first asked
    for and kept in the file `path`. UserError says what `tune` says.
    """
    if not path.is_file():
        command = [sys.executable, "-m", "dragoman", "tune", str(run), "--reverse", str(reverse), "--metric", metric]
        command += ["--source", str(source), "--reference", str(reference), "--n-best", str(CANDIDATES)]
        done = subprocess.run(
            [*command, "--threads", "1", "-o", str(path)], stderr=subprocess.PIPE, text=True, check=False
        )
        if done.returncode:
            raise UserError(done.stderr.strip())
    return Weighted.read(path)

"""Programs that benchmarks start, run in this process."""

import io
import os
import runpy
import subprocess
import sys
import threading
import traceback
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from typing import Any

import pytest

_real_run = subprocess.run
_lock = threading.Lock()  # standard streams, arguments and the working directory are those of the process


def _run(command: list[str], **options: Any) -> subprocess.CompletedProcess[Any]:
    if command[:2] != [sys.executable, "-m"]:
        return _real_run(command, **options)
    out, err, code = io.StringIO(), io.StringIO(), 0
    with _lock, pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", command[2:])
        with chdir(options.get("cwd") or os.curdir), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the module is imported, and runs a second time
            try:
                runpy.run_module(command[2], run_name="__main__", alter_sys=True)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            except Exception:
                traceback.print_exc()
                code = 1
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run modules that are started by `subprocess.run` here, where all that they import is loaded: it takes seconds."""
    monkeypatch.setattr(subprocess, "run", _run)

"""Disks that fail, and what is asked of them, recorded."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest


class Synchronized(NamedTuple):
    """The data of a file were forced to the disk when it had so many bytes."""

    inode: int
    size: int


class Replaced(NamedTuple):
    """A file got its final name."""

    inode: int
    target: Path


def record(patched: pytest.MonkeyPatch) -> list[Synchronized | Replaced]:
    """Return a list to which `os.fsync` and `Path.replace` add what they are called for."""
    calls = list[Synchronized | Replaced]()
    fsync, replace = os.fsync, Path.replace

    def fsync_recorded(descriptor: int) -> None:
        status = os.fstat(descriptor)
        calls.append(Synchronized(status.st_ino, status.st_size))
        fsync(descriptor)

    def replace_recorded(path: Path, target: Path) -> Path:
        calls.append(Replaced(path.stat().st_ino, Path(target)))
        return replace(path, target)

    patched.setattr(os, "fsync", fsync_recorded)
    patched.setattr(Path, "replace", replace_recorded)
    return calls


def fail_to_replace(patched: pytest.MonkeyPatch, count: int, error: BaseException) -> None:
    """Let the count-th call of `Path.replace` raise the error."""
    replace, calls = Path.replace, 0

    def replace_or_fail(path: Path, target: Path) -> Path:
        nonlocal calls
        calls += 1
        if calls == count:
            raise error
        return replace(path, target)

    patched.setattr(Path, "replace", replace_or_fail)

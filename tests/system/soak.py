"""Hundreds of interrupted commands, after which nothing of a user's may be lost: `make soak`."""

import argparse
import random
import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from tests.system.every import (
    COMMANDS,
    HIDDEN,
    complaints,
    drawn,
    files,
    furnish,
    lacking,
    losses,
    stopped_at_the_end,
    stopped_half_way,
    typed,
)
from tests.system.interrupted import NOTHING


def main(arguments: list[str] | None = None) -> int:
    """Exit status: 0 when nothing was lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.system.soak", description=__doc__)
    parser.add_argument("--runs", type=int, default=500, help="commands to interrupt")
    parser.add_argument("--seed", type=int, default=1, help="of the random choices")
    options = parser.parse_args(arguments)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    commands = [name for name in COMMANDS if name not in lacking()]
    begun, lost, ends = time.monotonic(), 0, dict[int, int]()
    with TemporaryDirectory() as place:
        furnished = furnish(Path(place, "furnished"))
        for number in range(options.runs):
            name = commands[number % len(commands)]
            faults, code = interrupted(name, furnished, Path(place, "user"), random.Random(f"{options.seed}:{number}"))
            ends[code] = ends.get(code, 0) + 1
            lost += bool(faults)
            for line in faults:
                console.print(f"{number} {line}")
    counts = ", ".join(f"{count} with {code}" for code, count in sorted(ends.items()))
    minutes = (time.monotonic() - begun) / 60
    console.print(f"{options.runs} interrupted commands, seed {options.seed}, {minutes:.0f} minutes; ended {counts}")
    console.print(f"{lost} lost something")
    return int(lost > 0)


def interrupted(name: str, furnished: Path, folder: Path, generator: random.Random) -> tuple[list[str], int]:
    """What went wrong when a command was interrupted somewhere and typed again, and how it first ended."""
    command = COMMANDS[name]
    acts, size = measured(name, furnished, folder)
    before = renewed(furnished, folder)
    interruption = drawn(generator, acts, size)
    end = typed(folder, name, interruption)
    killed = end.code < 0 or len(interruption.signals) > 1
    faults = complaints(end, interruption, command)
    faults += losses(before, folder, command.writes, killed=killed)
    again = typed(folder, name, NOTHING)
    stopped = stopped_half_way(name, again, killed) or stopped_at_the_end(command, again, files(folder), WHOLE[name])
    if again.code != int(command.refused) and not stopped:
        faults.append(f"again: exit status {again.code}: {again.err}")
    faults += [f"again: {fault}" for fault in losses(before, folder, command.writes, killed=killed)]
    if again.code == 0:
        now = files(folder)
        faults += [f"again: {path}: other" for path in command.same if now.get(path) != WHOLE[name][path]]
        own = f"{command.words}".rpartition("--run=")[2].split()[0] if "--run=" in command.words else ""
        faults += [
            f"again: {path}: still there" for path in now if own and path.startswith(own) and HIDDEN.fullmatch(path)
        ]
    return [f"{name}, {interruption}: {fault}" for fault in faults], end.code


WHOLE: dict[str, dict[str, bytes]] = {}  # what each command writes when nothing happens
MEASURED: dict[str, tuple[int, int]] = {}  # its acts, and the size of its largest file


def measured(name: str, furnished: Path, folder: Path) -> tuple[int, int]:
    """How many acts a command has, and the size of the largest file that it writes."""
    if name not in MEASURED:
        before = renewed(furnished, folder)
        end, now = typed(folder, name), files(folder)
        WHOLE[name] = {path: now[path] for path in COMMANDS[name].same}
        MEASURED[name] = (
            end.acts,
            max([len(text) for path, text in now.items() if before.get(path) != text], default=99),
        )
    return MEASURED[name]


def renewed(furnished: Path, folder: Path) -> dict[str, bytes]:
    """The folder as a user has it, and its files."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(furnished, folder, symlinks=True)
    return files(folder)


if __name__ == "__main__":
    sys.exit(main())

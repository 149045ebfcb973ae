"""Trace a plain sentence through `dragoman translate`: print the files of the package in which a function is called.

`python -m tools.trace RUN [SENTENCE]` runs the command in this process. It exits with 1 if translating enters more than
50 files, or any text transform, which a sentence without special characters should not meet.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console

from dragoman.cli import app

PACKAGE = Path(__file__).resolve().parent.parent / "dragoman"
LOAD = "translation/loading.py", "load"  # begins the second phase, and its end the third
COMMAND = "cli/translate.py", "translate"  # its end is the end of the third
MOST_FILES = 51
TRANSFORMS = "translation/transforms/"
PHASES = BEFORE, LOADING, TRANSLATING, AFTER = "before loading", "while loading", "while translating", "after"


class FileTrace:
    """Calls per file in each phase of a command, as a profile function of the interpreter. Code that runs while a
    module is imported is left out.
    """

    def __init__(self) -> None:
        self.phase = BEFORE
        self.calls = {phase: Counter[str]() for phase in PHASES}
        self._prefix = f"{PACKAGE}/"
        self._imports = 0  # modules whose code is running

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return"):
            return
        if code.co_name == "<module>":
            self._imports += 1 if event == "call" else -1
        if self._imports or not code.co_filename.startswith(self._prefix):
            return
        file = code.co_filename.removeprefix(self._prefix)
        if (file, code.co_name) == LOAD:
            self.phase = LOADING if event == "call" else TRANSLATING
        elif (file, code.co_name, event) == (*COMMAND, "return"):
            self.phase = AFTER
        elif event == "call":
            self.calls[self.phase][file] += 1


def trace(run: Path, sentence: str) -> Mapping[str, Counter[str]]:
    """Return the calls per file, by phase, while a run translates a sentence."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        text.write_text(f"{sentence}\n", encoding="utf-8")
        file_trace = FileTrace()
        sys.setprofile(file_trace)
        try:
            app(["translate", str(run), str(text)])
        except SystemExit as ended:
            if ended.code:
                raise
        finally:
            sys.setprofile(None)
    return file_trace.calls


def problems(files: Sequence[str]) -> list[str]:
    """Return why the files that are entered while translating are too many."""
    transforms = [file for file in files if file.startswith(TRANSFORMS)]
    too_many = [f"{len(files)} files while translating, at most {MOST_FILES} expected"] * (len(files) > MOST_FILES)
    return [*too_many, *(f"{file}: entered, though the sentence is plain" for file in transforms)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status: 1 if there are problems."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", metavar="RUN", type=Path, help="folder of a trained run")
    parser.add_argument("sentence", metavar="SENTENCE", nargs="?", default="My teacher is reading the letter.")
    options = parser.parse_args(arguments)
    calls = trace(options.run, options.sentence)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    for phase, files in calls.items():
        console.print(f"{phase}: {len(files)} files")
        for file, count in sorted(files.items()):
            console.print(f"{count:8,} {file}")
    console.print(f"in all: {len(set().union(*calls.values()))} files")
    faults = problems(list(calls[TRANSLATING]))
    for problem in faults:
        console.print(problem)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

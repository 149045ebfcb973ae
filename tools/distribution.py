"""Build a release of the current commit and check it: `make dist`.

`dist/` gets a wheel, a source distribution and the demo's run as an archive of its own. The wheel is installed in a new
environment, and runs the demo, the service and a notebook in a folder without the repository; the tests of the
source distribution run in a copy of it. Nothing is uploaded.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen
from zipfile import ZIP_DEFLATED, ZipFile

from rich.console import Console

from dragoman.interop.hub import published
from dragoman.run.run import Run

ROOT = Path(__file__).resolve().parent.parent
GENERATED = ("PKG-INFO", "setup.cfg", "dragoman.egg-info/")  # by setuptools
WHEEL = ("dragoman/", "dragoman-")  # how the names in a wheel begin
EXTRAS = "serve,notebooks"
NOTEBOOK = "attention-step-by-step.ipynb"
SENTENCE = "The teacher reads the letter."
SECONDS = 120  # until the service answers


def tracked() -> set[str]:
    """Return the files of the current commit."""
    return set(_output("git", "ls-tree", "-r", "--name-only", "-z", "HEAD").split("\0")) - {""}


def build(folder: Path) -> tuple[Path, Path]:
    """Build a wheel and a source distribution of the current commit; return both."""
    with TemporaryDirectory() as place:
        archive = Path(place) / "commit.tar"
        _output("git", "archive", "--output", str(archive), "HEAD")
        with tarfile.open(archive) as file:
            file.extractall(Path(place) / "source", filter="tar")
        words = ("--no-isolation", "--outdir", str(folder), str(Path(place) / "source"))
        _output(sys.executable, "-m", "build", *words)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def stray(wheel: Sequence[str], sdist: Sequence[str], files: set[str]) -> Iterator[str]:
    """Yield the names in a wheel and a source distribution that are not of these files, and those that they lack."""
    modules = {name for name in files if name.startswith("dragoman/") and name.endswith(".py")}
    yield from (f"wheel: {name}" for name in wheel if not name.startswith(WHEEL) or "__pycache__" in name)
    yield from (f"wheel: lacks {name}" for name in sorted(modules - set(wheel)))
    packed = {name.partition("/")[2] for name in sdist} - {""}
    linked = {name for name in packed if name.startswith("dragoman/configs/")}  # a link to configs/
    expected = files | {f"dragoman/{name}" for name in files if name.startswith("configs/")}
    yield from (f"sdist: {name}" for name in sorted(packed - expected) if not name.startswith(GENERATED))
    yield from (f"sdist: lacks {name}" for name in sorted(files - packed - {"dragoman/configs"} - linked))


def names(wheel: Path, sdist: Path) -> tuple[list[str], list[str]]:
    """Return the names of the files in a wheel and in a source distribution."""
    with ZipFile(wheel) as packed, tarfile.open(sdist) as archive:
        return packed.namelist(), [member.name for member in archive.getmembers() if not member.isdir()]


def install(wheel: Path, environment: Path) -> Path:
    """Install a wheel with what its service and notebooks need in a new environment; return the folder of commands."""
    _output(sys.executable, "-m", "venv", str(environment))
    commands = environment / "bin"
    constraints = str(ROOT / "constraints.txt")
    _output(str(commands / "pip"), "install", "--quiet", "-c", constraints, f"{wheel}[{EXTRAS}]")
    return commands


def try_out(commands: Path, folder: Path) -> Path:
    """Run the demo, a translation, the service and a notebook of an installed wheel; return the demo's run."""
    dragoman = str(commands / "dragoman")
    _output(dragoman, "demo", folder=folder)
    run = folder / "runs" / "demo" / "run"
    text = _output(dragoman, "translate", str(run), folder=folder, text=f"{SENTENCE}\n")
    with served(dragoman, run) as address:
        query = urlencode({"q": SENTENCE, "source": "en", "target": "fr"}).encode()
        with urlopen(f"{address}/translate", query) as answer:
            answered = json.load(answer)["translatedText"]
    if not text.strip() or answered != text.strip():
        raise SystemExit(f"the service answers {answered!r}, and translate writes {text.strip()!r}")
    shutil.copy(ROOT / "notebooks" / NOTEBOOK, folder)
    _output(str(commands / "jupyter-execute"), NOTEBOOK, folder=folder)
    return run


@contextmanager
def served(dragoman: str, run: Path) -> Iterator[str]:
    """Yield the address of a service of a run."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    with subprocess.Popen([dragoman, "serve", str(run), "--port", str(port)], env=_environment()) as server:
        try:
            _wait(f"{address}/health", server)
            yield address
        finally:
            server.terminate()


def pack(run: Path, path: Path) -> None:
    """Write the files of a run that its users need to an archive, in a folder of its name."""
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in published(Run.load(run)).items():
            inside = f"{path.stem}/{name}"
            if isinstance(content, Path):
                archive.write(content, inside)
            else:
                archive.writestr(inside, content)


def test(sdist: Path) -> None:
    """Run the quick tests of a source distribution in a copy of it."""
    with TemporaryDirectory() as place:
        with tarfile.open(sdist) as archive:
            archive.extractall(place, filter="data")
        (folder,) = Path(place).iterdir()
        words = ("-q", "-n", "auto", "--maxprocesses", "4", "--dist", "worksteal", "-m", "not slow")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words], cwd=folder, env=_environment(PYTHONPATH=str(folder)), check=False
        )
        if done.returncode:
            raise SystemExit("tests of the source distribution fail")


def _wait(address: str, server: subprocess.Popen[bytes]) -> None:
    """Wait until a service answers. SystemExit if it ends, or does not in SECONDS."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and server.poll() is None:
        try:
            with urlopen(address):
                return
        except URLError:
            time.sleep(0.5)
    raise SystemExit("the service does not answer")


def _environment(**variables: str) -> Mapping[str, str]:
    """Return the variables of this process without the path of the repository, and others."""
    return {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **variables}


def _output(*words: str, folder: Path = ROOT, text: str | None = None) -> str:
    """Run a command and return what it prints. SystemExit with its errors if it fails."""
    done = subprocess.run(
        words, cwd=folder, input=text, capture_output=True, text=True, env=_environment(), check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make dist", description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "dist", help="folder to write, which must be empty")
    folder: Path = parser.parse_args(arguments).folder
    folder.mkdir(exist_ok=True)
    console = Console(highlight=False)
    if any(folder.iterdir()):
        console.print(f"{folder}: is not empty; remove the files of an earlier release")
        return 1
    wheel, sdist = build(folder)
    _output(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    if problems := list(stray(*names(wheel, sdist), tracked())):
        console.print("\n".join(problems))
        return 1
    with TemporaryDirectory() as place:
        commands = install(wheel, Path(place) / "environment")
        work = Path(place) / "work"
        work.mkdir()
        pack(try_out(commands, work), folder / "dragoman-demo-en-fr.zip")
    test(sdist)
    for path in sorted(folder.iterdir()):
        console.print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

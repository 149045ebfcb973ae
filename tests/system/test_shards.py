"""`dragoman translate --shards`."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli import shards
from dragoman.cli.shards import Folder, Shard, Worker
from dragoman.cli.translate_options import TranslateOptions
from dragoman.errors import UserError
from tests import toy
from tests.golden import Golden
from tests.system.conftest import ONE_THREAD, Shell

COMMAND = ("translate", "runs/toy", "many.en", "-o", "many.fr", "--search=greedy")
LONG = "six " * 600  # more symbols than are read


@pytest.fixture
def many(copied: Shell) -> Shell:
    """Thirty lines to translate."""
    copied.write("many.en", "".join(f"{source}\n" for source, _ in toy.pairs(30, 4)))
    return copied


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One worker in this process, without Ray; the shards that it has translated."""
    done: list[int] = []

    def translated(_: Any, options: TranslateOptions, missing: Sequence[Shard], workers: int) -> Iterator[int]:
        worker = Worker(options, os.getcwd())
        for shard_options in missing:
            shard = json.dumps({**shard_options._asdict(), "path": str(shard_options.path.absolute())})
            result = worker({"shard": [shard]})
            if result["error"] != [""]:
                raise UserError(result["error"][0])
            done.extend(result["number"])
            yield shard_options.number

    monkeypatch.setattr(shards, "_library", lambda: None)
    monkeypatch.setattr(shards, "_cluster", lambda *_: nullcontext(1))
    monkeypatch.setattr(shards, "_translated", translated)
    return done


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [[], ["--json"], ["--n-best=2", "--search=beam"], ["--prefix=prefixes"], ["--alignments"]]
)
@pytest.mark.parametrize("count", [1, 4, 40])
def test_shards_are_joined_as_if_there_were_none(many: Shell, alone: list[int], options: list[str], count: int) -> None:
    many.write("prefixes", "".join("six\n" if number % 3 else "\n" for number in range(30)))
    assert many(*COMMAND, *options).code == 0
    whole = (many.folder / "many.fr").read_text("utf-8")
    (many.folder / "many.fr").unlink()
    assert many(*COMMAND, *options, f"--shards={count}").code == 0
    assert alone == list(range(count))
    assert without_digits((many.folder / "many.fr").read_text("utf-8")) == without_digits(whole)
    assert not (many.folder / "many.fr.shards").exists()


def test_messages_of_native_code_are_not_shown(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "__stderr__", sys.stderr)
    with shards._without_native_messages():
        os.write(2, b"of Ray\n")
        sys.stderr.write("of Python\n")
    sys.stderr.write("afterward\n")
    assert capfd.readouterr() == ("", "of Python\nafterward\n")


@pytest.mark.slow
def test_what_is_done_is_not_done_again(many: Shell, alone: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "joined", stopped)
        many(*COMMAND, "--shards=3")
    folder = many.folder / "many.fr.shards"
    names = ["00000-of-00003", "00001-of-00003", "00002-of-00003"]
    assert sorted(path.name for path in folder.iterdir()) == [*names, "options.json"]
    assert not (many.folder / "many.fr").exists()
    (folder / names[1]).unlink()
    (folder / f".{names[1]}.0123abcd.part").write_text("of a worker that was killed")
    (folder / names[2]).write_text("as it was\n")
    (folder / "mine").touch()
    alone.clear()
    assert many(*COMMAND, "--shards=3").code == 0
    assert alone == [1]
    lines = (many.folder / "many.fr").read_text("utf-8").splitlines()
    assert (len(lines), lines[-1]) == (21, "as it was")
    assert [path.name for path in folder.iterdir()] == ["mine"]


@pytest.mark.slow
@pytest.mark.parametrize("change", ["--beam=2", "--shards=4", "many.en", "model.safetensors", "others", "empty"])
def test_shards_of_another_command_are_left_alone(
    change: str, many: Shell, alone: list[int], monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    command = ["translate", "runs/toy", "many.en", "-o", "many.fr", "--shards=3"]
    folder = many.folder / "many.fr.shards"
    if change in ("others", "empty"):
        folder.mkdir()
        if change == "others":
            (folder / "mine").touch()
    else:
        monkeypatch.setattr(Folder, "joined", lambda *_: None)
        assert many(*command).code == 0
    if change == "many.en":
        many.write("many.en", "one two\n")
    elif change == "model.safetensors":
        path = many.folder / "runs/toy/model.safetensors"
        *data, last, a, b, c = path.read_bytes()
        path.write_bytes(bytes([*data, last ^ 1, a, b, c]))  # a digit of a weight
    there = sorted(folder.iterdir())
    golden(many.fails(*command, *([change] if change.startswith("--") else [])))
    assert sorted(folder.iterdir()) == there


@pytest.mark.parametrize(
    "words",
    [
        "translate runs/toy many.en --shards 2",
        "translate runs/toy --shards 2 -o many.fr",
        "translate runs/toy many.en --shards 2 -o /dev/null",
        "translate runs/toy many.en --shards 2 -o many.fr --resume",
        "translate runs/toy many.en --shards 2 -o many.fr --show",
        "translate runs/toy many.en --shards 2 -o many.fr --wait 2",
        "translate runs/toy many.en -o many.fr --workers 2",
        "translate runs/toy many.en -o many.fr --shards 2 --to de",
        "translate runs/toy none.en -o many.fr --shards 2",
    ],
)
def test_what_does_not_go_together_is_told(words: str, many: Shell, alone: list[int], golden: Golden) -> None:
    golden(many.refuses(*words.split()))
    assert not (many.folder / "many.fr.shards").exists()


def test_the_extra_is_named(many: Shell, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    golden(many.fails(*COMMAND, "--shards=2"))


@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "ray://127.0.0.1:{port}", "127.0.0.1:99999"])
def test_a_cluster_that_is_not_there_is_told(many: Shell, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray.data", reason="needs the extra ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = address.format(port=free.getsockname()[1])
    monkeypatch.setenv("RAY_ADDRESS", address)
    assert many.fails(*COMMAND, "--shards=2").startswith(f"RAY_ADDRESS={address}: cannot reach the cluster (")
    assert not (many.folder / "many.fr.shards").exists()


@pytest.mark.slow
def test_a_cluster_translates(many: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that `ray start` has begun, which does not let everybody join."""
    pytest.importorskip("ray.data", reason="needs the extra ray")
    assert many(*COMMAND).code == 0
    whole = (many.folder / "many.fr").read_bytes()
    (many.folder / "many.fr").unlink()
    (many.folder / ".ray").mkdir()
    (many.folder / ".ray" / "auth_token").write_text("0123456789abcdef" * 4)
    env = {**os.environ, **ONE_THREAD, "HOME": str(many.folder), "RAY_AUTH_MODE": "token"}
    with cluster(env) as address:
        command = [sys.executable, "-m", "dragoman", *COMMAND, "--shards=3"]
        env["RAY_ADDRESS"] = address
        other = {**env, "RAY_AUTH_MODE": "disabled"}
        refused = subprocess.run(command, cwd=many.folder, env=other, capture_output=True, text=True, check=False)
        assert refused.stderr.count("\n") == 1
        assert refused.stderr.startswith(f"RAY_ADDRESS={address}: cannot join the cluster (")
        done = subprocess.run(command, cwd=many.folder, env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    assert (many.folder / "many.fr").read_bytes() == whole


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(many: Shell) -> None:
    """Lines and messages alike, by Ray itself."""
    pytest.importorskip("ray.data", reason="needs the extra ray")
    texts = [source for source, _ in toy.pairs(4_000, 4)]
    many.write("many.en", "".join(f"{text}\n" for text in [LONG, *texts, LONG]))
    plain = many(*COMMAND)
    whole = (many.folder / "many.fr").read_bytes()
    (many.folder / "many.fr").unlink()
    command = [sys.executable, "-m", "dragoman", *COMMAND, "--shards=6", "--workers=1"]
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"} | ONE_THREAD
    with subprocess.Popen(command, cwd=many.folder, env=environment, stderr=subprocess.PIPE, text=True) as running:
        kill_a_worker(running.pid, many.folder / "many.fr.shards")
        assert running.stderr is not None
        message = running.stderr.read()
    assert running.returncode == 0, message
    assert (many.folder / "many.fr").read_bytes() == whole
    assert not (many.folder / "many.fr.shards").exists()
    ours = [line for line in message.splitlines() if line.startswith("many.en:")]
    assert (
        ours
        == plain.err.splitlines()
        == [f"many.en:{n}: too long, only the first 500 symbols were read" for n in (1, 4_002)]
    )


def without_digits(text: str) -> str:
    """The text without fractions, whose last digits depend on the batch, though words do not."""
    return re.sub(r"-?\d+\.\d+(e-\d+)?", "#", text)


@contextmanager
def cluster(env: Mapping[str, str]) -> Iterator[str]:
    """A cluster of this machine alone; its address."""
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    arguments = ["--head", "--block", "--num-cpus=1", f"--port={port}", "--include-dashboard=false"]
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", *arguments, "--object-store-memory=100000000"]
    environment = {**env, "RAY_USAGE_STATS_ENABLED": "0"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout
            yield next(match[1] for match in map(re.compile(r"--address='([^']+)'").search, process.stdout) if match)
        finally:
            process.terminate()  # and all that it has started


def kill_a_worker(above: int, folder: Path) -> None:
    """Kill the worker that a process has started somewhere below itself, as soon as there is a shard and while there
    are others to come.
    """
    end = time.monotonic() + 120
    while not list(folder.glob("0*")):
        assert time.monotonic() < end, "no shard was translated"
        time.sleep(0.02)
    (worker,) = (pid for pid, name in below(above) if name.startswith("ray::MapWorker"))
    os.kill(worker, signal.SIGKILL)
    assert len(list(folder.glob("0*"))) < 6


def below(above: int) -> list[tuple[int, str]]:
    """The processes below another, with their names."""
    parents, names = dict[int, int](), dict[int, str]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            names[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ").strip()
        except OSError:
            continue  # it has ended

    def under(pid: int) -> bool:
        return pid == above or (pid in parents and under(parents[pid]))

    return [(pid, names[pid]) for pid in names if under(pid)]

"""How many threads there are, and how they wait."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman import threads
from dragoman.threads import cores, decide, override_count


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.mark.parametrize(("workers", "count"), [(1, 6), (2, 3), (4, 1), (9, 1)])
def test_workers_share_the_cores(workers: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 6)
    assert decide(0, workers) == count


@pytest.mark.parametrize(
    ("value", "count"),
    [("4", 4), ("1", 1), ("4,2", 4), (" 4 , 2 ", 4), ("5000", threads.MOST_THREADS)]
    + [(wrong, 6) for wrong in ("", "0", "-2", "x", "4,", "4 2", "2.5", "\u0664")],
)
def test_the_environment_says_how_many(value: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 6)
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert decide(0, 1) == count
    assert decide(3, 1) == 3  # the configuration comes first
    with override_count(2):
        assert decide(3, 1) == 2  # and the command line before that
    assert decide(3, 1) == 3


@pytest.mark.parametrize(("value", "count"), [("1", 3), ("2", 2)])
def test_of_several_workers_a_thread_each_is_torchruns_word(
    value: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 6)
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert decide(0, 2) == count


def test_what_a_command_is_asked_for_ends_with_it() -> None:
    with override_count(2):
        with override_count(4):
            assert decide(3, 1) == 4
        with pytest.raises(ValueError, match="in the middle"), override_count(5):
            raise ValueError("in the middle")
        assert decide(3, 1) == 2
    assert decide(3, 1) == 3


def test_counts_cores_where_the_system_does_not_tell_which_are_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    assert cores(Path("/nowhere")) == 12
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores(Path("/nowhere")) == 1


V2, V1 = "0::/user/job", "12:pids:/\n4:cpu,cpuacct:/user/job\n3:cpuset:/\n0::/user/job"


@pytest.mark.parametrize(
    ("groups", "files", "count"),
    [
        (V2, {"user/job/cpu.max": "300000 100000"}, 3),
        (V2, {"user/job/cpu.max": "150000 100000"}, 2),
        (V2, {"user/job/cpu.max": "20000 100000"}, 1),
        (V2, {"user/job/cpu.max": "max 100000"}, 8),
        (V2, {"user/job/cpu.max": "max 100000", "user/cpu.max": "200000 100000"}, 2),  # the narrowest counts
        (V2, {"user/job/cpu.max": "400000 100000", "user/cpu.max": "500000 100000"}, 4),
        (V2, {"cpu.max": "200000 100000"}, 2),  # a container sees its own group at the top
        (V2, {"user/other/cpu.max": "100000 100000"}, 8),
        (V2, {"user/job/cpu.max": "9900000 100000"}, 8),  # more than there are
        (V2, {"user/job/cpu.max": "of no use"}, 8),
        (V2, {"user/job/cpu.max": "200000 0"}, 8),
        (V1, {"cpu/user/job/cpu.cfs_quota_us": "250000", "cpu/user/job/cpu.cfs_period_us": "100000"}, 3),
        (V1, {"cpu/cpu.cfs_quota_us": "250000", "cpu/cpu.cfs_period_us": "100000"}, 3),
        (V1, {"cpu/user/job/cpu.cfs_quota_us": "-1", "cpu/user/job/cpu.cfs_period_us": "100000"}, 8),
        (V1, {"cpu/user/job/cpu.cfs_quota_us": "100000"}, 8),
        (V1, {"cpuset/cpu.max": "100000 100000"}, 8),
        ("0::/../job", {"cpu.max": "200000 100000"}, 2),
        ("of no use", {}, 8),
    ],
)
def test_a_container_has_a_part_of_the_cores(
    groups: str, files: dict[str, str], count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    for name, text in {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{name}": files[name] for name in files}}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert cores(tmp_path) == count


# Says what the variables are at the moment when torch is imported, and what they are where it never is.
SEEN = """
import importlib.abc, json, os, sys
VARIABLES = "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "torch":
            print(json.dumps({each: os.environ[each] for each in VARIABLES if each in os.environ}), flush=True)
            os._exit(0)
sys.meta_path.insert(0, Finder())
"""
WAYS = {
    "command line": "import runpy; sys.argv = ['dragoman', 'info']; runpy.run_module('dragoman', run_name='__main__')",
    "Python": "import dragoman; dragoman.load",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("environment", "seen"),
    [
        ({}, threads.WAITING),
        ({"GOMP_SPINCOUNT": "7"}, {**threads.WAITING, "GOMP_SPINCOUNT": "7"}),
        ({"OMP_WAIT_POLICY": "active"}, {"OMP_WAIT_POLICY": "active"}),
    ],
)
def test_how_threads_wait_is_settled_before_torch_is_there(
    way: str, environment: dict[str, str], seen: dict[str, str]
) -> None:
    ours = {name: text for name, text in os.environ.items() if name not in ("OMP_WAIT_POLICY", *threads.WAITING)}
    words = [sys.executable, "-c", SEEN + WAYS[way]]
    done = subprocess.run(words, env=ours | environment, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout) == seen, done.stderr


def test_the_package_itself_takes_no_torch_to_say_so() -> None:
    code = "import os, sys, dragoman; print(os.environ['GOMP_SPINCOUNT'], 'torch' in sys.modules)"
    ours = {name: text for name, text in os.environ.items() if name not in ("OMP_WAIT_POLICY", *threads.WAITING)}
    done = subprocess.run([sys.executable, "-c", code], env=ours, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [threads.WAITING["GOMP_SPINCOUNT"], "False"]

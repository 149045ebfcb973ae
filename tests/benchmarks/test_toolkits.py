"""Which toolkits take part."""

import sys
from dataclasses import replace

import pytest

from benchmarks import toolkits
from benchmarks.jobs import Job
from benchmarks.toolkits import PEERS
from dragoman.model.attention.terms.table import TERMS

TRAIN = Job("train", rows=80, threads=1, folder="nowhere")


def test_toolkits_that_an_interpreter_has_not_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    here = PEERS[0]._replace(name="numbers", package="numpy")
    gone = PEERS[1]._replace(name="Gone", package="no-such-package")
    monkeypatch.setattr(toolkits, "PEERS", (here, gone))
    installed, missing = toolkits.look(sys.executable, "cpu")
    assert list(installed) == [here]
    assert missing == [f"Gone: not installed for {sys.executable}"]


def test_where_no_toolkit_can_be_measured_a_line_says_so() -> None:
    installed, (line,) = toolkits.look("no/such/python", "cpu")
    assert not installed
    assert "no/such/python: No such file" in line


def test_a_toolkit_is_measured_on_its_devices_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    here = PEERS[0]._replace(name="numbers", package="numpy")
    elsewhere = PEERS[1]._replace(name="Elsewhere", package="numpy", devices=frozenset({"cpu"}))
    monkeypatch.setattr(toolkits, "PEERS", (here, elsewhere))
    installed, missing = toolkits.look(sys.executable, "cuda")
    assert list(installed) == [here]
    assert missing == ["Elsewhere: not measured on cuda"]


def test_toolkits_take_part_in_the_works_that_they_do() -> None:
    installed = dict.fromkeys(PEERS, "1.0")
    trained = [contender.name for contender in toolkits.peers("python", TRAIN, installed)]
    assert trained == ["OpenNMT-py 1.0", "JoeyNMT 1.0"]


def test_each_path_of_dragoman_has_its_precision_or_engine() -> None:
    trained = {contender.name: contender.job.precision for contender in toolkits.own(TRAIN, exported=True)}
    assert trained == {"dragoman, plain": "float32", "dragoman, fast": "bfloat16"}
    job = replace(TRAIN, work="beam")
    on_gpu = {contender.name: contender.job.overrides for contender in toolkits.own(replace(TRAIN, device="cuda"))}
    assert on_gpu[toolkits.NO_GRAPHS] == {"device.cuda_graphs": "false"}
    assert not on_gpu["dragoman, plain"]
    decoded = {
        contender.name: (contender.job.engine, contender.job.candidates)
        for contender in toolkits.own(job, exported=True)
    }
    assert decoded == {
        "dragoman, plain": ("torch", None),
        "dragoman, fast": ("int8", None),
        "dragoman, ONNX int8": ("onnx", None),
        "dragoman, ONNX int8, 300,20": ("onnx", [300, 20]),
    }
    assert len(list(toolkits.own(job))) == 2
    assert [contender.name for contender in toolkits.own(replace(job, device="cuda"), exported=True)] == [
        "dragoman, plain"
    ]


def test_every_term_that_shows_all_of_the_source_trains_beside_none() -> None:
    groups = list(toolkits.terms(Job("terms", 80, 1, "folder")))
    assert all(group[0].name == toolkits.NO_TERM for group in groups)
    assert all(group[0].job.overrides == {"model.attention.terms": "[]"} for group in groups)
    assert {len(group) - 1 for group in groups[:-1]} == {toolkits.TOGETHER}
    trained = {
        contender.job.overrides["model.attention.terms"].strip("[]") for group in groups for contender in group[1:]
    }
    assert trained == {kind for kind, term in TERMS.items() if not term.hides}

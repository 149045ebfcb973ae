"""`translate --wait`: words come out while a line is still coming in."""

import os
import re
import subprocess
import sys

import pytest

from tests.system.conftest import ONE_THREAD, Shell


@pytest.mark.spec("B12")
@pytest.mark.slow
def test_a_word_is_written_before_its_line_has_ended(trained: Shell) -> None:
    """A pipe that stays open: two words in, one out; then the rest."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dragoman", "translate", "runs/toy", "--wait", "1"],
        cwd=trained.folder,
        env=os.environ | ONE_THREAD,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"one two three ")
    process.stdin.flush()
    early = process.stdout.read(2)  # it would wait for ever
    rest, errors = process.communicate(b"four\n", timeout=300)
    assert process.returncode == 0
    written = (early + rest).decode()
    assert re.fullmatch(r"[a-z ]+\n", written)
    assert re.fullmatch(rb"average lagging \d\.\d\d words \(\d\.\d\d without correction for lengths\)\n", errors)
    assert trained("translate", "runs/toy", "--wait", "1", stdin="one two three four").out == written


@pytest.mark.slow
def test_there_is_a_line_out_for_every_line_in(trained: Shell) -> None:
    outcome = trained("translate", "runs/toy", "--wait=100", stdin="one two\n\n \n\tthree  four\r\none\u2028two")
    assert outcome.code == 0
    expected = trained("translate", "runs/toy", "--search=greedy", stdin="one two\n\n \nthree four\none two\n")
    assert outcome.lines == expected.lines
    assert outcome.err.startswith("average lagging ")
    assert trained("translate", "runs/toy", "--wait=2", stdin="\n").err == ""


@pytest.mark.parametrize(
    "options",
    [
        "--beam=2",
        "--search=beam",
        "--n-best=1",
        "--alignments",
        "--json",
        "--show",
        "--engine=int8",
        "--engine=onnx",
        "--shortlist=3,2",
        "--incremental",
    ],
)
def test_what_does_not_go_word_by_word_is_refused(options: str, trained: Shell) -> None:
    message = trained.refuses("translate", "runs/toy", "--wait=2", options, stdin="one")
    assert message.startswith("usage: ")
    assert {"--wait", options.split("=")[0]} <= set(re.findall(r"--[a-z-]+", message))
    assert "uses greedy search" in message or options == "--incremental"


def test_another_encoding_is_told_by_line(trained: Shell) -> None:
    outcome = trained("translate", "runs/toy", "--wait=1", stdin=b"one\ntwo \xff\n")
    assert outcome.err == "<stdin>:2: not UTF-8 (byte 0xFF at column 5)\n"


def test_a_model_that_cannot_decide_when_to_read_says_so(trained: Shell) -> None:
    message = trained.fails("translate", "runs/toy", "--incremental", stdin="one")
    assert message == "this model does not decide when to read (no attention term shift); use --wait K"


@pytest.mark.slow
def test_what_is_left_out_of_an_overlong_line_is_told(trained: Shell) -> None:
    text = " ".join(["one"] * 600)
    outcome = trained("translate", "runs/toy", "--wait", "400", stdin=f"two\n{text}\n")
    assert outcome.err.startswith("<stdin>:2: too long, only the first 500 symbols were read\naverage lagging ")
    assert len(outcome.lines) == 2

"""Standard streams as a shell connects them: any line in, a line out; full disks, closed pipes, slow sources."""

import gzip
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.conftest import ONE_THREAD, Shell

FULL = Path("/dev/full")

LINES = [
    "",
    "   ",
    "\t",
    "one\x00two\x01three",
    "\x00",
    "one\u2028two\u2029three\x85four",
    "\u2028",
    "one two\r",
    "x" * 3_000,
    "\ufeffone",
    "na\u00efve \u4e2d\u6587 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 \U0001f642",
    "<unk> <s> </s> <pad>",
    "one ||| two",
    "\x0b\x0cone",
    "one two",
]


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("options", [[], ["--alignments", "--search=greedy"], ["--batch-lines=2"]])
def test_there_is_a_line_out_for_every_line_in(options: list[str], end: str, trained: Shell) -> None:
    outcome = trained("translate", "runs/toy", *options, stdin="\n".join(LINES) + end)
    assert outcome.code == 0
    assert len(outcome.lines) == len(LINES)
    texts = [line.split(" ||| ")[0] for line in outcome.lines]
    blank = [number for number, line in enumerate(LINES) if not line.replace("\x00", "").strip()]
    assert [texts[number] for number in blank] == [""] * len(blank)
    assert outcome.lines[-1] == trained("translate", "runs/toy", *options, stdin="one two").lines[0]


def test_the_n_best_of_an_empty_line_is_empty(trained: Shell) -> None:
    outcome = trained("translate", "runs/toy", "--n-best=2", stdin="\none\n")
    assert outcome.lines[0] == "0 |||  ||| F0= 0.0000 ||| 0.0000"
    assert [line.split()[0] for line in outcome.lines] == ["0", "1", "1"]


def test_what_is_left_out_of_an_overlong_line_is_told(trained: Shell) -> None:
    text = " ".join(["one"] * 100_000)
    outcome = trained("translate", "runs/toy", "--search=greedy", stdin=f"two\n{text}\ntwo\n")
    assert outcome.err == "<stdin>:2: too long, only the first 500 symbols were read\n"
    assert len(outcome.lines) == 3
    assert outcome.lines[0] == outcome.lines[2]


@pytest.mark.slow
def test_names_and_lines_are_shown_and_not_obeyed(copied: Shell) -> None:
    """An escape sequence in a file's name, in gold links, or in a run that somebody else has made."""
    evil, shown = "\x1b]0;title\x07", "\\x1b]0;title\\x07"
    copied.write(f"{evil}.en", " ".join(["one"] * 600) + "\n")
    outcome = copied("translate", "runs/toy", f"{evil}.en", "--search=greedy")
    assert outcome.err == f"{shown}.en:1: too long, only the first 500 symbols were read\n"
    assert copied.fails("translate", "runs/toy", f"{evil}.de") == f"{shown}.de: no such file"
    copied.write("gold", f"{evil}\n")
    assert evil not in copied.fails("align", "runs/toy", "test.en", "test.fr", "--gold=gold")
    config = copied.folder / "runs" / "toy" / "config.yaml"
    config.write_text(re.sub(r"\bdev: dev\b", lambda _: f'dev: "{shown}"', config.read_text()))
    assert shown in copied("info", "runs/toy").out
    for language in ("en", "fr"):
        copied.write(f"{evil}.{language}", "one\n")
    output = copied("debug", "data", "toy.yaml", f'--data.train="{shown}"').out
    assert f"data.train: {shown}\n" in output


@pytest.mark.slow
def test_names_of_files_may_be_any_bytes(trained: Shell, tmp_path: Path) -> None:
    name = os.fsdecode(b"s\xff")
    (tmp_path / name).write_text((trained.folder / "test.fr").read_text("utf-8"), "utf-8")
    system = str(tmp_path / name)
    with (tmp_path / "scores").open("wb") as file:
        outcome = trained.spawn("evaluate", "test.fr", "-i", "test.fr", "-i", system, "--metrics=bleu", stdout=file)
    assert outcome.code == 0, outcome.err
    assert os.fsencode(system) in (tmp_path / "scores").read_bytes()
    words = ("evaluate", "test.fr", "-i", "test.fr", "-i", system, "--metrics=bleu", "--json")
    assert json.loads(trained(*words).out)
    named = trained("judge", "make", "test.en", system, "-o", str(tmp_path / "page.html"))
    assert (named.code, "is not UTF-8" in named.err) == (2, True)


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("option", ["--version", "--help"])
def test_a_full_disk_is_told_of_options_that_end_the_program(option: str, trained: Shell) -> None:
    with FULL.open("wb") as full:
        outcome = trained.spawn(option, stdout=full)
    assert (outcome.code, outcome.err) == (1, "cannot write (No space left on device)\n")


@pytest.mark.slow
def test_a_corpus_with_an_overlong_line_trains(shell: Shell) -> None:
    for name in ("train", "dev"):
        for language in ("en", "fr"):
            path = shell.folder / f"{name}.{language}"
            path.write_text(path.read_text() + " ".join(["six"] * 100_000) + "\n", encoding="utf-8")
    outcome = shell("train", "toy.yaml", "--training.steps=1")
    assert outcome.code == 0, outcome.err
    assert "80 of 81 pairs (left out: 1 too long)" in outcome.err


@pytest.mark.parametrize(
    ("words", "closed", "message"),
    [
        (("translate", "runs/toy"), 0, "<stdin>: cannot read (Bad file descriptor)"),
        (("evaluate", "test.fr"), 0, "<stdin>: cannot read (Bad file descriptor)"),
        (("translate", "runs/toy", "test.en"), 1, "cannot write (Bad file descriptor)"),
        (("info",), 1, "cannot write (Bad file descriptor)"),
    ],
)
@pytest.mark.slow
def test_a_closed_stream_that_is_needed_is_told(
    words: tuple[str, ...], closed: int, message: str, trained: Shell
) -> None:
    outcome = trained.spawn(*words, preexec_fn=lambda: os.close(closed))
    assert (outcome.code, outcome.err) == (1, f"{message}\n")


@pytest.mark.slow
def test_a_closed_stream_that_is_not_needed_does_no_harm(copied: Shell) -> None:
    outcome = copied.spawn("average", "runs/toy", "-o", "mean.safetensors", preexec_fn=lambda: os.closerange(0, 2))
    assert outcome.code == 0, outcome.err
    assert (copied.folder / "mean.safetensors").is_file()


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "words",
    [("translate", "runs/toy", "test.en"), ("translate", "runs/toy", "test.en", "--json"), ("info",)],
)
@pytest.mark.slow
def test_a_full_disk_behind_standard_output_is_told(words: tuple[str, ...], trained: Shell) -> None:
    with FULL.open("wb") as full:
        outcome = trained.spawn(*words, stdout=full)
    assert outcome.code == 1
    assert outcome.err == "cannot write (No space left on device)\n"


@pytest.mark.slow
def test_a_full_disk_ends_training_and_leaves_what_was_saved(shell: Shell) -> None:
    """The disk is full for files over a size, as the state with its optimizer is."""
    words = ("train", "toy.yaml", "--training.save_every=1")

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    outcome = shell.spawn(*words, preexec_fn=limited)
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1] == "runs/toy/checkpoints/last.safetensors: cannot write (File too large)"
    assert "Traceback" not in outcome.err
    assert not (shell.folder / "runs" / "toy").exists()
    assert shell(*words).code == 0


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.slow
def test_a_closed_pipe_is_no_error(options: list[str], trained: Shell) -> None:
    path = trained.folder / "many.en"
    path.write_text("one two three\n" * 5_000)
    command = [sys.executable, "-m", "dragoman", "translate", "runs/toy", "many.en", "--search=greedy", *options]
    with subprocess.Popen(
        command, cwd=trained.folder, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141


@pytest.mark.slow
def test_no_two_outputs_replace_each_other_behind_standard_output(trained: Shell) -> None:
    command = [sys.executable, "-m", "dragoman", "postedit", "runs/toy", "--translation=test.en", "--html=/dev/stdout"]
    with (trained.folder / "both").open("wb") as file:
        done = subprocess.run(
            command, cwd=trained.folder, env=os.environ | ONE_THREAD, stdout=file, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr.decode().strip() == "--html /dev/stdout: is already the output file; name another file"


@pytest.mark.slow
def test_lines_come_out_before_all_are_in(trained: Shell) -> None:
    command = [sys.executable, "-m", "dragoman", "translate", "runs/toy", "--batch-lines=1"]
    with subprocess.Popen(
        command, cwd=trained.folder, env=os.environ | ONE_THREAD, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for _ in range(2):
            running.stdin.write(b"one two\n")
            running.stdin.flush()
            assert running.stdout.readline().endswith(b"\n")
        running.stdin.close()
    assert running.returncode == 0


@pytest.mark.slow
def test_a_terminal_is_answered_line_by_line(trained: Shell) -> None:
    import pty

    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "dragoman", "translate", "runs/toy"]
    with subprocess.Popen(
        command, cwd=trained.folder, env=os.environ | ONE_THREAD, stdin=follower, stdout=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        os.write(leader, b"one two\n")
        assert running.stdout.readline().endswith(b"\n")
        os.write(leader, b"\x04")
    assert running.returncode == 0
    os.close(leader)
    os.close(follower)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "translate runs/toy test.en --search=greedy",
        "translate runs/toy test.en --wait=2",
        "evaluate test.fr -i test.fr",
        "evaluate test.fr --run runs/toy --source test.en",
        "score runs/toy test.en test.fr",
        "align runs/toy test.en test.fr",
        "dictionary runs/toy test.en test.fr",
        "report runs/toy --sentences test.en -o -",
        "shortlist runs/toy test.en test.fr",
        "augment copy test.fr --source-name en --target-name fr -o copied",
    ],
)
def test_a_packed_file_is_found_under_its_plain_name(words: str, copied: Shell) -> None:
    plain = copied(*words.split())
    assert plain.code == 0, plain.err
    for name in ("test.en", "test.fr"):
        path = copied.folder / name
        path.with_name(f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    for path in copied.folder.glob("copied.*"):  # which `augment` does not replace
        path.unlink()
    assert copied(*words.split()) == plain


def test_a_line_is_told_with_the_name_of_the_packed_file_that_it_is_in(copied: Shell) -> None:
    text = "two\n" + " ".join(["one"] * 600) + "\n"
    (copied.folder / "long.en.gz").write_bytes(gzip.compress(text.encode()))
    message = copied("translate", "runs/toy", "long.en", "--search=greedy").err
    assert message.startswith("long.en.gz:2: too long")

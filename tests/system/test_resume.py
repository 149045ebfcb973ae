"""Done when 3: killed anywhere and started again, training ends with the same weights, bit for bit."""

import hashlib
import signal
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.system.conftest import Outcome, Shell, prepare
from tests.system.interrupted import NOTHING, Interruption, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

# Everything random is on: dropout, subword dropout; and everything is saved all the time.
WORDS = (
    "train",
    "toy.yaml",
    "--text.shared_vocabulary=true",
    "--text.source.tokenizer={kind: bpe, vocab_size: 290, dropout: 0.2}",
    "--text.target.tokenizer={kind: bpe, vocab_size: 290, dropout: 0.2}",
    "--model.encoder.dropout=0.2",
    "--model.decoder.recurrent_dropout=0.1",
    "--training.epochs=3",
    "--training.metric=loss",
    "--training.validate_every=4",
    "--training.save_every=3",
    "--training.schedule={kind: plateau, patience: 1}",
)

# Steps 3, 6, ... are saved (once the next one's loss is finite), steps 4, 8, ... validated and saved; each kill loses
# what came after the last of these.
KILLS = [
    ("preparation", 50),
    ("step", 2),
    ("save", 3),  # the first state, of step 3; the configuration and metrics.jsonl were written before it
    ("validation", 1),
    ("selection", 1),
    ("saved", 5),  # of the weights that step 4 keeps
    ("pruning", 2),  # step 6
    ("step", 5),
    ("end", 1),
]
KILLS_OF_TWO = [(1, "step", 5), (0, "saved", 5), (0, "validation", 1)]  # which of them


def files(shell: Shell, run: str) -> dict[str, str]:
    """The hash of every file of weights: the ones to use, the last, the best, and the best few."""
    folder = shell.folder / run
    paths = [*folder.glob("*.safetensors"), *folder.glob("checkpoints/step-*.safetensors")]
    assert len(paths) == 5
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def rows(shell: Shell, run: str) -> int:
    return (shell.folder / run / "metrics.jsonl").read_text(encoding="utf-8").count("\n")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A folder with the run runs/whole that nothing interrupted."""
    shell = prepare(tmp_path_factory.mktemp("resume"))
    assert shell.spawn(*WORDS, "--run=runs/whole").code == 0  # as a user types it; what is interrupted is forked
    return shell


def test_killed_anywhere(whole: Shell) -> None:
    for moment, count in KILLS:
        outcome = whole.kill(moment, count, *WORDS, "--run=runs/killed")
        assert outcome.code == -signal.SIGKILL, (moment, outcome)
    assert whole.fork(*WORDS, "--run=runs/killed").code == 0
    assert files(whole, "runs/killed") == files(whole, "runs/whole")
    assert rows(whole, "runs/killed") == rows(whole, "runs/whole")


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_the_same_command_goes_on(whole: Shell, sign: signal.Signals, code: int) -> None:
    run = f"runs/{sign.name}"
    outcome = whole.kill("step", 2, *WORDS, f"--run={run}", sign=sign)
    assert outcome.code == code
    assert outcome.err.endswith("ed: everything up to step 2 is saved; repeat the command to resume\n")
    again = whole.fork(*WORDS, f"--run={run}")
    assert again.code == 0
    assert "resuming from step 2" in again.err
    assert files(whole, run) == files(whole, "runs/whole")


def test_a_second_ctrl_c_during_set_up_leaves_a_run_that_can_begin(whole: Shell) -> None:
    acts = run(whole.folder, [*WORDS, "--training.steps=1", "--run=runs/short"], NOTHING).acts
    for first in range(acts // 8, acts // 2, acts // 8):
        for between in (1, 7):
            twice = Interruption(((first, signal.SIGINT), (first + between, signal.SIGINT)))
            assert run(whole.folder, [*WORDS, "--run=runs/twice"], twice).code == 130, str(twice)
    assert run(whole.folder, [*WORDS, "--run=runs/twice"], NOTHING).code == 0
    assert files(whole, "runs/twice") == files(whole, "runs/whole")


def test_ctrl_c_while_the_run_is_finished_ends_at_once_and_the_same_command_finishes_it(whole: Shell) -> None:
    def stopped(moment: str, count: int) -> str:
        outcome = whole.kill(moment, count, *WORDS, "--run=runs/finished", sign=signal.SIGINT)
        assert outcome.code == 130
        assert not (whole.folder / "runs/finished/README.md").exists()
        return outcome.err.splitlines()[-1]

    last = stopped("validation", 4)  # in training, which ends with it
    assert last == "interrupted: everything up to step 15 is saved; repeat the command to resume"
    assert stopped("validation", 1) == "interrupted"
    assert stopped("end", 1) == "interrupted"
    assert whole.fork(*WORDS, "--run=runs/finished").code == 0
    assert files(whole, "runs/finished") == files(whole, "runs/whole")
    assert rows(whole, "runs/finished") == rows(whole, "runs/whole")


def test_ctrl_c_before_the_first_step_leaves_nothing(shell: Shell) -> None:
    outcome = shell.kill("preparation", 50, *WORDS, sign=signal.SIGINT)
    assert (outcome.code, outcome.err) == (130, "interrupted\n")
    assert not (shell.folder / "runs" / "toy").exists()


def port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def torchrun(shell: Shell, *words: str) -> Outcome:
    """With two workers, as a user starts them. It would take --run for an option of its own without the `--`."""
    launch = ["--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port()}", "--local-addr=127.0.0.1"]
    module = ["--nproc-per-node=2", "-m", "--", "dragoman"]
    return shell.spawn(*words, program=("-m", "torch.distributed.run", *launch, *module))


def together(shell: Shell, interruptions: Sequence[Interruption], *words: str) -> list[Outcome]:
    """Two workers that are forked, with what torchrun tells them and one interruption each."""
    common = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port()}

    def worker(rank: int) -> Outcome:
        variables = {**common, "RANK": str(rank), "LOCAL_RANK": str(rank), "GLOO_SOCKET_IFNAME": "lo"}
        return shell.fork(*words, interruption=interruptions[rank], variables=variables)

    with ThreadPoolExecutor(2) as both:
        return list(both.map(worker, range(2)))


def test_two_workers_killed_anywhere(shell: Shell) -> None:
    ends = together(shell, [NOTHING, NOTHING], *WORDS, "--run=runs/whole")
    assert [end.code for end in ends] == [0, 0], ends
    for rank, moment, count in KILLS_OF_TWO:
        interruptions = [NOTHING, NOTHING]
        interruptions[rank] = Interruption(moment=(moment, count, signal.SIGKILL))
        ends = together(shell, interruptions, *WORDS, "--run=runs/killed")
        assert ends[rank].code == -signal.SIGKILL, (moment, ends)
        assert ends[1 - rank].code > 0, (moment, ends)  # the other one misses it
    again = torchrun(shell, *WORDS, "--run=runs/killed")
    assert again.code == 0, again.err
    assert again.err.count("resuming from step") == 1
    assert files(shell, "runs/killed") == files(shell, "runs/whole")

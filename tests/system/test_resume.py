"""Done when 3: killed anywhere and started again, training ends with the same weights, bit for bit."""

import hashlib
import signal

from tests.system.conftest import Shell

# Everything random is on: dropout, subword dropout; and everything is saved all the time.
WORDS = (
    "train",
    "toy.yaml",
    "--text.joint=true",
    "--text.source.unit={kind: bpe, size: 290, dropout: 0.2}",
    "--text.target.unit={kind: bpe, size: 290, dropout: 0.2}",
    "--model.encoder.dropout=0.2",
    "--model.decoder.recurrent_dropout=0.1",
    "--training.epochs=3",
    "--training.metric=loss",
    "--training.validate_every=4",
    "--training.save_every=3",
    "--training.schedule={kind: plateau, patience: 1}",
)
STEPS = 15


def weights(shell: Shell, run: str) -> dict[str, str]:
    """The hash of every file of weights, and of the state that training ended with."""
    folder = shell.folder / run
    paths = [*folder.glob("*.safetensors"), *folder.glob("checkpoints/step-*.safetensors")]
    assert len(paths) == 5
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def nothing_half_written(shell: Shell) -> bool:
    return not list(shell.folder.rglob(".*.part"))


# Steps 3, 6, ... are saved, steps 4, 8, ... validated and saved; each kill loses what came after the last of these.
KILLS = [
    ("preparation", 50),
    ("step", 2),
    ("save", 3),  # the first state, in step 3; the configuration and metrics.jsonl were written before it
    ("validation", 1),
    ("selection", 1),
    ("saved", 5),  # of the weights that step 4 keeps
    ("pruning", 2),  # step 6
    ("step", 5),
    ("end", 1),
]


def test_killed_anywhere(shell: Shell) -> None:
    assert shell.spawn(*WORDS, "--run=runs/whole").code == 0
    for moment, count in KILLS:
        outcome = shell.kill(moment, count, *WORDS, "--run=runs/killed")
        assert outcome.code == -signal.SIGKILL, (moment, outcome)
    assert shell.spawn(*WORDS, "--run=runs/killed").code == 0
    assert weights(shell, "runs/killed") == weights(shell, "runs/whole")
    metrics = [(shell.folder / run / "metrics.jsonl").read_text().count("\n") for run in ("runs/killed", "runs/whole")]
    assert metrics[0] == metrics[1]

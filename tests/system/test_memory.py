"""One very long line costs no more than its beginning, whatever a command does with it."""

from pathlib import Path

import pytest

from tests.system.conftest import Shell

MEASURE = """
import shlex, sys
from pathlib import Path
from typer.testing import CliRunner
from dragoman.cli import app

def peak(words, number, kind, codes):
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    result = CliRunner().invoke(app, shlex.split(words.replace("KIND", kind).replace("NEW", f"new{number}{kind}")))
    assert result.exit_code in codes, (words, result.exception, result.stderr)
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024

for number, words in enumerate(sys.stdin.read().splitlines()):
    kind = {"train": "cut", "init": "brief"}.get(words.split()[0], "short")
    short = peak(words, number, kind, [0])
    print(peak(words, number, "long", [0, 1]) - short, words)
"""
CHARACTERS = 20_000_000  # so many that what one training needs more than another, by chance, is little beside it
SHORT = 4_000  # characters of a line that is not read to its end either, and still scored
BRIEF = 40  # of a line that a training step, which `init` takes to say how long training takes, has soon read
CUT = 60_000  # of a line that no units are learned from either: the model reads the same symbols of both
BPE = (
    "--text.shared_vocabulary=true "
    "--text.source.tokenizer='{kind: bpe, vocab_size: 280}' --text.target.tokenizer='{kind: bpe, vocab_size: 280}'"
)
COMMANDS = f"""
translate runs/toy KIND.en --search=greedy
translate runs/toy KIND.en --wait=3
evaluate KIND.fr --run runs/toy --source KIND.en
evaluate KIND.fr -i KIND.fr
score runs/toy KIND.en KIND.fr
align runs/toy KIND.en KIND.fr
dictionary runs/toy KIND.en KIND.fr
report runs/toy --sentences KIND.en -o -
shortlist runs/toy KIND.en KIND.fr
augment forward runs/toy KIND.en -o NEW
debug data toy.yaml --data.train=KIND
init KIND.en KIND.fr -o NEW.yaml
train toy.yaml --training.steps=1 --run=NEW --data.train=[train, KIND] --data.dev=KIND
train toy.yaml --training.steps=1 --run=NEWbpe --data.train=[train, KIND] --data.dev=KIND {BPE}
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of memory is measured on Linux")
@pytest.mark.parametrize("text", ["six ", "x", "\x00"])
def test_no_command_needs_much_memory_for_a_long_line(text: str, copied: Shell) -> None:
    for name in ("en", "fr"):
        rest = (copied.folder / f"test.{name}").read_text(encoding="utf-8")
        for kind, characters in (("brief", BRIEF), ("short", SHORT), ("cut", CUT), ("long", CHARACTERS)):
            copied.write(f"{kind}.{name}", text * (characters // len(text)) + "\n" + rest)
    words = COMMANDS.strip().replace("[train, KIND]", "'[train, KIND]'")
    measured = copied.spawn(program=("-c", MEASURE), stdin=words)
    assert measured.code == 0, measured.err
    assert len(measured.lines) == len(words.splitlines())
    much = [line for line in measured.lines if int(line.split()[0]) > 10 * CHARACTERS]
    assert not much

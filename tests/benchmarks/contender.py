"""A process that is measured in tests: each round is four sentences of three tokens, and the third one fails."""

import sys

from benchmarks.rounds import Rounds

rounds = Rounds(peak=lambda: 5_000_000)
sys.stdout.write("what else it prints is not an answer\n")
rounds.wait()
for _ in range(2):
    rounds.count(tokens=6, sentences=2)
    rounds.count(tokens=6, sentences=2)
    rounds.end()
raise ValueError("no third round")

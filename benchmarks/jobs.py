"""The job of a measuring process. Interpreters of other toolkits import it too: it needs only the standard library."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Job:
    """One measurement: `work` is train, terms, greedy, beam or products; `rows` sentences make a batch.

    `folder` holds the corpus in symbols, one sentence per line (train.source, train.target, test.source, test.target),
    and vocabulary.source and .target (symbol, tab, count). Every translation has `length` symbols, the end symbol
    included where there is one. A round of training is `updates` updates; a round of decoding is `size` test sentences;
    one of products multiplies matrices of `size` rows and columns.
    """

    work: str
    rows: int
    threads: int
    folder: str
    beam: int = 1
    precision: str = "float32"
    engine: Literal["torch", "int8", "onnx"] = "torch"
    candidates: list[int] | None = None  # for dragoman: frequent symbols, translations of each
    warm: int = 20
    updates: int = 10
    size: int = 256
    length: int = 13
    device: str = "cpu"
    overrides: dict[str, str] = field(default_factory=dict)  # of the configuration

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> "Job":
        return cls(**json.loads(text))

    def sentences(self) -> list[str]:
        """Return the test sentences of a round, of all lengths, sorted by length."""
        test_lines = lines(Path(self.folder) / "test.source")
        test_lines = test_lines[:: max(1, len(test_lines) // self.size)][: self.size]
        return sorted(test_lines, key=lambda line: line.count(" "))


def lines(path: Path) -> list[str]:
    """Return the lines of a file, split only at the newline character."""
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")

"""Results of the benchmark as a table and as JSON, compared with earlier ones."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks.contest import Figures
from benchmarks.provenance import Provenance
from benchmarks.toolkits import NO_TERM, PATHS
from dragoman.errors import UserError

WORKS = {"train": "training", "terms": "training with terms", "greedy": "greedy", "beam": "beam 5"}
PLAIN = (PATHS["float32"], NO_TERM)  # the baseline for the rows after it in the table
MEGABYTE = 1e6


@dataclass(frozen=True)
class Row:
    """The figures of one contender in one work. `share` is that of the matrix-product rate of a core, if known."""

    work: str
    rows: int
    threads: int
    who: str
    figures: Figures
    share: float | None = None

    @property
    def contest(self) -> tuple[str, int, int]:
        """The key of rows that are compared with each other."""
        return self.work, self.rows, self.threads


@dataclass
class Report:
    """All figures of a run of the benchmark; `products` are matrix-product rates of a core by precision (FLOP/s)."""

    machine: str
    corpus: str
    provenance: Provenance
    products: dict[str, float] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """Write the report as JSON. Raises UserError if that fails."""
        try:
            path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise UserError(f"{path}: cannot write ({error.strerror or error})") from error

    @classmethod
    def read(cls, path: Path) -> "Report":
        """Read a report. Raises UserError if the file is not one."""
        try:
            document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            rows = [Row(**{**row, "figures": Figures(**row["figures"])}) for row in document.pop("rows")]
            source = Provenance(**document.pop("provenance"))
            return cls(**document, provenance=source, rows=rows)
        except OSError as error:
            raise UserError(f"{path}: cannot read ({error.strerror or error})") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(f"{path}: not a report that this benchmark wrote") from error


COLUMNS: dict[str, Callable[[Figures], float]] = {
    "tokens/s": lambda figures: figures.tokens,
    "tokens/CPU-s": lambda figures: figures.tokens_cpu,
    "sentences/s": lambda figures: figures.sentences,
    "sentences/CPU-s": lambda figures: figures.sentences_cpu,
    "peak MB": lambda figures: figures.peak / MEGABYTE,
}


def table(report: Report, before: Report | None = None) -> Table:
    """Return a table with one line per contender; in brackets, the ratio to the figure of `before`."""
    rates = ", ".join(f"{precision} {rate / 1e9:,.0f}" for precision, rate in report.products.items())
    if before:
        rates += f"; before: {', '.join(f'{rate / 1e9:,.0f}' for rate in before.products.values())}"
        if (before.machine, before.corpus) != (report.machine, report.corpus):
            rates += f"\nbefore, with another machine or corpus: {before.machine}; {before.corpus}"
    title = f"{report.machine}\n{report.corpus}\nmatrix products of one core, GFLOP/s: {rates}"
    shown = Table(title=title, title_justify="left", title_style="")
    for name in ("work", "threads", "toolkit"):
        shown.add_column(name)
    for name in (*COLUMNS, "of plain", "of products"):
        shown.add_column(name, justify="right")
    old = {(*row.contest, row.who): row.figures for row in before.rows} if before else {}
    plain: dict[tuple[str, int, int], float] = {}
    for number, row in enumerate(report.rows):
        first = number == 0 or report.rows[number - 1].contest != row.contest
        if first:
            shown.add_section()
        share = "" if row.share is None else f"{row.share:.0%}"
        if row.who in PLAIN:
            plain[row.contest] = row.figures.tokens_cpu
        times = f"{row.figures.tokens_cpu / plain[row.contest]:.2f}" if row.contest in plain else ""
        head = (f"{WORKS[row.work]}, {row.rows} a batch", str(row.threads)) if first else ("", "")
        shown.add_row(*head, row.who, *_cells(row.figures, old.get((*row.contest, row.who))), times, share)
    return shown


def _cells(figures: Figures, before: Figures | None) -> Iterable[str]:
    for value in COLUMNS.values():
        ratio = f" [{value(figures) / value(before):.2f}]" if before and value(before) else ""
        yield f"{value(figures):,.0f}{ratio}".replace("[", r"\[")

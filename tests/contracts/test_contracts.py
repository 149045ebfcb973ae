"""Contracts of parts: kept by those of the package, and the checks notice what breaks one."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dragoman.cli import app
from dragoman.configuration import plugins
from dragoman.contracts import table as contracts
from dragoman.errors import UserError
from tests.plugin_code import SCORE, without_plugins

PARTS = [f"{table}:{kind}" for table in contracts.CONTRACTS for kind in plugins.table_of(table) if kind != "meteor"]


@pytest.fixture(autouse=True)
def _without() -> Iterator[None]:
    with without_plugins():
        yield


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in PARTS])
def test_parts_of_the_package_keep_their_contracts(name: str) -> None:
    assert [*contracts.find_failures(*contracts.find_part(name))] == []


@pytest.mark.parametrize("table", sorted(set(plugins.TABLES) - set(contracts.CONTRACTS)))
def test_parts_of_other_tables_have_valid_options(table: str) -> None:
    kinds = [kind for kind, part in plugins.table_of(table).items() if isinstance(part, type)]
    faults = {kind: [*contracts.find_failures(table, kind)] for kind in kinds}
    assert {kind: lines for kind, lines in faults.items() if any("docstring" not in line for line in lines)} == {}


OPTION = """    def __init__(self, *sizes: int, {option}) -> None:
        super().__init__(*sizes)

    def energies("""
BROKEN = {  # a text of the score, its replacement, and the beginning of the contract that is broken
    "a sum over padding": (
        "    def energies(",
        """    def keys(self, states: Tensor, mask: Tensor) -> Tensor:
        return states + states.sum(1, keepdim=True)

    def energies(""",
        "Padding changes nothing",
    ),
    "a sum over the batch": ("- squares / 2", "* query.sum() - squares / 2", "A sentence alone"),
    "a detached term": ("- squares / 2", "- squares.detach() / 2", "Gradients are derivatives"),
    "another type": ("- squares / 2", "- squares.double() / 2", "Energies have"),
    "another shape": ("- squares / 2", "- squares.sum(2, keepdim=True) / 2 * query[:, :, :1, None]", "Energies have"),
    "no docstring": ('"""`e_tj = -|s_t - h_j|^2 / 2`."""', "", "It has a docstring"),
    "an option without a default": ("    def energies(", OPTION.format(option="scale: float"), "Its options"),
    "an option without a type": ("    def energies(", OPTION.format(option="scale=1"), "Its options"),
    "a state that is not saved": (
        "    def energies(",
        OPTION.format(option="**rest: int").replace("*sizes)", "*sizes)\n        self.scale = float(torch.rand(()))"),
        "A state dict holds everything",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_a_contract_is_noticed(name: str, tmp_path: Path) -> None:
    text, replacement, contract = BROKEN[name]
    assert SCORE.count(text) == 1
    code = SCORE.replace(text, replacement).replace(
        "- squares / 2", "- self.scale * squares / 2" if "saved" in name else "- squares / 2"
    )
    (tmp_path / "broken.py").write_text(code, "utf-8")
    result = CliRunner().invoke(app, ["debug", "part", "score:proximity", "--code", str(tmp_path / "broken.py")])
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert all(line.startswith("score:proximity: ") for line in lines)
    assert [line for line in lines if line.startswith(f"score:proximity: {contract}")], lines


@pytest.mark.parametrize("name", ["score:proximity", "proximity"])
def test_a_part_of_a_file_keeps_its_contract(name: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SCORE, "utf-8")
    result = CliRunner().invoke(app, ["debug", "part", name, "--code", str(tmp_path / "mine.py")])
    assert (result.exit_code, result.stdout) == (0, "score:proximity: keeps its contract (12 checks)\n")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("scor:dot", "unknown table 'scor', did you mean 'score'?"),
        ("score:dott", "unknown score 'dott', did you mean 'dot'?"),
        ("nothing", "no table has this part; add --code FILE"),
        ("rnn", "expected one of cell:rnn, encoder:rnn, decoder:rnn"),
    ],
)
def test_an_unknown_part_is_an_error(name: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        contracts.find_part(name)

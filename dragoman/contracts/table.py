"""The contract of each table of parts, and which of its checks a part fails."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from dragoman.configuration import plugins
from dragoman.configuration.messages import nearest
from dragoman.contracts.attention_contract import SCORE_CHECKS
from dragoman.contracts.cell_contract import CELL_CHECKS
from dragoman.contracts.contract import CHECKS, Check
from dragoman.contracts.metric_contract import METRIC_CHECKS
from dragoman.contracts.search_contract import SEARCH_CHECKS
from dragoman.errors import UserError, describe


def find_part(name: str) -> tuple[str, str]:
    """Return the table and the kind of a part, named as `score:distance`, or as `distance` if one table has it.
    UserError if there is no such part, or several.
    """
    plugins.load_installed()
    table, colon, kind = name.partition(":")
    if colon and table not in plugins.TABLES:
        raise UserError(f"{name}: unknown table '{table}', {nearest(table, plugins.TABLES)}")
    tables = [table] if colon else [table for table in plugins.TABLES if name in plugins.table_of(table)]
    if not tables:
        raise UserError(f"{name}: no table has this part; add --code FILE if a file has it")
    if len(tables) > 1:
        raise UserError(f"{name}: expected one of {', '.join(f'{table}:{name}' for table in tables)}")
    kind = kind if colon else name
    if kind not in (kinds := plugins.table_of(tables[0])):
        raise UserError(f"{name}: unknown {tables[0]} '{kind}', {nearest(kind, kinds)}; is --code FILE missing?")
    return tables[0], kind


def find_failures(table: str, kind: str) -> Iterator[str]:
    """Yield a line for each contract that a part breaks: the contract, and what is wrong."""
    general: list[Check] = [_of_kind(check, table) for check in CHECKS]
    for check in (*general, *CONTRACTS.get(table, ())):
        try:
            check(kind)
        except AssertionError as error:
            yield f"{_statement(check)} ({describe(error)})"
        except Exception as error:  # of the part, whatever it is
            yield f"{_statement(check)} ({type(error).__name__}: {describe(error)})"


def _of_kind(check: Callable[[str, str], None], table: str) -> Check:
    def check_kind(kind: str) -> None:
        check(table, kind)

    check_kind.__doc__ = check.__doc__
    return check_kind


def _statement(check: Check) -> str:
    """The contract: the docstring of its check as one line, without the period."""
    return " ".join((check.__doc__ or "").split()).removesuffix(".")


# Parts of other tables are checked for a docstring and valid options alone.
CONTRACTS: Mapping[str, Sequence[Check]] = {
    "score": SCORE_CHECKS,
    "cell": CELL_CHECKS,
    "search": SEARCH_CHECKS,
    "metric": METRIC_CHECKS,
}


def count_checks(table: str) -> int:
    """Return how many contracts a part of a table has to keep."""
    return len(CHECKS) + len(CONTRACTS.get(table, ()))

"""Shapes in signatures are checked in the first calls of a function in each test.

jaxtyping's hook (see pyproject.toml) has every call of every function checked, which takes several times as long as
what tiny models compute, and the calls of a function in a test are much alike. What is checked is made when it is first
called, since most functions of most modules never are; functions in functions, which would be made anew in each call,
are left as they are.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any

import jaxtyping

CALLS = 2  # of a function in a test that are checked: with 10, tests of searches take half as long again

Function = Callable[..., Any]
_every_call = jaxtyping.jaxtyped


class Test:
    """The test that runs now."""

    number = 0


def install() -> None:
    """What the hook decorates functions and classes with from now on."""
    vars(jaxtyping)["jaxtyped"] = _first_calls


def _first_calls(*, typechecker: Function) -> Function:
    def decorate(decorated: Any) -> Any:
        if inspect.isclass(decorated):
            if is_dataclass(decorated):
                type.__setattr__(decorated, "__init__", _watched(decorated.__init__, typechecker))
            return decorated
        return decorated if "<locals>" in decorated.__qualname__ else _watched(decorated, typechecker)

    return decorate


def _watched(function: Function, typechecker: Function) -> Function:
    checked: Function | None = None
    test, left = -1, 0

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        nonlocal checked, test, left
        if test != Test.number:
            test, left = Test.number, CALLS
        if not left:
            return function(*arguments, **options)
        left -= 1
        if checked is None:
            checked = _every_call(function, typechecker=typechecker)
        return checked(*arguments, **options)

    return call

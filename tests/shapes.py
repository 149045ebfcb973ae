"""Shapes in signatures are checked in the first calls of a function in each test.

jaxtyping's hook (see pyproject.toml) has every call of every function checked, which takes several times as long as
what tiny models compute, and the calls of a function in a test are much alike. The check of a function is compiled when
it is first called, since most functions of most modules never are. Functions without a shape in their signature, whose
types mypy has checked, are left as they are, and so are functions in functions, which would be compiled in each call.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, get_args

import jaxtyping
from jaxtyping import Float
from torch import Tensor

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
            if is_dataclass(decorated) and has_shape(decorated.__init__):
                type.__setattr__(decorated, "__init__", _watched(decorated.__init__, typechecker))
            return decorated
        watched = "<locals>" not in decorated.__qualname__ and has_shape(decorated)
        return _watched(decorated, typechecker) if watched else decorated

    return decorate


def has_shape(function: Function) -> bool:
    """Whether there is a shape in the signature of a function."""
    return any(map(_names_shape, function.__annotations__.values()))


def _names_shape(annotation: Any) -> bool:
    if isinstance(annotation, str):  # of a name that is defined later
        return "Tensor" in annotation
    return isinstance(annotation, type(Float[Tensor, ""])) or any(map(_names_shape, get_args(annotation)))


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

"""Components: what a Spec is, and how a constructor's signature checks its options."""

import copy
import pickle
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.configuration.components import (
    ComponentOptions,
    OneOf,
    Problem,
    Spec,
    build,
    complete,
    find_problems,
    plain,
    read,
)
from dragoman.configuration.messages import nearest, shown
from dragoman.configuration.values import Count, Layers, Positive, Rate, Size
from dragoman.errors import UserError
from tests.golden import Golden

PLAIN = Spec("plain")


class Tower:
    """A part with an option of every type."""

    def __init__(
        self,
        width: "NotImportable",  # type: ignore[name-defined]
        *,
        size: Size = 3,
        layers: Layers = 1,
        steps: Count = 1,
        betas: tuple[float, float] = (0.9, 0.99),
        cell: Literal["gru", "lstm"] = "gru",
        bias: bool = True,
        limit: int | None = None,
        rate: Positive,
        dropout: Rate = 0.0,
        names: list[str] = ["a"],  # noqa: B006
        inner: Spec = PLAIN,
    ) -> None:
        self.width = width
        self.options = (size, layers, steps, betas, cell, bias, limit, rate, dropout, names, inner)


class Taller(Tower):
    """A part that inherits its constructor."""


def hut(width: int, *, roof: str = "flat") -> str:
    """A part that is made by a function."""
    return f"{roof} {width}"


class Tent:
    """A part without options."""


TABLE: dict[str, Callable[..., Any]] = {"tower": Tower, "taller": Taller, "hut": hut, "tent": Tent}


def messages(kind: str, **options: Any) -> list[str]:
    return [str(problem) for problem in find_problems(TABLE, Spec(kind, options), ("model", "part"))]


CELLS = {"gru": 1, "lstm": 2}


class Cellar:
    """A part with an option that is a name in a table."""

    def __init__(
        self, *, cell: Annotated[str, OneOf(CELLS)] = "gru", second: Annotated[str, OneOf(CELLS)] | None
    ) -> None:
        self.cells = cell, second


def test_an_option_may_be_any_name_in_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    cellars = {"cellar": Cellar}

    def messages_of(**options: Any) -> list[str]:
        return [str(problem) for problem in find_problems(cellars, Spec("cellar", {"second": None, **options}), ())]

    assert build(cellars, Spec("cellar", {"second": "lstm"})).cells == ("gru", "lstm")
    assert messages_of(cell="gur") == ["cell: expected one of gru, lstm, found \"gur\" (did you mean 'gru'?)"]
    assert messages_of(second=1) == ["second: expected one of gru, lstm or null, found 1"]
    assert messages_of(cell="elman") == ['cell: expected one of gru, lstm, found "elman"']
    monkeypatch.setitem(CELLS, "elman", 3)
    assert messages_of(cell="elman") == []


def test_build_passes_parts_by_position_and_options_by_name() -> None:
    assert build(TABLE, Spec("hut"), 3) == "flat 3"
    assert build(TABLE, Spec("hut", {"roof": "green"}), 3) == "green 3"
    assert isinstance(build(TABLE, Spec("tent")), Tent)


def test_build_gives_each_option_the_type_of_the_signature() -> None:
    spec = Spec("tower", {"rate": 1, "betas": [1, 0.5], "names": ["x", "y"], "inner": {"kind": "steep"}})
    part = build(TABLE, spec, 7)
    assert part.width == 7
    assert part.options == (3, 1, 1, (1.0, 0.5), "gru", True, None, 1.0, 0.0, ["x", "y"], Spec("steep"))
    assert isinstance(part.options[7], float)


def test_a_part_is_read_from_a_text_a_mapping_or_a_spec() -> None:
    for written in ("{kind: hut, roof: steep}", {"kind": "hut", "roof": "steep"}, Spec("hut", {"roof": "steep"})):
        assert read(TABLE, written) == Spec("hut", {"roof": "steep"})


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("hutt", "home: unknown kind 'hutt', did you mean 'hut'?"),
        (Spec("hutt"), "home: unknown kind 'hutt', did you mean 'hut'?"),
        ({"kind": "hut", "roff": 3}, "home.roff: unknown key, did you mean 'roof'?"),
        ({"roof": 3}, "home: expected a kind or a mapping with 'kind', found {\"roof\": 3}"),
    ],
)
def test_what_is_read_as_no_part_is_told_by_its_place(written: Any, message: str) -> None:
    with pytest.raises(UserError) as raised:
        read(TABLE, written, ("home",))
    assert str(raised.value).startswith(message)


def test_build_of_a_faulty_spec_is_one_line(golden: Golden) -> None:
    with pytest.raises(UserError, match=r"^roff:") as raised:
        build(TABLE, Spec("hut", {"roff": "flat", "roof": 3}), 1)
    golden(str(raised.value))
    with pytest.raises(UserError) as raised:
        build(TABLE, Spec("hutt"), 1)
    golden(str(raised.value))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("size", 0, "must be at least 1, found 0"),
        ("size", 10**11, "must be at most 1048576, found 100000000000"),
        ("layers", 10**30, "must be at most 100, found 1000000000000000000000000000000"),
        ("steps", 10**9 + 1, "must be at most 1000000000, found 1000000001"),
        ("size", "3", 'expected a whole number, found "3"'),
        ("size", True, "expected a whole number, found true"),
        ("size", 3.0, "expected a whole number, found 3.0"),
        ("size", None, "expected a whole number, found nothing (null)"),
        ("rate", 0, "must be more than 0, found 0"),
        ("rate", False, "expected a number, found false"),
        ("rate", float("inf"), "expected a number, found Infinity"),
        ("dropout", 1, "must be less than 1, found 1"),
        ("dropout", -0.5, "must be at least 0, found -0.5"),
        ("bias", 1, "expected true or false, found 1"),
        ("bias", "yes", 'expected true or false, found "yes"'),
        ("limit", 1.5, "expected a whole number or null, found 1.5"),
        ("cell", "gur", "expected one of gru, lstm, found \"gur\" (did you mean 'gru'?)"),
        ("cell", "elman", 'expected one of gru, lstm, found "elman"'),
        ("cell", 1, "expected one of gru, lstm, found 1"),
        ("betas", [0.9], "expected a list of 2: a number, a number, found [0.9]"),
        ("betas", 0.9, "expected a list of 2: a number, a number, found 0.9"),
        ("names", ["a", 1], 'expected a list, each text, found ["a", 1]'),
        ("inner", 3, "expected a kind or a mapping with 'kind', found 3"),
        ("inner", {"size": 3}, "expected a kind or a mapping with 'kind', found {\"size\": 3}"),
        ("szie", 3, "unknown key, did you mean 'size'?"),
    ],
)
def test_a_wrong_option_is_told(name: str, value: Any, message: str) -> None:
    assert messages("tower", **{"rate": 0.1, name: value}) == [f"model.part.{name}: {message}"]


def test_all_problems_come_at_once_and_each_has_its_path() -> None:
    problem_list = find_problems(TABLE, Spec("tower", {"size": "x", "color": 1}), ("a", 0))
    assert [problem.path for problem in problem_list] == [("a", 0, "size"), ("a", 0, "color"), ("a", 0, "rate")]
    assert problem_list[2] == Problem(("a", 0, "rate"), "required: a number")
    assert problem_list[1].message.startswith("unknown key, expected one of betas, bias, cell, dropout")


def test_an_unknown_kind_names_the_nearest_or_all() -> None:
    assert messages("towr") == ["model.part.kind: unknown kind 'towr', did you mean 'tower'?"]
    assert messages("igloo") == ["model.part.kind: unknown kind 'igloo', expected one of hut, taller, tent, tower"]


def test_an_option_of_a_part_without_options() -> None:
    assert messages("tent", size=3) == ["model.part.size: unknown key, 'tent' has no options"]


def test_the_signature_is_found_where_it_is_inherited() -> None:
    assert complete(TABLE, Spec("taller", {"rate": 1})).options == complete(TABLE, Spec("tower", {"rate": 1})).options
    assert messages("taller", rate=0) == messages("tower", rate=0)


def test_complete_spells_out_every_option_in_order() -> None:
    spec = complete(TABLE, Spec("tower", {"rate": 1, "cell": "lstm"}))
    names = ["size", "layers", "steps", "betas", "cell", "bias", "limit", "rate", "dropout", "names", "inner"]
    assert list(spec.options) == names
    assert spec.options["limit"] is None
    assert spec.options["cell"] == "lstm"
    assert spec.options["size"] == 3
    assert complete(TABLE, spec) == spec
    assert isinstance(spec.options["rate"], float)


def test_complete_leaves_a_faulty_spec_alone() -> None:
    spec = Spec("tower", {"size": "x"})
    assert complete(TABLE, spec) is spec


def test_specs_are_values() -> None:
    one = Spec("a", {"x": [1, {"y": [2]}], "z": {"kind": "b", "n": 1}})
    other = Spec("a", {"z": Spec("b", {"n": 1}), "x": (1, {"y": (2,)})})
    assert one == other
    assert hash(one) == hash(other)
    assert one != Spec("a", {"x": 1})
    assert isinstance(one.options["z"], Spec)
    assert pickle.loads(pickle.dumps(one)) == one == copy.deepcopy(one)


def test_specs_do_not_change() -> None:
    options = {"x": [1]}
    spec = Spec("a", options)
    options["x"].append(2)
    assert spec.options == {"x": (1,)}
    with pytest.raises(TypeError):
        spec.options["x"] = 2  # type: ignore[index]
    with pytest.raises(AttributeError):
        spec.kind = "b"  # type: ignore[misc]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.text(), st.dictionaries(st.text().filter(lambda name: name != "kind"), VALUES))
def test_plain_and_parse_are_inverse(kind: str, options: dict[str, Any]) -> None:
    spec = Spec(kind, options)
    assert Spec.parse(plain(spec)) == spec
    assert hash(Spec.parse(plain(spec))) == hash(spec)


def test_a_spec_prints_itself() -> None:
    assert str(Spec("additive", {"size": 3})) == "additive size=3"
    assert repr(ComponentOptions({"a": 1})) == "{'a': 1}"


def test_nearest_ignores_case() -> None:
    assert nearest("Size", ["size", "rate"]) == "did you mean 'size'?"


def test_shown_is_short_and_of_one_line() -> None:
    assert shown("a\nb") == '"a\\nb"'
    assert len(shown("x" * 1000)) == 60
    assert shown(Spec("a", {"n": 1})) == '"a n=1"'

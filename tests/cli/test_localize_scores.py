"""Which terms `dragoman localize` favors: those of the training messages, if that improves the scores."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.cli import localize_scores
from dragoman.cli.localize_parents import Parent
from dragoman.run.run import Run
from dragoman.text.glossary import Term
from dragoman.translation import loading
from dragoman.translation.transforms.terms import UNCONSTRAINED, LexicalConstraints
from tests import toy

TERMS = "source\ttarget\none two\tdeux un\n"
REFERENCE, OTHER = "six deux un", "six un"


class Translator:
    """Translates the development messages right with terms, or without."""

    processor = SimpleNamespace(surfaces=SimpleNamespace(target=True))  # a run without a calibration

    def __init__(self, *, right_with_terms: bool) -> None:
        self._right_with_terms = right_with_terms

    def translate(
        self, texts: Sequence[Any], *, constraints: LexicalConstraints = UNCONSTRAINED, **_: object
    ) -> list[SimpleNamespace]:
        assert constraints.weight == (localize_scores.WEIGHT if constraints else None)
        right = bool(constraints) is self._right_with_terms
        return [SimpleNamespace(text=REFERENCE if right else OTHER) for _ in texts]


@pytest.mark.parametrize("better", [True, False])
def test_terms_are_favored_if_they_improve_the_scores(
    better: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run.load(toy.trained(tmp_path))
    train = [("one two", "deux un"), ("one two three", "trois deux un"), ("one two four", "quatre deux un")]
    toy.write(tmp_path, "own", train)
    toy.write(tmp_path, "new", [("one two six", REFERENCE)] * 20)
    data = run.config.data.model_copy(update={"train": (str(tmp_path / "own"),), "dev": str(tmp_path / "new")})
    config = run.config.model_copy(update={"data": data})
    monkeypatch.setattr(loading, "load", lambda *_, **__: Translator(right_with_terms=better))
    terms = tmp_path / "terms.tsv"
    assert localize_scores.measure(config, Parent(run, ("en", "fr")), terms) is better
    assert terms.read_text("utf-8") == TERMS
    assert "1 terms favored" in capsys.readouterr().out


def test_without_terms_none_are_favored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.load(toy.trained(tmp_path))
    toy.write(tmp_path, "own", [("one two six", REFERENCE)] * 20)
    data = run.config.data.model_copy(update={"train": (str(tmp_path / "own"),), "dev": str(tmp_path / "own")})
    config = run.config.model_copy(update={"data": data})
    monkeypatch.setattr(loading, "load", lambda *_, **__: Translator(right_with_terms=True))
    assert not localize_scores.measure(config, Parent(run, ("en", "fr")), tmp_path / "terms.tsv")


def test_terms_that_were_edited_are_kept(tmp_path: Path) -> None:
    run, path = Run.load(toy.trained(tmp_path)), tmp_path / "terms.tsv"
    path.write_text("source\ttarget\none two\tdouze\n", "utf-8")
    assert localize_scores.write_terms(run.config, path).terms == (Term("one two", ("douze",)),)
    assert path.read_text("utf-8") == "source\ttarget\none two\tdouze\n"

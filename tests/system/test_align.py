"""`dragoman align` without a run, and what is trained on its links."""

import json
import multiprocessing
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from dragoman.cli import progress_bar
from dragoman.corpus.aligners import LONGEST
from dragoman.training import aligning
from tests import toy
from tests.golden import Golden
from tests.system.conftest import Shell

needs_thot = pytest.mark.skipif(find_spec("thot") is None, reason="needs the extra `align`")
PAIRS = toy.pairs(80, 1)


def turned(pairs: list[tuple[str, str]]) -> list[str]:
    """The right links: the toy language turns sentences round."""
    sizes = [len(source.split()) for source, _ in pairs]
    return [" ".join(f"{place}-{size - 1 - place}" for place in range(size)) for size in sizes]


GOLD = turned(PAIRS)


@pytest.mark.slow
@needs_thot
def test_links_need_no_run(shell: Shell, golden: Golden) -> None:
    outcome = shell("align", "train.en", "train.fr")
    assert (outcome.code, outcome.lines, outcome.err) == (0, GOLD, "")
    shell.write("gold", "".join(f"{line}\n" for line in GOLD))
    message = shell("align", "train.en", "train.fr", "-o", "links", "--gold", "gold", "--threads", "1")
    assert (message.out, message.err) == ("", "AER = 0.0000 (precision 1.0000, recall 1.0000)\n")
    assert (shell.folder / "links").read_text("utf-8") == outcome.out
    shell.write("from1", "".join(f"{' '.join('1-1' for _ in line.split())}\n" for line in GOLD))
    message = shell("align", "train.en", "train.fr", "--gold", "from1", "-o", "links")
    golden(message.err.splitlines()[0])
    ibm1 = shell("align", "train.en", "train.fr", "--method=ibm1", "--symmetrize=forward", "--gold=gold")
    assert ibm1.code == 0
    assert "AER = 0.2" in ibm1.err


@pytest.mark.slow
@needs_thot
def test_words_other_than_those_of_the_gold_links_are_told(shell: Shell) -> None:
    pairs = [("l'un deux", "one two"), ("un", "one")] * 10
    toy.write(shell.folder, "test", pairs)
    shell.write("gold", "0-0 1-1\n0-0\n" * 10)
    message = shell("align", "test.en", "test.fr", "--gold=gold", "-o", "links").err
    assert message.startswith(
        "--gold: 10 of 20 pairs are not split at spaces only; if --gold counts words between spaces"
    )
    assert "--gold" not in shell("align", "test.en", "test.fr", "--gold=gold", "-o=x", "--pretokenizer=whitespace").err


@needs_thot
@pytest.mark.slow
def test_a_network_aligns_too(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aligning, "LEAST_STEPS", 250)
    shell.write("gold", "".join(f"{line}\n" for line in GOLD))
    outcome = shell("align", "train.en", "train.fr", "--method=mask_align", "--threads=1", "--gold=gold")
    assert outcome.code == 0
    assert float(outcome.err.split()[2]) < 0.1


@pytest.mark.slow
@needs_thot
def test_pairs_come_from_whatever_the_toolkit_reads(shell: Shell) -> None:
    shell.write("pairs.tsv", "".join(f"{target}\t{source}\n" for source, target in [("en", "fr"), *PAIRS]))
    shell.write("en.json", json.dumps({f"key{number}": source for number, (source, _) in enumerate(PAIRS)}))
    shell.write("fr.json", json.dumps({f"key{number}": target for number, (_, target) in enumerate(PAIRS)}))
    for words in (
        ("pairs.tsv", "--columns=en,fr"),
        ("train", "--columns=en,fr"),
        ("en.json", "fr.json"),
        ("-", "train.fr"),
    ):
        assert shell("align", *words, stdin=(shell.folder / "train.en").read_bytes()).lines == GOLD
    few = "".join(f"{source}\n" for source, _ in PAIRS[:1]), "".join(f"{target}\n" for _, target in PAIRS[:1])
    shell.write("few.en", few[0])
    shell.write("few.fr", few[1])
    assert shell("align", "few.en", "few.fr").lines != GOLD[:1]
    assert shell("align", "few.en", "few.fr", "--more-pairs=train").lines == GOLD[:1]
    assert shell("align", "few", "--columns=en,fr", "--more-pairs=pairs.tsv").lines == GOLD[:1]


@needs_thot
def test_what_cannot_be_aligned_has_an_empty_line(shell: Shell) -> None:
    pairs = [("", ""), *PAIRS, ("one", " "), ("one " * (LONGEST + 1), "un")]
    for name, side in (("en", 0), ("fr", 1)):
        shell.write(f"gaps.{name}", "".join(f"{pair[side]}\n" for pair in pairs))
        shell.write(f"empty.{name}", "")
    outcome = shell("align", "gaps.en", "gaps.fr")
    assert outcome.lines == ["", *GOLD, "", ""]
    assert outcome.err.startswith("1 pairs were not aligned: ")
    assert shell("align", "empty.en", "empty.fr") == shell("align", "empty", "--columns=en,fr")
    assert shell("align", "empty.en", "empty.fr").lines == []


@pytest.mark.slow
@needs_thot
def test_links_are_between_the_words_that_training_means(shell: Shell) -> None:
    shell.write("odd.en", "one, NULL two\u00a0three <unk>\n" * 3)
    shell.write("odd.fr", "un, NULL deux\u00a0trois <unk>\n" * 3)
    for pretokenizer, words in (("punctuation", 8), ("whitespace", 4)):
        shell.write("gold", "".join(f"{words - 1}-{words - 1}\n" for _ in range(3)))
        assert shell("align", "odd.en", "odd.fr", f"--pretokenizer={pretokenizer}", "--gold=gold").code == 0
        shell.write("gold", "".join(f"{words}-0\n" for _ in range(3)))
        assert shell.fails("align", "odd.en", "odd.fr", f"--pretokenizer={pretokenizer}", "--gold=gold").startswith(
            "gold:1"
        )


@pytest.mark.slow
@needs_thot
def test_attention_learns_from_such_links(shell: Shell) -> None:
    shell.write("gold", "".join(f"{line}\n" for line in turned(toy.pairs(6, 3))))
    assert shell("align", "train.en", "train.fr", "-o", "train.en-fr.align").code == 0
    rates = []
    for run, options in (("plain", ()), ("taught", ("--data.alignments=true", "--training.penalties=supervised"))):
        trained = shell("train", "toy.yaml", f"--run={run}", "--training.epochs=10", *options)
        assert trained.code == 0, trained.err
        rates.append(float(shell("align", run, "test.en", "test.fr", "--gold=gold").err.split()[2]))
    assert rates[1] < rates[0] - 0.2


@pytest.mark.slow
@needs_thot
def test_gold_links_of_hundreds_of_pairs_are_compared(shell: Shell) -> None:
    toy.write(shell.folder, "test", [("one", "un")] * 300)
    shell.write("gold", "0-0\n" * 300)
    message = shell("align", "test.en", "test.fr", "--gold=gold", "-o", "links").err
    assert message == "AER = 0.0000 (precision 1.0000, recall 1.0000)\n"


@needs_thot
def test_interrupted_it_leaves_nothing(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    @contextmanager
    def passes(total: int) -> Iterator[object]:
        yield interrupted

    monkeypatch.setattr(progress_bar, "passes", passes)
    before, running = set(shell.folder.iterdir()), set(multiprocessing.active_children())
    outcome = shell("align", "train.en", "train.fr", "-o", "links")
    assert (outcome.code, outcome.err) == (130, "interrupted\n")
    assert set(multiprocessing.active_children()) <= running
    assert set(shell.folder.iterdir()) == before


def test_without_the_library_its_extra_is_named(shell: Shell, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setitem(sys.modules, "thot", None)
    monkeypatch.delitem(sys.modules, "thot.alignment", raising=False)
    golden(shell.fails("align", "train.en", "train.fr", "-o", "links"))
    assert not (shell.folder / "links").exists()

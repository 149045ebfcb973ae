"""`dragoman shortlist`, and `--shortlist` where it is taken."""

import json
import re
import shutil

import pytest

import dragoman
from dragoman.data.store import HEADER
from tests.system.conftest import Shell

EVERYTHING = "--shortlist=100,0"  # of the toy's ten symbols


@pytest.mark.slow
@pytest.mark.spec("D9")
def test_a_lexicon_is_made_of_the_prepared_corpus_and_used(copied: Shell) -> None:
    assert "`dragoman shortlist runs/toy` first" in copied.fails("translate", "runs/toy", "test.en", EVERYTHING)
    outcome = copied("shortlist", "runs/toy")
    assert (outcome.code, outcome.out) == (0, "")
    path = "runs/toy/shortlist.safetensors"
    assert outcome.err == f"{path}: translations of 7 of 10 symbols, from 80 pairs\n"
    assert "shortlist.safetensors" in copied("info", "runs/toy").out
    whole = copied("translate", "runs/toy", "test.en")
    assert copied("translate", "runs/toy", "test.en", EVERYTHING) == whole
    few = copied("translate", "runs/toy", "test.en", "--shortlist=1,0", "--search=greedy")
    assert len(few.lines) == 6
    assert len(set(few.out.split())) <= 1


def test_a_lexicon_is_made_of_text_files_where_the_data_are_gone(copied: Shell) -> None:
    copied("shortlist", "runs/toy")
    path = copied.folder / "runs" / "toy" / "shortlist.safetensors"
    expected = path.read_bytes()
    path.unlink()
    data, instead = path.parent / "data", "pass text files: dragoman shortlist runs/toy SOURCE TARGET"
    (data / HEADER).write_text('{"version": 0, "columns": {}}', encoding="utf-8")
    assert re.search(rf"by an earlier version .*; {instead}$", copied.fails("shortlist", "runs/toy"))
    shutil.rmtree(data)
    assert copied.fails("shortlist", "runs/toy").endswith(f"data: no prepared corpus; {instead}")
    assert copied("shortlist", "runs/toy", "train.en", "train.fr").code == 0
    assert path.read_bytes() == expected


@pytest.mark.slow
def test_what_candidates_lose_is_told(copied: Shell) -> None:
    copied("shortlist", "runs/toy")
    words = ("evaluate", "--run=runs/toy", "--source=test.en", "test.fr", "--metrics=bleu,chrf")
    plain, output = copied(*words).lines, copied(*words, "--shortlist=2,1").lines
    assert output[: len(plain)] == plain
    assert [line.split(" = ")[0] for line in output[len(plain) :]] == ["BLEU", "chrF2", "Covered"]
    assert all(line.endswith("|shortlist:2,1)") for line in output[len(plain) :])
    assert re.fullmatch(r"Covered = \d+\.\d\d \(symbols:\d+\|mean:\d\|of:10\|shortlist:2,1\)", output[-1])
    both = copied(*words, EVERYTHING).lines
    assert [line.split(" ")[2] for line in both[-3:]] == [plain[0].split(" ")[2], plain[1].split(" ")[2], "100.00"]
    scores = json.loads(copied(*words, EVERYTHING, "--json").out)
    assert scores[-1]["name"] == "Covered"
    assert scores[-1]["shortlist"] == "100,0"
    several = copied(*words, "test.fr", EVERYTHING).lines
    assert several[-1].startswith("Covered = 100.00")


def test_python_takes_candidates_when_it_loads(copied: Shell) -> None:
    copied("shortlist", "runs/toy")
    run = copied.folder / "runs" / "toy"
    texts = (copied.folder / "test.en").read_text().splitlines()
    translations = dragoman.load(run, shortlist=(100, 0)).translate(texts)
    assert [translation.text for translation in translations] == [
        translation.text for translation in dragoman.load(run).translate(texts)
    ]


@pytest.mark.slow
def test_misuse_is_told(copied: Shell) -> None:
    for wrong in ("3", "3,", "a,b", "3,-1", "1,2,3"):
        outcome = copied("translate", "runs/toy", "test.en", f"--shortlist={wrong}")
        assert outcome.code == 2
        message = " ".join(outcome.err.replace("│", " ").split())
        assert f"Invalid value for '--shortlist': expected two numbers, such as 300,20, found {wrong}" in message
    assert copied("shortlist", "runs/toy", "train.en").code == 2
    assert copied("evaluate", "test.fr", "-i", "test.fr", "--shortlist=3,1").code == 2
    copied.write("empty", "")
    copied.write("blank", "\n")
    assert "no pairs to train on" in copied.fails("shortlist", "runs/toy", "empty", "empty")
    assert "no pairs to train on" in copied.fails("shortlist", "runs/toy", "blank", "blank")
    assert "has 80 lines" in copied.fails("shortlist", "runs/toy", "train.en", "blank")
    copied("shortlist", "runs/toy")
    assert copied.fails("translate", "runs/toy", "test.en", "--shortlist=0,0").startswith("shortlist 0,0: expected")
    assert copied.fails("translate", "runs/toy", "test.en", "--shortlist=0,101").startswith("shortlist 0,101: ")


def test_symbols_that_nobody_wrote_are_told(copied: Shell) -> None:
    path = copied.folder / "runs" / "toy" / "data" / "target.values"
    path.write_bytes(b"\xff" * path.stat().st_size)
    assert copied.fails("shortlist", "runs/toy").startswith(
        "runs/toy/data/target.values: damaged; delete runs/toy/data"
    )

"""`dragoman judge`: from translations to a page, and from what annotators saved to what it says."""

import errno
import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dragoman.evaluation.human.forms import JudgedOutput, JudgedSentence, Key
from dragoman.evaluation.human.forms import read as read_form
from tests.disk import fail_to_replace
from tests.evaluation.human.filled import fill, save
from tests.golden import Golden
from tests.system.conftest import Shell

pytestmark = pytest.mark.spec("H10")
MADE = ("judge", "make", "source", "old", "improved=new", "--reference=ref", "-o", "page.html", "--seed=7")


@pytest.fixture
def folder(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path)
    for name in ("source", "old", "new", "ref"):
        shell.write(name, "".join(f"{name} {number}\n" for number in range(40)))
    return shell


def answer(random: Random) -> Any:
    """Of an annotator to whom the new system is better than the old one, and nearly as good as the reference."""
    quality = {"old": 2, "improved": 4, "reference": 5}

    def judge_item(item: JudgedSentence, output: JudgedOutput) -> dict[str, Any]:
        adequacy = min(5, max(1, quality[output.systems[0]] + random.choice((-1, 0, 0, 1))))
        errors = [{"category": "style", "severity": "minor", "words": [0, 0]}] * (adequacy < 3)
        said_by = {"adequacy": adequacy, "fluency": adequacy, "correct": int(adequacy > 3), "human": int(adequacy > 4)}
        ranks = [
            system for system in ("reference", "improved", "old") if any(system in one.systems for one in item.outputs)
        ]
        return {**said_by, "errors": errors, "rank": 1 + ranks.index(output.systems[0])}

    return judge_item


def judged(shell: Shell, *, count: int | None = None) -> list[Path]:
    """What two annotators say about page.html, the second about the first `count` sentences only."""
    key = read_form(shell.folder / "page.key.json", Key, "a key")
    anna, ben = (fill(key, name, answer(Random(name)), of) for name, of in (("Anna", None), ("Ben", count)))
    return [save(shell.folder / "anna.json", anna), save(shell.folder / "ben.json", ben)]


def test_a_better_system_comes_back_from_page_and_judgments(folder: Shell, golden: Golden) -> None:
    outcome = folder(*MADE)
    assert outcome.code == 0
    golden(outcome.err)
    read = folder("judge", "read", "page.key.json", "anna.json", "ben.json") if judged(folder) else None
    assert read is not None
    assert read.code == 0
    heading, means, _, pairs, _, errors, agreement, *_ = read.out.split("\n\n")
    assert heading == "40 sentences, judged by Anna (40), Ben (40)"
    assert [line.split()[0] for line in means.splitlines()] == ["system", "old", "improved", "reference"]
    assert means.splitlines()[0].split("  ")[0] == "system"
    assert [line.count("**") for line in means.splitlines()] == [0, 0, 5, 5]
    assert pairs.splitlines()[1].split() == ["old", "improved", "0", "0", "40", "<0.001"]
    assert errors.splitlines()[1].split()[:2] == ["style", "minor"]
    assert [line.split()[0] for line in agreement.splitlines()[1:]] == [
        "adequacy",
        "fluency",
        "correct",
        "human",
        "errors",
        "rank",
    ]
    assert agreement.splitlines()[-1].endswith("1.00")
    golden(read.out)


def test_the_same_as_json_with_another_baseline(folder: Shell) -> None:
    folder(*MADE)
    files = judged(folder)
    results = json.loads(folder("judge", "read", "page.key.json", *files, "--json", "--baseline=improved").out)
    assert results["sentences"] == 40
    assert results["annotators"] == {"Anna": 40, "Ben": 40}
    assert [system["system"] for system in results["systems"]] == ["improved", "old", "reference"]
    improved, old, reference = (system["adequacy"] for system in results["systems"])
    assert improved["p_value"] is None
    assert old["score"] < improved["score"] < reference["score"]
    assert old["p_value"] == pytest.approx(1 / 1001)
    assert results["systems"][2]["human %"]["score"] > results["systems"][0]["human %"]["score"]
    assert results["pairs"][0] == {
        "systems": ["old", "improved"],
        "better": 0,
        "equal": 0,
        "worse": 40,
        "p_value": pytest.approx(2 / 2**40),
    }
    assert results["errors"][0]["systems"]["reference"] == 0 < results["errors"][0]["systems"]["old"]
    assert results["agreement"]["rank"] == 1


def test_unfinished_work_is_told_and_the_rest_counts(folder: Shell, golden: Golden) -> None:
    folder(*MADE)
    read = folder("judge", "read", "page.key.json", *(path.name for path in judged(folder, count=10)))
    assert read.code == 0
    golden(read.err)
    assert read.out.startswith("40 sentences, judged by Anna (40), Ben (10)\n")


def test_few_sentences_have_means_alone(folder: Shell) -> None:
    folder(*MADE, "--sentences=5")
    read = folder("judge", "read", "page.key.json", *judged(folder))
    assert read.out.startswith("5 sentences, judged by")
    assert read.err == "5 sentences are too few for intervals; expected at least 20\n"
    assert "±" not in read.out
    assert "p:" not in read.out


def test_one_system_has_no_ranks(folder: Shell) -> None:
    folder("judge", "make", "source", "old", "-o", "page.html")
    key = read_form(folder.folder / "page.key.json", Key, "a key")
    assert key.questions == ["adequacy", "fluency", "correct", "errors"]
    read = folder("judge", "read", "page.key.json", judged(folder)[0])
    assert read.code == 0
    assert "against" not in read.out
    assert "p:" not in read.out


def test_only_what_is_asked_is_on_the_page(folder: Shell) -> None:
    words = ("judge", "make", "source", "old", "new", "-o", "page.html", "--questions=rank, human,errors")
    folder(*words, "--categories=tone, facts", "--sentences=3")
    key = read_form(folder.folder / "page.key.json", Key, "a key")
    assert (key.questions, key.categories, len(key.items)) == (["human", "errors", "rank"], ["tone", "facts"], 3)
    page = (folder.folder / "page.html").read_text("utf-8")
    assert '"categories":["tone","facts"]' in page
    assert re.findall('"name":"(.*?)"', page) == ["human"]


def test_a_page_tells_no_system_and_no_file(folder: Shell) -> None:
    folder("judge", "make", "source", "alpha9=old", "beta9=new", "-o", "page.html")
    page = (folder.folder / "page.html").read_text("utf-8")
    assert not any(name in page for name in ("alpha9", "beta9", "page.html", "page.key", str(folder.folder)))


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_page_without_its_key_does_not_stay(
    error: BaseException, folder: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        fail_to_replace(patched, 2, error)
        assert folder(*MADE).code in (1, 130)
    assert not list(folder.folder.glob("*page*"))
    assert folder(*MADE).code == 0


def test_seeds(folder: Shell) -> None:
    """The same page again only if a seed is given; nobody can guess the order of another."""
    pages: list[bytes] = []
    for options in ([], [], ["--seed=3"], ["--seed=3"], ["--seed=0"], ["--seed=0"], ["--seed=1"]):
        folder("judge", "make", "source", "old", "new", "-o", "page.html", *options)
        pages.append((folder.folder / "page.html").read_bytes())
        for name in ("page.html", "page.key.json"):
            (folder.folder / name).unlink()
    assert len(set(pages)) == 5
    assert pages[2] == pages[3]


WRONG = {
    "a page that is there": (*MADE[:-1], "--seed=8"),
    "too few lines": ("judge", "make", "source", "short", "-o", "new.html"),
    "no such file": ("judge", "make", "source", "gone=gone", "-o", "new.html"),
    "a source that would be replaced": ("judge", "make", "source", "old", "-o", "source"),
    "blank sources": ("judge", "make", "blank", "blank", "-o", "new.html"),
    "two streams": ("judge", "make", "-", "a=-", "-o", "new.html"),
    "a page for a key": ("judge", "read", "page.html", "anna.json"),
    "judgments for a key": ("judge", "read", "anna.json", "anna.json"),
    "a key for judgments": ("judge", "read", "page.key.json", "page.key.json"),
    "a different page": ("judge", "read", "other.key.json", "anna.json"),
    "twice": ("judge", "read", "page.key.json", "anna.json", "anna.json"),
    "no such system": ("judge", "read", "page.key.json", "anna.json", "--baseline=improve"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_is_told_in_a_line(wrong: str, folder: Shell, golden: Golden) -> None:
    folder(*MADE)
    folder(*MADE[:-3], "-o", "other.html", "--seed=8")
    judged(folder)
    folder.write("short", "a\nb\n")
    folder.write("blank", "\n \n")
    before = sorted(path.name for path in folder.folder.iterdir())
    golden(folder.fails(*WRONG[wrong]))
    assert sorted(path.name for path in folder.folder.iterdir()) == before


USAGE = {
    "an unknown question": ("--questions=adequasy",),
    "a question twice": ("--questions=rank,rank",),
    "an empty category": ("--categories=a,,b",),
    "categories of no question": ("--questions=adequacy", "--categories=a,b"),
    "a name twice": ("new=old", "new"),
    "a nameless file": ("=old",),
    "a file without a name": ("old=",),
    "no sentences": ("--sentences=0",),
    "the name of the reference": ("reference=new", "--reference=ref"),
}


@pytest.mark.parametrize("usage", USAGE)
def test_usage(usage: str, folder: Shell) -> None:
    outcome = folder("judge", "make", "source", "old", "-o", "page.html", *USAGE[usage])
    assert outcome.code == 2, outcome
    assert not (folder.folder / "page.html").exists()


def test_ranks_need_two_systems(folder: Shell) -> None:
    assert folder("judge", "make", "source", "old", "-o", "page.html", "--questions=rank").code == 2
    assert folder("judge", "make", "source", "old", "--reference=ref", "-o", "p.html", "--questions=rank").code == 0


def test_a_file_whose_name_has_an_equals_sign(folder: Shell) -> None:
    folder.write("beam=5", (folder.folder / "old").read_bytes())
    folder("judge", "make", "source", "beam=5", "new", "-o", "page.html")
    assert read_form(folder.folder / "page.key.json", Key, "a key").systems == ["beam=5", "new"]

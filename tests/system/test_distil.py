"""`dragoman distil`: what the teachers say is learned, and nothing is done twice."""

import signal

import pytest

import dragoman
from dragoman.run.run import Run
from tests import toy
from tests.golden import Golden
from tests.system.conftest import Shell

WORDS = ("distil", "runs/toy", "small.yaml")
MADE = "runs/small-data/train"


@pytest.fixture
def teacher(copied: Shell) -> Shell:
    """A trained run, and the configuration of a smaller one."""
    small = toy.CONFIG.replace("size: 24", "size: 16").replace("size: 12", "size: 8")
    places = "data: {source: en, target: fr, train: train, dev: dev}\nrun: runs/small"
    text = small.replace("data: {source: en, target: fr}", places)
    copied.write("small.yaml", text.replace("epochs: 2", "epochs: 1"))
    return copied


def lines(shell: Shell, name: str) -> list[str]:
    return (shell.folder / name).read_text("utf-8").splitlines()


def trained_on(shell: Shell) -> tuple[str, ...]:
    return Run.load(shell.folder / "runs/small").config.data.train


@pytest.mark.slow
def test_a_student_learns_from_what_a_teacher_makes_of_its_text(teacher: Shell) -> None:
    outcome = teacher(*WORDS, "--beam", "2")
    assert outcome.code == 0, outcome.err
    sources = lines(teacher, "train.en")
    assert lines(teacher, f"{MADE}.en") == sources
    translations = dragoman.load(teacher.folder / "runs/toy").translate(sources, beam_size=2)
    assert lines(teacher, f"{MADE}.fr") == [translation.text for translation in translations]
    assert trained_on(teacher) == (MADE,)
    assert "runs/small: trained. What next:" in outcome.err
    assert "dragoman translate runs/small FILE" in outcome.err


@pytest.mark.slow
def test_its_folder_may_have_any_name(teacher: Shell) -> None:
    outcome = teacher("distil", "runs/toy", "small.yaml", "--references", "--training.steps=1", "--run", "\U0001f600/")
    assert outcome.code == 0, outcome.err
    assert Run.load(teacher.folder / "\U0001f600").config.data.train == ("\U0001f600-data/train", "train")


@pytest.mark.slow
def test_it_may_learn_from_the_references_as_well_and_from_several_teachers(teacher: Shell) -> None:
    outcome = teacher("distil", "runs/toy", "runs/toy", "small.yaml", "--references", "--training.steps=1")
    assert outcome.code == 0, outcome.err
    assert trained_on(teacher) == (MADE, "train")


@pytest.mark.slow
def test_it_goes_on_where_it_was_stopped(teacher: Shell) -> None:
    """With the lines that were translated, then with the training, and not at all when it is done."""
    teacher.write("train.en", "one two\n" * 700)
    teacher.write("train.fr", "deux un\n" * 700)
    assert teacher.kill("translation", 3, *WORDS).code == -signal.SIGKILL
    assert 0 < len(lines(teacher, f"{MADE}.fr.partial")) < 700
    assert not (teacher.folder / "runs/small").exists()
    assert teacher.kill("step", 3, *WORDS).code == -signal.SIGKILL
    outcome = teacher(*WORDS)
    assert outcome.code == 0, outcome.err
    assert len(lines(teacher, f"{MADE}.fr")) == 700
    before = (teacher.folder / f"{MADE}.fr").stat().st_mtime_ns
    again = teacher(*WORDS)
    assert again.code == 0
    assert (teacher.folder / f"{MADE}.fr").stat().st_mtime_ns == before
    assert f"{MADE}.fr: what" not in again.err


@pytest.mark.slow
def test_shares_of_corpora_are_those_of_what_it_learns_from(teacher: Shell, golden: Golden) -> None:
    """Invalid weights and temperatures of corpora are reported before anything is translated."""
    shares = "--data.train=[train, dev]", "--data.weights=[1, 2]"
    golden(teacher.fails(*WORDS, *shares))
    golden(teacher.fails(*WORDS, "--data.temperature=5"))
    assert not (teacher.folder / MADE).parent.exists()
    outcome = teacher(*WORDS, "--references", "--data.weights=[1, 2]", "--training.steps=1")
    assert outcome.code == 0, outcome.err
    assert Run.load(teacher.folder / "runs/small").config.data.weights == (1, 2)


@pytest.mark.parametrize(
    "words",
    [
        "distil small.yaml",
        "distil runs/toy",
        "distil runs/toy small.yaml --data.source=fr --data.target=en",
        "distil runs/toy small.yaml --data.translation_memory=nearest",
        "distil runs/none small.yaml",
        "distil runs/toy small.yaml --run=mine",
    ],
)
def test_what_cannot_be_is_told(words: str, teacher: Shell, golden: Golden) -> None:
    (teacher.folder / "mine-data").mkdir()
    golden(teacher.fails(*words.split()))
    assert list((teacher.folder / "mine-data").iterdir()) == []
    assert not (teacher.folder / "runs/small").exists()


@pytest.mark.slow
def test_text_of_other_teachers_is_not_mixed_in(teacher: Shell, golden: Golden) -> None:
    assert teacher(*WORDS).code == 0
    golden(teacher.fails(*WORDS, "--beam", "3"))

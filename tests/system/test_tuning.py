"""`tune`, and translations that are reranked by what it found."""

import json

import pytest

from dragoman.translation.tuning import Weighted
from tests.golden import Golden
from tests.system.conftest import Shell

TUNE = ("tune", "runs/toy", "--source=dev.en", "--reference=dev.fr", "--n-best=6")
TRANSLATE = ("translate", "runs/toy", "test.en")


@pytest.fixture
def tuned(copied: Shell) -> Shell:
    outcome = copied(*TUNE, "-o", "weights.yaml")
    assert outcome.code == 0, outcome.err
    return copied


def test_what_is_tuned_is_told_and_written(copied: Shell) -> None:
    outcome = copied(*TUNE, "--metric=bleu", "--use=length,coverage")
    assert outcome.code == 0, outcome.err
    copied.write("weights.yaml", outcome.out)
    weights = Weighted.read(copied.folder / "weights.yaml")
    assert list(weights.weights) == ["model", "length", "coverage"]
    assert weights.candidates == 6
    assert outcome.lines[0].startswith("# dragoman tune, on dev.en: BLEU ")
    assert "8 sentences, " in outcome.err
    for name, weight in weights.weights.items():
        assert f"{name} " in outcome.err
        assert f"{weight:.4f}" in outcome.err


@pytest.mark.slow
def test_translate_reranks(tuned: Shell) -> None:
    """With figures in the format of Moses, of which the score is the weighted sum, and in JSON."""
    weights = Weighted.read(tuned.folder / "weights.yaml")
    lines = tuned(*TRANSLATE, "--rerank=weights.yaml").lines
    listed = tuned(*TRANSLATE, "--rerank=weights.yaml", "--n-best=3").lines
    objects = [json.loads(line) for line in tuned(*TRANSLATE, "--rerank=weights.yaml", "--n-best=3", "--json").lines]
    first = [next(line for line in listed if line.startswith(f"{number} ||| ")) for number in range(6)]
    for line, best, value in zip(lines, first, objects, strict=True):
        _, text, figures, score = best.split(" ||| ")
        assert text == line == value["text"]
        named = dict(zip(*[iter(figures.replace("=", "").split())] * 2, strict=True))
        assert list(named) == ["F0", *weights.weights]
        assert float(named.pop("F0")) == pytest.approx(value["log_prob"], abs=1e-4)
        assert {name: float(number) for name, number in named.items()} == value["criteria"]
        total = sum(weights.weights[name] * float(number) for name, number in named.items())
        assert float(score) == pytest.approx(total, abs=1e-4)
        assert value["score"] == pytest.approx(total, abs=1e-5)
        scores = [number["score"] for number in (value, *value["alternatives"])]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.slow
def test_figures_of_a_users_own_and_of_another_run(copied: Shell) -> None:
    """Added to the n-best lists of both sets; here, how many words are `un`."""
    for name in ("dev", "test"):
        lines = copied("translate", "runs/toy", f"{name}.en", "--beam=6", "--n-best=6").lines
        fields = [line.split(" ||| ") for line in lines]
        own = [" ||| ".join([n, text, f"{f} ones= {text.split().count('un')}", score]) for n, text, f, score in fields]
        copied.write(f"{name}.nbest", "".join(f"{line}\n" for line in own))
    options = ("--criteria=dev.nbest", "--use=length", "--with=same=runs/toy", "-o", "weights.yaml")
    assert copied(*TUNE, *options).code == 0
    weights = Weighted.read(copied.folder / "weights.yaml")
    assert list(weights.weights) == ["model", "length", "same", "ones"]
    reranked = ("--rerank=weights.yaml", "--json", "--batch-lines=2")
    outcome = copied(*TRANSLATE, *reranked, "--criteria=test.nbest")
    assert outcome.code == 0, outcome.err
    for value in map(json.loads, outcome.lines):
        assert value["criteria"]["ones"] == value["words"].count("un")
        assert value["criteria"]["same"] == pytest.approx(value["criteria"]["model"], abs=2e-4)
    assert "--criteria FILE" in copied.fails(*TRANSLATE, "--rerank=weights.yaml")
    copied.write("short.nbest", "0 ||| un ||| ones= 1 ||| 0\n")
    assert "short.nbest: has no translation 0 |||" in copied.fails(*TRANSLATE, *reranked, "--criteria=short.nbest")


@pytest.mark.slow
def test_tuning_leaves_files_of_others_alone(tuned: Shell, golden: Golden) -> None:
    """And replaces what it wrote itself."""
    before = (tuned.folder / "weights.yaml").read_bytes()
    assert tuned(*TUNE, "-o", "weights.yaml").code == 0
    assert (tuned.folder / "weights.yaml").read_bytes() == before
    tuned.write("mine", "weights: mine\n")
    golden(tuned.fails(*TUNE, "-o", "mine"))
    assert (tuned.folder / "mine").read_text("utf-8") == "weights: mine\n"


@pytest.mark.parametrize(
    "options",
    [
        ("--reference=test.fr",),
        ("--use=lenght",),
        ("--use=length,length",),
        ("--use=",),
        ("--with=length=runs/toy",),
        ("--with=runs/toy",),
        ("--reverse=runs/toy",),
        ("--criteria=dev.en",),
        ("--n-best=2000",),
        ("-o", "dev.en"),
        ("--reference=blank.fr",),
    ],
)
def test_what_cannot_be_tuned_is_told(options: tuple[str, ...], copied: Shell, golden: Golden) -> None:
    before = (copied.folder / "dev.en").read_bytes()
    copied.write("blank.fr", "\n" * before.count(b"\n"))
    command = TUNE if options != ("--reference=blank.fr",) else TUNE[:3]
    outcome = copied(*command, *options)
    assert outcome.code in (1, 2)
    assert (copied.folder / "dev.en").read_bytes() == before
    if outcome.code == 1:
        golden(outcome.err)


@pytest.mark.parametrize(
    "options",
    [
        ("--rerank=weights.yaml", "--mbr=chrf"),
        ("--rerank=weights.yaml", "--wait=2"),
        ("--criteria=dev.en",),
        ("--rerank=none.yaml",),
        ("--rerank=weights.yaml", "--search=greedy"),
        ("--mbr=chrf", "--beam=1"),
    ],
)
def test_what_does_not_go_with_reranking_is_told(options: tuple[str, ...], copied: Shell, golden: Golden) -> None:
    copied.write("weights.yaml", "version: 1\ncandidates: 4\nalpha: 1.0\nweights: {model: 1.0}\n")
    golden(copied.refuses(*TRANSLATE, *options))


@pytest.mark.slow
def test_a_resumed_command_wants_the_same_weights(tuned: Shell) -> None:
    words = (*TRANSLATE, "--rerank=weights.yaml", "-o", "found.fr", "--batch-lines=2")
    assert tuned.kill("translation", 2, *words).code == -9
    text = (tuned.folder / "weights.yaml").read_text("utf-8")
    tuned.write("weights.yaml", text.replace("model: ", "model: 1"))
    assert "was written with another --rerank;" in tuned.fails(*words, "--resume")
    tuned.write("weights.yaml", text)
    assert tuned(*words, "--resume").code == 0
    assert (tuned.folder / "found.fr").read_text("utf-8").count("\n") == 6

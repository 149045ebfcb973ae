"""Every command as its user types it, on a run that has been trained."""

import json
import re
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
import torch
from safetensors.torch import load_file

import dragoman
from dragoman.config import DeviceConfig
from dragoman.translator import Translator, load
from tests.system.conftest import Outcome, Shell

RUN = "runs/toy"
CPU = DeviceConfig(name="cpu", threads=1)
SENTENCES = 6  # in test.en
LINKS = re.compile(r"(\d+-\d+( \d+-\d+)*)?")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def read(shell: Shell, name: str) -> list[str]:
    return (shell.folder / name).read_text(encoding="utf-8").splitlines()


def loaded(shell: Shell) -> Translator:
    return load(shell.folder / RUN, device=CPU)


def succeeds(outcome: Outcome) -> Outcome:
    assert outcome.code == 0, outcome
    return outcome


# ---- translate


def test_translate(trained: Shell) -> None:
    outcome = succeeds(trained("translate", RUN, "test.en"))
    assert outcome.lines == [each.text for each in loaded(trained).translate(read(trained, "test.en"))]
    assert outcome.err == ""


def test_translate_standard_input(trained: Shell) -> None:
    text = "\n".join(read(trained, "test.en")) + "\n"
    expected = trained("translate", RUN, "test.en").out
    assert trained("translate", RUN, "-", stdin=text).out == expected
    assert trained("translate", RUN, stdin=text).out == expected


def test_translate_a_line_for_each_line(trained: Shell) -> None:
    lines = succeeds(trained("translate", RUN, "-", "--batch-lines", 2, stdin="one two\n\n \nnine\nthree\n\n")).lines
    assert len(lines) == 6
    assert [bool(line) for line in lines] == [True, False, False, True, True, False]
    assert succeeds(trained("translate", RUN, "-", stdin="")).out == ""


def test_translate_to_a_file(trained: Shell, tmp_path: Path) -> None:
    outcome = succeeds(trained("translate", RUN, "test.en", "-o", tmp_path / "found.fr"))
    assert outcome.out == ""
    assert (tmp_path / "found.fr").read_text(encoding="utf-8") == trained("translate", RUN, "test.en").out


def test_translate_n_best(trained: Shell) -> None:
    rows = [line.split(" ||| ") for line in succeeds(trained("translate", RUN, "test.en", "--n-best", 3)).lines]
    expected = [
        [str(number), each.text, f"F0= {each.log_prob:.4f}", f"{each.score:.4f}"]
        for number, found in enumerate(loaded(trained).translate(read(trained, "test.en"), n_best=3))
        for each in found.n_best
    ]
    assert rows == expected
    assert [int(row[0]) for row in rows] == [number for number in range(SENTENCES) for _ in range(3)]
    for first in range(0, len(rows), 3):
        scores = [float(row[3]) for row in rows[first : first + 3]]
        assert scores == sorted(scores, reverse=True)


def test_translate_n_best_with_alignments(trained: Shell) -> None:
    lines = succeeds(trained("translate", RUN, "test.en", "--n-best", 2, "--alignments")).lines
    assert len(lines) == 2 * SENTENCES
    for line in lines:
        _, text, links, features, score = line.split(" ||| ")
        assert len(links.split()) == len(text.split())
        assert features.startswith("F0= ")
        assert float(score) < 0


def test_translate_n_best_needs_a_beam(trained: Shell) -> None:
    assert "use --beam 4" in trained.fails("translate", RUN, "test.en", "--n-best", 4)
    rows = succeeds(trained("translate", RUN, "test.en", "--n-best", 4, "--beam", 4)).lines
    assert len(rows) == 4 * SENTENCES


def test_translate_alignments(trained: Shell) -> None:
    plain = trained("translate", RUN, "test.en").lines
    fields = [line.split(" ||| ") for line in succeeds(trained("translate", RUN, "test.en", "--alignments")).lines]
    assert [text for text, _ in fields] == plain
    for (text, links), source in zip(fields, read(trained, "test.en"), strict=True):
        pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
        assert sorted(target for _, target in pairs) == list(range(len(text.split())))
        assert all(0 <= place < len(source.split()) for place, _ in pairs)


def test_translate_attention(trained: Shell, tmp_path: Path) -> None:
    outcome = succeeds(trained("translate", RUN, "test.en", "--attention", tmp_path / "attention.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "attention.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["source"] for row in rows] == [line.split() for line in read(trained, "test.en")]
    assert [" ".join(row["target"]) for row in rows] == outcome.lines
    for row in rows:
        weights = torch.tensor(row["attention"])
        assert weights.shape == (len(row["target"]), len(row["source"]))
        assert weights.min() >= 0
        assert weights.sum(1).max() <= 1 + 1e-3


def test_translate_show(trained: Shell) -> None:
    outcome = succeeds(trained("translate", RUN, "-", "--show", stdin="one two\n"))
    assert outcome.lines == trained("translate", RUN, "-", stdin="one two\n").lines
    head, *body = COLOURS.sub("", outcome.err).splitlines()
    assert head.split() == ["one", "two"]
    assert [line.split()[0] for line in body] == outcome.lines[0].split()


@pytest.mark.parametrize("words", [("--search", "greedy"), ("--beam", "1")])
def test_translate_greedily(trained: Shell, words: Sequence[str]) -> None:
    translator = loaded(trained)
    expected = [each.text for each in translator.translate(read(trained, "test.en"), beam_size=1)]
    assert succeeds(trained("translate", RUN, "test.en", *words)).lines == expected


def test_translate_with_another_beam(trained: Shell) -> None:
    expected = [each.text for each in loaded(trained).translate(read(trained, "test.en"), beam_size=2)]
    assert succeeds(trained("translate", RUN, "test.en", "--beam", 2)).lines == expected
    assert "greedy" in trained.fails("translate", RUN, "test.en", "--search", "greedy", "--beam", 2)


def test_translate_with_other_weights(trained: Shell) -> None:
    other = load(trained.folder / RUN, weights="model-last", device=CPU)
    expected = [each.text for each in other.translate(read(trained, "test.en"))]
    assert succeeds(trained("translate", RUN, "test.en", "--weights", "model-last")).lines == expected


# ---- score, align, evaluate


def test_score(trained: Shell) -> None:
    outcome = succeeds(trained("score", RUN, "test.en", "test.fr"))
    scored = loaded(trained).score(read(trained, "test.en"), read(trained, "test.fr"))
    rows = [line.split("\t") for line in outcome.lines]
    assert [float(row[0]) for row in rows] == pytest.approx([each.log_prob for each in scored], abs=1e-4)
    assert [int(row[1]) for row in rows] == [len(line.split()) + 1 for line in read(trained, "test.fr")]
    assert all(len(row) == 2 for row in rows)
    assert outcome.err.startswith(f"{SENTENCES} pairs, {sum(each.symbols for each in scored)} symbols, log P -")


def test_score_per_symbol(trained: Shell) -> None:
    for line in succeeds(trained("score", RUN, "test.en", "test.fr", "--per-symbol")).lines:
        log_prob, symbols, mean = map(float, line.split("\t"))
        assert mean == pytest.approx(log_prob / symbols, abs=1e-4)


def test_align(trained: Shell) -> None:
    outcome = succeeds(trained("align", RUN, "test.en", "test.fr"))
    assert all(LINKS.fullmatch(line) for line in outcome.lines)
    scored = loaded(trained).score(read(trained, "test.en"), read(trained, "test.fr"))
    found = [{(int(s), int(t)) for s, t in (link.split("-") for link in line.split())} for line in outcome.lines]
    assert found == [set(each.alignment) for each in scored]
    assert outcome.err == ""


def test_align_threshold(trained: Shell) -> None:
    pairs = list(zip(read(trained, "test.en"), read(trained, "test.fr"), strict=True))
    everything = succeeds(trained("align", RUN, "test.en", "test.fr", "--threshold", 0)).lines
    assert [len(line.split()) for line in everything] == [len(s.split()) * len(t.split()) for s, t in pairs]


def test_align_gold(trained: Shell, tmp_path: Path) -> None:
    lines = trained("align", RUN, "test.en", "test.fr").lines
    gold = tmp_path / "gold"
    gold.write_text("".join(line + "\n" for line in lines))
    outcome = succeeds(trained("align", RUN, "test.en", "test.fr", "--gold", gold))
    assert outcome.lines == lines
    assert outcome.err.startswith("AER = 0.0")
    # Half of what is sure is not found then: of A links, all right, and S = 2 A, the error rate is 1 - 2 A / 3 A.
    gold.write_text("".join(f"{line} {re.sub(r'(\d+)-', r'9\1-', line)}\n" for line in lines))
    assert "33.3" in trained("align", RUN, "test.en", "test.fr", "--gold", gold).err
    gold.write_text(lines[0] + "\n")
    assert f"{gold} has 1 lines" in trained("align", RUN, "test.en", "test.fr", "--gold", gold).err


def test_evaluate(trained: Shell) -> None:
    outcome = succeeds(trained("evaluate", "test.fr", "-i", "test.fr"))
    assert [line.split(" (")[0] for line in outcome.lines] == ["BLEU = 100.00", "chrF2 = 100.00", "TER = 0.00"]
    assert all(line.endswith(f"|version:{sacrebleu.__version__})") for line in outcome.lines)


def test_evaluate_json(trained: Shell) -> None:
    words = ("evaluate", "test.fr", "--json", "--tokenise", "none")
    translations = ["un deux trois quatre", *read(trained, "test.fr")[1:]]
    outcome = succeeds(trained(*words, "--metrics", "bleu,chrf", stdin="\n".join(translations) + "\n"))
    references = [read(trained, "test.fr")]
    bleu = sacrebleu.corpus_bleu(translations, references, tokenize="none").score
    chrf = sacrebleu.corpus_chrf(translations, references).score
    found = json.loads(outcome.out)
    assert [(each["name"], each["score"]) for each in found] == [("BLEU", round(bleu, 2)), ("chrF2", round(chrf, 2))]
    assert found[0]["tok"] == "none"
    alone = trained(*words, "--metrics", "bleu", stdin="\n".join(translations) + "\n")
    assert json.loads(alone.out) == found[0]


def test_evaluate_several_references_and_letter_case(trained: Shell, tmp_path: Path) -> None:
    upper = tmp_path / "upper.fr"
    upper.write_text((trained.folder / "test.fr").read_text(encoding="utf-8").upper(), encoding="utf-8")
    words = ("--metrics", "chrf", "-i", upper)
    assert "chrF2 = 100.00 (nrefs:2" not in trained("evaluate", "test.fr", "dev.fr", *words).out
    assert succeeds(trained("evaluate", "test.fr", "test.fr", *words, "--lowercase")).out.startswith(
        "chrF2 = 100.00 (nrefs:2|case:lc|"
    )


def test_evaluate_a_run(trained: Shell, tmp_path: Path) -> None:
    outcome = succeeds(trained("evaluate", "test.fr", "--run", RUN, "--source", "test.en", "--tokenise", "none"))
    trained("translate", RUN, "test.en", "-o", tmp_path / "found.fr")
    of_file = succeeds(trained("evaluate", "test.fr", "-i", tmp_path / "found.fr", "--tokenise", "none"))
    assert outcome.lines[:3] == of_file.lines
    scored = loaded(trained).score(read(trained, "test.en"), read(trained, "test.fr"))
    entropy = -sum(each.log_prob for each in scored) / sum(each.symbols for each in scored)
    perplexity, accuracy = outcome.lines[3:]
    assert float(perplexity.split()[2]) == pytest.approx(torch.tensor(entropy).exp().item(), abs=0.01)
    assert accuracy.startswith("Accuracy = ")
    assert trained("evaluate", "test.fr", "--run", RUN).code == 2


# ---- report, average, info


class Loads(HTMLParser):
    """Everything that a page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = ("src", "srcset", "href", "xlink:href", "action", "data", "poster")
        self.found += [value for name, value in attributes if name in names and value and value[0] != "#"]


def self_contained(page: str) -> bool:
    """Whether a page needs nothing but itself; the name of a name space is an address that nobody fetches."""
    loads = Loads()
    loads.feed(page)
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", page)) - {"http://www.w3.org/2000/svg"}
    return not (addresses or [each for each in loads.found if not each.startswith("data:")] or "@import" in page)


def test_report(trained: Shell, tmp_path: Path) -> None:
    outcome = succeeds(trained("report", RUN, "-o", tmp_path / "page.html"))
    assert outcome.out == f"{tmp_path / 'page.html'}\n"
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert self_contained(page)
    assert RUN in page
    assert not self_contained('<script src="https://example.org/x.js"></script>')


def test_report_in_the_run(copied: Shell) -> None:
    page = copied.folder / RUN / "report.html"
    page.unlink()
    assert succeeds(copied("report", RUN)).out == f"{RUN}/report.html\n"
    assert page.is_file()


def test_report_on_other_sentences(trained: Shell, tmp_path: Path) -> None:
    pairs = zip(read(trained, "test.en"), read(trained, "test.fr"), strict=True)
    (tmp_path / "sentences").write_text("".join("\t".join(pair) + "\n" for pair in pairs), encoding="utf-8")
    gold = "".join(line + "\n" for line in trained("align", RUN, "test.en", "test.fr").lines)
    (tmp_path / "gold").write_text(gold)
    options = ("--sentences", tmp_path / "sentences", "--gold", tmp_path / "gold", "-o", tmp_path / "page.html")
    succeeds(trained("report", RUN, RUN, *options))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "AER" in page
    assert self_contained(page)


def test_train_writes_a_report(trained: Shell) -> None:
    assert self_contained((trained.folder / RUN / "report.html").read_text(encoding="utf-8"))


def checkpoints(shell: Shell) -> list[Path]:
    found = sorted((shell.folder / RUN / "checkpoints").glob("step-*.safetensors"))
    assert len(found) == 2
    return found


@pytest.mark.parametrize("how", ["kept", "last", "files"])
def test_average(trained: Shell, tmp_path: Path, how: str) -> None:
    paths = checkpoints(trained)
    words: dict[str, list[Any]] = {"kept": [], "last": ["--last", 2], "files": paths}
    outcome = succeeds(trained("average", RUN, *words[how], "-o", tmp_path / "mean.safetensors"))
    assert outcome.err.startswith(f"{tmp_path / 'mean.safetensors'}: the mean of step-")
    found = load_file(tmp_path / "mean.safetensors")
    first, second = map(load_file, paths)
    assert found.keys() == first.keys()
    for name, tensor in found.items():
        torch.testing.assert_close(tensor, (first[name] + second[name]) / 2)
    assert any(not torch.equal(tensor, first[name]) for name, tensor in found.items())


def test_average_of_one(trained: Shell, tmp_path: Path) -> None:
    succeeds(trained("average", RUN, "--last", 1, "-o", tmp_path / "one.safetensors"))
    found, last = load_file(tmp_path / "one.safetensors"), load_file(checkpoints(trained)[-1])
    assert all(torch.equal(tensor, last[name]) for name, tensor in found.items())
    assert "2 kept" in trained.fails("average", RUN, "--best", 3, "-o", tmp_path / "x.safetensors")


def test_average_can_be_used(copied: Shell) -> None:
    succeeds(copied("average", RUN, "-o", f"{RUN}/mine.safetensors"))
    succeeds(copied("translate", RUN, "test.en", "--weights", "mine"))


def test_info(trained: Shell) -> None:
    facts = dict(line.split(maxsplit=1) for line in succeeds(trained("info")).lines)
    assert facts["dragoman"] == dragoman.__version__
    assert facts["torch"] == torch.__version__
    assert facts["python"] == sys.version.split()[0]


def test_info_on_a_run(trained: Shell) -> None:
    out = succeeds(trained("info", RUN)).out
    facts = dict(re.split(r" {2,}", line.strip(), maxsplit=1) for line in out.splitlines())
    assert facts["languages"] == "en to fr"
    parameters = sum(parameter.numel() for parameter in loaded(trained).model.parameters())
    assert facts["parameters"] == f"{parameters:,}"
    assert facts["training"].startswith("ended: 10 steps")
    assert "development chrF2" in facts
    assert {path.name for path in (trained.folder / RUN).iterdir()} <= {name.rstrip("/") for name in facts}


# ---- init, debug, train


def test_init(shell: Shell) -> None:
    outcome = succeeds(shell("init", "train.en", "train.fr", "-o", "mine.yaml"))
    assert outcome.out == ""
    assert "  dragoman train mine.yaml\n" in outcome.err
    succeeds(shell("debug", "config", "mine.yaml"))
    succeeds(shell("debug", "data", "mine.yaml"))
    sizes = ("--model.embedding.size=8", "--model.encoder.size=8", "--model.decoder.size=8")
    quick = ("--device={name: cpu, threads: 1}", "--training.steps", 2, "--training.validate_every=2")
    succeeds(shell("train", "mine.yaml", *sizes, *map(str, quick), "--run=runs/mine"))
    rows = [json.loads(line) for line in read(shell, "runs/mine/metrics.jsonl")]
    assert rows[-1]["step"] == 2
    assert len(succeeds(shell("translate", "runs/mine", "test.en")).lines) == SENTENCES
    assert "mine.yaml: exists already" in shell.fails("init", "train.en", "train.fr", "-o", "mine.yaml")


def test_init_sets_pairs_aside(shell: Shell) -> None:
    for suffix in ("en", "fr"):
        (shell.folder / f"dev.{suffix}").unlink()
    assert "set aside" in succeeds(shell("init", "train.en", "train.fr")).err
    parts = [read(shell, f"config-data/{part}.en") for part in ("train", "dev")]
    assert sorted(parts[0] + parts[1]) == sorted(read(shell, "train.en"))
    assert not set(parts[0]) & set(parts[1])
    succeeds(shell("debug", "config", "config.yaml"))


def test_debug_data(trained: Shell) -> None:
    out = succeeds(trained("debug", "data", "toy.yaml")).out
    train, dev = out.split("\n\n")[:2]
    assert train.startswith(f"data.train: train\npairs: {len(read(trained, 'train.en'))}\n")
    assert dev.startswith(f"data.dev: dev\npairs: {len(read(trained, 'dev.en'))}\n")
    assert "data.dev: test\n" in succeeds(trained("debug", "data", "toy.yaml", "--data.dev", "test")).out


def test_debug_config(shell: Shell) -> None:
    outcome = succeeds(shell("debug", "config", "toy.yaml", "--model.decoder.size", "20"))
    assert "size: 20" in outcome.out
    assert "parameters:\n" in outcome.out
    again = succeeds(shell("debug", "config", shell.write("again.yaml", outcome.out)))
    assert again.out == outcome.out


def test_debug_config_finds_a_fault(shell: Shell) -> None:
    assert "model.decoder.siez" in shell.fails("debug", "config", "toy.yaml", "--model.decoder.siez", "20")


def test_train(first_training: tuple[Shell, Outcome]) -> None:
    shell, outcome = first_training
    succeeds(outcome)
    assert outcome.out == ""
    assert f"  dragoman translate {RUN} FILE" in outcome.err
    names = {path.name for path in (shell.folder / RUN).iterdir()}
    assert names >= {"config.yaml", "metrics.jsonl", "README.md", "report.html", "model.safetensors"}


def test_train_a_finished_run(copied: Shell) -> None:
    run = copied.folder / RUN
    kept = [run / f"{name}.safetensors" for name in ("model", "model-best", "model-last")]
    before = [path.read_bytes() for path in kept]
    outcome = succeeds(copied("train", "toy.yaml"))
    assert f"{RUN}: going on from step 10\n" in outcome.err
    assert [path.read_bytes() for path in kept] == before
    assert [json.loads(line)["step"] for line in read(copied, f"{RUN}/metrics.jsonl")][-1] == 10


def test_train_a_finished_run_further(copied: Shell) -> None:
    outcome = succeeds(copied("train", "toy.yaml", "--training.epochs=3"))
    assert f"{RUN}: going on from step 10\n" in outcome.err
    assert json.loads(read(copied, f"{RUN}/metrics.jsonl")[-1])["step"] == 15


# ---- help

OPTIONS = {
    "translate": "--output -o --search --beam --n-best --alignments --attention --show --weights --batch-lines",
    "score": "--per-symbol --weights",
    "align": "--gold --threshold --weights",
    "evaluate": "--input -i --run --source --metrics --tokenise --lowercase --json",
    "report": "--output -o --sentences --gold",
    "average": "--output -o --last --best",
    "info": "RUN",
    "init": "--output -o --dev",
    "train": "CONFIG --section.key",
    "debug data": "CONFIG",
    "debug config": "CONFIG",
    "debug": "data config",
    "demo": "FOLDER",
}


@pytest.mark.parametrize("command", OPTIONS)
def test_help(shell: Shell, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    found = COLOURS.sub("", succeeds(shell(*command.split(), "--help")).out)
    words = set(re.findall(r"[\w.-]+", found))
    assert {*OPTIONS[command].split(), "--help"} <= words
    assert succeeds(shell(*command.split(), "-h")).out


def test_help_lists_the_commands(shell: Shell) -> None:
    found = COLOURS.sub("", succeeds(shell("--help")).out)
    assert {command.split()[0] for command in OPTIONS} <= set(re.findall(r"\w+", found))


def test_version(shell: Shell) -> None:
    assert succeeds(shell("--version")).out == f"dragoman {dragoman.__version__}\n"


def test_help_is_quick(tmp_path: Path) -> None:
    """It loads no torch, which takes seconds."""
    outcome = succeeds(Shell(tmp_path).spawn("--help", program=("-X", "importtime", "-m", "dragoman")))
    imported = {line.rpartition("|")[2].strip() for line in outcome.err.splitlines()}
    assert "typer" in imported
    assert not imported & {"torch", "numpy", "sentencepiece", "sacrebleu"}

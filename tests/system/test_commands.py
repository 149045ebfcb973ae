"""Every command, as a user types it."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from dragoman import devices
from dragoman.configuration import config_file
from dragoman.corpus.pharaoh import pharaoh
from tests import toy
from tests.forms import results
from tests.golden import Golden
from tests.system.conftest import Outcome, Shell


def test_train_says_where_the_run_is_and_what_to_do_next(first_training: tuple[Shell, Outcome]) -> None:
    shell, outcome = first_training
    assert outcome.code == 0, outcome.err
    assert outcome.out == ""
    assert "80 of 80 pairs" in outcome.err
    assert "runs/toy: trained. What next:\n  dragoman translate runs/toy FILE" in outcome.err
    assert (shell.folder / "runs" / "toy" / "report.html").is_file()


@pytest.mark.slow
def test_train_again_changes_nothing_and_says_so(copied: Shell) -> None:
    run = copied.folder / "runs" / "toy"
    (run / "report.html").write_text("mine", encoding="utf-8")
    paths = [path for path in run.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in paths}
    outcome = copied("train", "toy.yaml")
    assert outcome.code == 0
    assert outcome.err.startswith("runs/toy: training has finished at training.epochs: 2 after 10 steps.")
    assert outcome.err.count("\n") == 1
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    (run / "report.html").unlink()  # as if it had been killed before it was written
    assert copied("train", "toy.yaml").code == 0
    assert (run / "report.html").is_file()
    assert "trained. What next" in copied("train", "toy.yaml", "--training.epochs=3").err


@pytest.mark.slow
def test_a_diverging_training_ends_with_a_line(shell: Shell) -> None:
    words = ("--training.optimizer.learning_rate=1e10", "--training.clip_norm=null")
    outcome = shell("train", "toy.yaml", *words)
    assert outcome.code == 1
    assert "the loss on the development data was" in outcome.err
    assert "trained" not in outcome.err
    assert max(map(len, outcome.err.splitlines())) < 400


def test_train_takes_overrides_before_and_behind_the_file(shell: Shell) -> None:
    words = ("--training.steps=1", "--run", "runs/other", "toy.yaml", "--model.embedding.size", "6")
    assert shell("train", *words).code == 0
    text = (shell.folder / "runs" / "other" / "config.yaml").read_text(encoding="utf-8")
    assert "    size: 6\n" in text
    assert "  steps: 1\n" in text


@pytest.mark.slow
def test_translate_writes_a_line_for_a_line(trained: Shell) -> None:
    outcome = trained("translate", "runs/toy", "test.en")
    assert outcome.code == 0
    assert outcome.err == ""
    assert len(outcome.lines) == 6
    assert set(" ".join(outcome.lines).split()) <= set(toy.WORDS.values())
    assert trained("translate", "runs/toy", stdin=(trained.folder / "test.en").read_bytes()) == outcome
    assert trained("translate", "runs/toy", "-", "--batch-lines=1", stdin="two one\n").lines[0] != ""


@pytest.mark.slow
def test_translate_writes_a_file_only_when_all_is_done(copied: Shell) -> None:
    outcome = copied("translate", "runs/toy", "test.en", "-o", "test.out")
    assert outcome.out == ""
    assert (copied.folder / "test.out").read_text() == copied("translate", "runs/toy", "test.en").out
    copied.write("broken.en", b"one\n\xff\n")
    assert copied.fails("translate", "runs/toy", "broken.en", "-o", "broken.out").startswith("broken.en:2: not UTF-8")
    assert not list(copied.folder.glob("*broken.out*"))
    assert (
        copied("translate", "runs/toy", "test.en", "-o", "-").lines
        == (copied.folder / "test.out").read_text().splitlines()
    )
    assert not (copied.folder / "-").exists()


@pytest.mark.slow
def test_translate_begins_each_line_with_its_prefix(copied: Shell) -> None:
    lines = (copied.folder / "test.en").read_text().splitlines()
    prefixes = [*["deux un"] * 3, *[""] * (len(lines) - 3)]
    copied.write("begin.fr", "".join(f"{line}\n" for line in prefixes))
    translations = copied("translate", "runs/toy", "test.en", "--prefix", "begin.fr", "--batch-lines=2").lines
    plain = copied("translate", "runs/toy", "test.en").lines
    assert all(line.startswith("deux un") for line in translations[:3])
    assert translations[3:] == plain[3:]
    for count, comparative in ((1, "more"), (-1, "fewer")):
        copied.write("other.fr", "\n" * (len(lines) + count))
        assert comparative in copied.fails(
            "translate", "runs/toy", "test.en", "--prefix", "other.fr", "-o", f"{comparative}.fr"
        )
        assert not list(copied.folder.glob(f"{comparative}.fr"))
    assert "--prefix cannot" in copied.refuses(
        "translate", "runs/toy", "test.en", "--prefix", "begin.fr", "--wait", "2"
    )
    assert "is an input file" in copied.fails(
        "translate", "runs/toy", "test.en", "--prefix", "begin.fr", "-o", "begin.fr"
    )


@pytest.mark.parametrize("options", [(), ("--n-best=2", "--beam=4")])
def test_translate_writes_json_that_has_all_that_the_lines_have(options: tuple[str, ...], trained: Shell) -> None:
    sources = (trained.folder / "test.en").read_text().splitlines()
    records = results(trained("translate", "runs/toy", "test.en", "--json", *options).lines)
    assert [record.translation.source for record in records] == sources
    listed = [
        [*([str(number)] if options else []), one.text, pharaoh(one.alignment)]
        for number, record in enumerate(records)
        for one in record.translation.n_best
    ]
    lines = trained("translate", "runs/toy", "test.en", "--alignments", *options).lines
    assert [line.split(" ||| ")[: 2 + bool(options)] for line in lines] == listed
    for record in records:
        for one in record.translation.n_best:
            assert one.source_words == record.translation.source.split()
            assert one.log_prob == pytest.approx(sum(step.log_prob for step in one.steps), abs=1e-5)
            assert one.log_prob <= one.log_probs.sum() + 1e-9  # the end counts, and is no word
            assert [step.symbol for step in one.steps] == [*one.words, "</s>"]
            assert [step.word for step in one.steps] == [*range(len(one.words)), None]


def test_an_empty_line_is_json_too(trained: Shell) -> None:
    (record,) = results(trained("translate", "runs/toy", "--json", stdin="\n").lines)
    assert (record.translation.text, record.translation.steps, record.translation.log_prob) == ("", (), 0)


@pytest.mark.slow
def test_score_and_align_write_the_same_json(trained: Shell) -> None:
    files = ("runs/toy", "test.en", "test.fr")
    outcome = trained("score", *files, "--json")
    records = results(outcome.lines)
    assert trained("align", *files, "--json").lines == outcome.lines
    columns = [line.split("\t") for line in trained("score", *files).lines]
    for record, (log_prob, symbols) in zip(records, columns, strict=True):
        assert record.translation.log_prob == record.translation.score == pytest.approx(float(log_prob), abs=1e-4)
        assert len(record.translation.steps) == int(symbols)
    assert [pharaoh(record.translation.alignment) for record in records] == trained("align", *files).lines
    assert [record.translation.text for record in records] == (trained.folder / "test.fr").read_text().splitlines()
    assert outcome.err == trained("score", *files).err


def test_translate_lists_the_n_best_as_moses_does(trained: Shell) -> None:
    outcome = trained("translate", "runs/toy", "test.en", "--n-best=2", "--beam=4")
    fields = [line.split(" ||| ") for line in outcome.lines]
    assert [int(number) for number, *_ in fields] == [number for number in range(6) for _ in range(2)]
    for number, _, features, score in fields:
        assert re.fullmatch(r"F0= -\d+\.\d{4}", features), number
        assert re.fullmatch(r"-\d+\.\d{4}", score)
    best = [float(score) for *_, score in fields]
    assert all(first >= second for first, second in zip(best[::2], best[1::2], strict=True))
    aligned = trained("translate", "runs/toy", "test.en", "--n-best=2", "--beam=4", "--alignments").lines[0]
    assert re.fullmatch(r"0 \|\|\| [a-z ]+ \|\|\| (\d-\d ?)* \|\|\| F0= \S+ \|\|\| \S+", aligned)


@pytest.mark.slow
def test_translate_shows_attention_beside_the_text(trained: Shell) -> None:
    outcome = trained("translate", "runs/toy", "--show", stdin="three five\n")
    assert len(outcome.lines) == 1
    assert "three" in outcome.err
    assert all(word in outcome.err for word in outcome.lines[0].split())


@pytest.mark.slow
def test_translate_with_other_weights(trained: Shell) -> None:
    for name in ("model", "model-best", "model-last"):
        assert trained("translate", "runs/toy", "test.en", "--weights", name).code == 0


@pytest.mark.spec("A13")
def test_score_tells_the_log_probability_of_each_pair(trained: Shell) -> None:
    outcome = trained("score", "runs/toy", "test.en", "test.fr", "--per-symbol")
    rows = [line.split("\t") for line in outcome.lines]
    targets = (trained.folder / "test.fr").read_text().splitlines()
    assert [int(symbols) for _, symbols, _ in rows] == [len(target.split()) + 1 for target in targets]
    for total, symbols, mean in rows:
        assert float(total) < 0
        assert float(mean) == pytest.approx(float(total) / int(symbols), abs=1e-4)
    whole = sum(float(row[0]) for row in rows)
    assert f"6 pairs, {sum(int(row[1]) for row in rows)} symbols, log P {whole:.2f}, perplexity" in outcome.err
    assert [len(line.split("\t")) for line in trained("score", "runs/toy", "test.en", "test.fr").lines] == [2] * 6


@pytest.mark.spec("A13")
def test_the_score_of_a_translation_is_that_of_its_search(copied: Shell) -> None:
    lines = copied("translate", "runs/toy", "test.en", "--n-best=1").lines
    copied.write("found.fr", "".join(line.split(" ||| ")[1] + "\n" for line in lines))
    scores = [float(line.split("\t")[0]) for line in copied("score", "runs/toy", "test.en", "found.fr").lines]
    assert scores == pytest.approx([float(line.split(" ||| ")[2].split()[1]) for line in lines], abs=2e-3)


@pytest.mark.slow
@pytest.mark.spec("I2")
def test_align_writes_pharaoh_lines_and_tells_how_good_they_are(copied: Shell) -> None:
    outcome = copied("align", "runs/toy", "test.en", "test.fr")
    sources, targets = ((copied.folder / f"test.{name}").read_text().splitlines() for name in ("en", "fr"))
    for line, source, target in zip(outcome.lines, sources, targets, strict=True):
        links = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert links == sorted(links)
        assert sorted(t for _, t in links) == list(range(len(target.split())))  # one for each target word
        assert all(s < len(source.split()) for s, _ in links)
    copied.write("gold", outcome.out)
    assert copied("align", "runs/toy", "test.en", "test.fr", "--gold=gold").err == (
        "AER = 0.0000 (precision 1.0000, recall 1.0000)\n"
    )
    shifted = re.sub(r"\d+", lambda number: str(int(number[0]) + 1), outcome.out)
    copied.write("talp", shifted.replace("-", "p", 1))
    from_one = copied("align", "runs/toy", "test.en", "test.fr", "--gold=talp", "--one-based")
    assert from_one.err == "AER = 0.0000 (precision 1.0000, recall 1.0000)\n"
    assert copied("align", "runs/toy", "test.en", "test.fr", "--gold=talp").err.startswith("talp: no link has a word 0")
    assert copied("align", "runs/toy", "test.en", "test.fr", "--one-based").code == 2
    message = copied.fails("align", "runs/toy", "test.en", "test.fr", "--gold=gold", "--one-based")
    assert re.match(r"gold:1: '\d+-\d+' has a word 0, but --one-based counts from 1", message)
    everything = copied("align", "runs/toy", "test.en", "test.fr", "--threshold=0.0001", "--gold=gold")
    assert everything.out.count("-") > outcome.out.count("-")
    assert "recall 1.0000" in everything.err


@pytest.mark.spec("H3")
def test_evaluate_scores_a_file_against_references(trained: Shell) -> None:
    reference = (trained.folder / "test.fr").read_bytes()
    outcome = trained("evaluate", "test.fr", "test.fr", stdin=reference)
    assert [line.split(" = ")[0] for line in outcome.lines] == ["BLEU", "chrF2", "TER"]
    assert outcome.lines[0].startswith("BLEU = 100.00 (nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert outcome.lines[2].startswith("TER = 0.00 (nrefs:2|case:mixed|")
    upper = trained("evaluate", "test.fr", "--lowercase", "--tokenize=none", "--metrics=bleu", stdin=reference.upper())
    assert upper.lines[0].startswith("BLEU = 100.00 (nrefs:1|case:lc|eff:no|tok:none|")


@pytest.mark.spec("E4")
def test_evaluate_counts_tokens_or_characters(trained: Shell) -> None:
    trained.write("said", "deux un\n")
    trained.write("wanted", "deux une\n")
    words = ("evaluate", "wanted", "-i", "said", "--metrics", "exact_match,token_error_rate")
    assert [line.split(" (")[0] for line in trained(*words).lines] == ["Exact match = 0.00", "Token error rate = 50.00"]
    *_, last = trained(*words, "--unit", "character").lines
    assert last.startswith("Token error rate = 12.50 (")
    assert "unit:character" in last


@pytest.mark.spec("H4")
@pytest.mark.spec("H5")
def test_evaluate_takes_options_of_metrics(trained: Shell) -> None:
    """Those of one metric, and --lowercase for all that do not ignore case anyway."""
    trained.write("said", "deux un\n")
    trained.write("wanted", "Deux un deux\n")
    words = ("evaluate", "wanted", "-i", "said", "--metrics")
    metrics = "{kind: rouge1, measure: recall},{kind: chrf, word_order: 2},wer"
    recall, chrf, wer = trained(*words, metrics).lines
    assert (recall.split(" (")[0], wer.split(" (")[0]) == ("ROUGE-1 recall = 66.67", "WER = 66.67")
    assert chrf.startswith("chrF2++ = ")
    (line,) = trained(*words, "{kind: bleu, order: 1}", "--lowercase").lines
    assert line.startswith("BLEU-1 = 60.65 (nrefs:1|case:lc|")


def test_evaluate_has_sacrebleus_json(trained: Shell) -> None:
    rows = json.loads(trained("evaluate", "test.fr", "-i", "test.fr", "--metrics=bleu", "--json").out)
    assert rows["name"] == "BLEU"
    assert rows["score"] == 100
    assert rows["tok"] == "13a"
    assert "|tok:13a|" in rows["signature"]
    several = json.loads(trained("evaluate", "test.fr", "-i", "test.fr", "--metrics=chrf,ter", "--json").out)
    assert [score["name"] for score in several] == ["chrF2", "TER"]


@pytest.mark.slow
def test_evaluate_translates_with_a_run(copied: Shell) -> None:
    outcome = copied("evaluate", "--run=runs/toy", "--source=test.en", "test.fr")
    copied("translate", "runs/toy", "test.en", "-o", "found.fr")
    assert outcome.lines[:3] == copied("evaluate", "test.fr", "-i", "found.fr").lines
    assert re.fullmatch(r"Perplexity = \d+\.\d\d \(unit:word\|symbols:10\|inventory:\w{8}\)", outcome.lines[3])
    assert re.fullmatch(r"Accuracy = \d+\.\d\d \(unit:word\|symbols:10\|inventory:\w{8}\)", outcome.lines[4])
    summary = copied("score", "runs/toy", "test.en", "test.fr").err
    assert f"perplexity {outcome.lines[3].split()[2]} a symbol" in summary
    assert len(copied("evaluate", "--run=runs/toy", "--source=test.en", "test.fr", "test.fr").lines) == 3


@pytest.mark.slow
def test_evaluate_translates_in_another_way(copied: Shell) -> None:
    """As `translate` does with the same options, which the signatures tell."""
    words = ("evaluate", "--run=runs/toy", "--source=test.en", "test.fr", "--metrics=bleu")
    drawn = ["--search={kind: sample, temperature: 0.5, seed: 3}"]
    for options in (["--search=greedy"], drawn, ["--beam=5"], ["--engine=int8", "--weights=model-last"]):
        assert copied("translate", "runs/toy", "test.en", "-o", "found.fr", *options).code == 0
        (plain,) = copied("evaluate", "test.fr", "-i", "found.fr", "--metrics=bleu").lines
        outcome = copied(*words, *options)
        assert outcome.code == 0, outcome.err
        named = "".join(f"|{option.removeprefix('--').replace('=', ':', 1)}" for option in options)
        assert outcome.lines[0] == plain.removesuffix(")") + named + ")"
    message = copied.fails(*words, "--search=greedy", "--beam=2")
    assert message == "--beam: greedy search has no beam; omit --beam or --search greedy"
    assert "--engine requires --run" in copied("evaluate", "test.fr", "--engine=int8").err


@pytest.mark.slow
def test_translate_by_minimum_risk(copied: Shell) -> None:
    """One of the samples; `--samples 1` is the sample itself, and a beam takes the place of samples."""
    words = ("translate", "runs/toy", "test.en", "--mbr")
    samples = copied("translate", "runs/toy", "test.en", "--search={kind: sample}").lines
    assert copied(*words, "chrf", "--samples=1").lines == samples
    for options in (["chrf", "--samples=20"], ["{kind: bleu, order: 2}", "--beam=4", "--n-best=2"]):
        outcome = copied(*words, *options)
        assert outcome.code == 0, outcome.err
        assert len(outcome.lines) >= len(samples)
    assert "did you mean 'chrf'" in copied(*words, "chfr").err
    assert copied.refuses("translate", "runs/toy", "test.en", "--samples=5").startswith(
        "usage: --samples requires --mbr"
    )
    message = "minimum Bayes risk: this search gives 4 translations, fewer than 5 (--samples); use a wider beam"
    assert copied.fails(*words, "bleu", "--beam=4", "--samples=5") == message
    assert copied.fails(*words, "bleu", "--samples=2000").endswith("1000 translations, fewer than 2000 (--samples)")


def test_report_is_one_page(copied: Shell) -> None:
    (copied.folder / "runs" / "toy" / "report.html").unlink()
    assert copied("report", "runs/toy").lines == ["runs/toy/report.html"]
    page = (copied.folder / "runs" / "toy" / "report.html").read_text(encoding="utf-8")
    assert "BLEU" in page
    assert "://" not in page.replace("http://www.w3.org/", "")
    assert copied("report", "runs/toy", "-o", "-").out == page
    assert not (copied.folder / "-").exists()


@pytest.mark.slow
def test_report_on_several_runs_and_other_sentences(copied: Shell) -> None:
    pairs = toy.pairs(4, 9)
    copied.write("look.tsv", "".join(f"{source}\t{target}\n" for source, target in pairs))
    copied.write(
        "gold",
        "".join(" ".join(f"{len(s.split()) - 1 - t}-{t}" for t in range(len(s.split()))) + "\n" for s, _ in pairs),
    )
    words = ("report", "runs/toy", "runs/toy", "--sentences=look.tsv", "--gold=gold", "-o", "two.html")
    assert copied(*words).lines == ["two.html"]
    page = (copied.folder / "two.html").read_text(encoding="utf-8")
    card = page[page.index("<h3>AER") :].partition("</article>")[0]
    assert "+0.00" in card
    assert "toy (2)" in card
    copied.write("talp", re.sub(r"\d+", lambda number: str(int(number[0]) + 1), (copied.folder / "gold").read_text()))
    from_one = ("--gold=talp" if word == "--gold=gold" else word for word in words)
    assert copied(*from_one, "--one-based").err == ""
    assert (copied.folder / "two.html").read_text(encoding="utf-8") == page
    assert copied("report", "runs/toy", "--one-based").code == 2
    copied.write("counted.fr", "un deux\n" * 2000)
    assert copied(*words, "--corpus=counted.fr").code == 0
    assert "over 999</th>" in (copied.folder / "two.html").read_text(encoding="utf-8")
    copied.write("look.txt", "one two\n")
    assert copied("report", "runs/toy", "--sentences=look.txt").code == 0
    copied.write("three.tsv", "one two\tdeux un\tun deux\n")
    message = copied.fails("report", "runs/toy", "--sentences=three.tsv")
    assert message.startswith("three.tsv:1: expected en and optionally a reference")


def test_report_tells_of_gold_links_that_seem_to_count_from_1(copied: Shell) -> None:
    copied.write("look.tsv", "one two\tdeux un\n")
    copied.write("gold", "1-1 2-2\n" * 6)
    words = ("report", "runs/toy", "--sentences=look.tsv", "--gold=gold")
    note, error = copied(*words).err.splitlines()
    assert note.startswith("gold: no link has a word 0")
    assert error == copied.fails(*words, "--one-based")  # the same without the note


@pytest.mark.slow
def test_average_is_the_mean_of_weights(copied: Shell) -> None:
    from safetensors.torch import load_file

    run = copied.folder / "runs" / "toy"
    kept = sorted((run / "checkpoints").glob("step-*.safetensors"))
    assert len(kept) == 2
    assert copied("average", "runs/toy", "-o", "runs/toy/mean.safetensors").code == 0
    tensors = [load_file(path) for path in (*kept, run / "mean.safetensors")]
    for name, value in tensors[2].items():
        assert np.allclose(value, (tensors[0][name] + tensors[1][name]) / 2, atol=1e-7)
    for name in ("mean", "mean.safetensors"):
        assert copied("translate", "runs/toy", "test.en", f"--weights={name}").code == 0
    files = [str(path.relative_to(copied.folder)) for path in kept]
    copied("average", "runs/toy", *files, "-o", "same.safetensors")
    copied("average", "runs/toy", "--last=1", "-o", "last.safetensors")
    copied("average", "runs/toy", "--best=1", "-o", "best.safetensors")
    same, last, best = (load_file(copied.folder / f"{name}.safetensors") for name in ("same", "last", "best"))
    assert all(np.array_equal(same[name], value) for name, value in tensors[2].items())
    assert all(np.array_equal(last[name], value) for name, value in tensors[1].items())
    assert all(np.array_equal(best[name], value) for name, value in load_file(run / "model-best.safetensors").items())


def test_info_tells_what_is_in_a_run(trained: Shell) -> None:
    facts = dict(re.split(r"  +", line.strip(), maxsplit=1) for line in trained("info", "runs/toy").lines)
    assert facts["languages"] == "en to fr"
    assert facts["symbols"] == "10 and 10 (word)"
    parts = ("source embedding", "encoder", "bridge", "target embedding", "decoder", "output")
    assert sum(int(facts[part].replace(",", "")) for part in parts) == int(facts["parameters"].replace(",", ""))
    assert facts["training"].startswith("ended: 10 steps")
    assert "model.safetensors" in facts
    assert facts["weights"].startswith("the ")
    assert re.search(r"\|order:2\|sentences:8\|references:\w{8}\)$", facts["development BLEU-2"])
    assert "unit:word|symbols:10|" in facts["development Perplexity"]


def test_info_and_report_tell_the_same_scores_though_a_reference_is_empty(copied: Shell) -> None:
    path = copied.folder / "runs" / "toy" / "validation.jsonl"
    first, *rest = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), "reference": ""}), *rest]) + "\n", encoding="utf-8")
    scores = re.findall(r"development (\S.*?)  +(\S+)", copied("info", "runs/toy").out)
    page = copied("report", "runs/toy", "-o", "-").out
    baselines = [
        f"{name}, {baseline}" for name in ("BLEU-2", "chrF2") for baseline in ("copying en", "nearest neighbor")
    ]
    assert [name for name, _ in scores] == ["data", "BLEU-2", "chrF2", *baselines, "Perplexity", "Accuracy"]
    for _, value in scores[1:]:
        assert re.search(rf">{re.escape(value)}</b>| {re.escape(value)}[,<]", page)
    assert "Sentences</th>" in page  # quality by length


def test_info_alone_tells_about_the_machine(trained: Shell) -> None:
    facts = dict(re.split(r"  +", line, maxsplit=1) for line in trained("info").lines)
    assert {"dragoman", "device", "processor", "kind of processor", "python", "torch"} <= facts.keys()


def test_info_tells_which_kind_of_processor_is_set(trained: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(devices.KIND_VARIABLE, "avx2")
    facts = dict(re.split(r"  +", line, maxsplit=1) for line in trained("info").lines)
    assert facts["kind of processor"] == "avx2, set by DRAGOMAN_PROCESSOR"
    assert (facts["engine int8"], facts["ONNX int8"]) == ("weights of 7 bits", "unsigned weights")
    monkeypatch.setenv(devices.KIND_VARIABLE, "tpu")
    assert trained.fails("info").startswith("DRAGOMAN_PROCESSOR: expected one of ")


def test_debug_config_prints_all_of_it(shell: Shell) -> None:
    outcome = shell("debug", "config", "toy.yaml", "--model.encoder.size=7")
    shell.write("whole.yaml", outcome.out)
    assert shell("debug", "config", "whole.yaml").out == outcome.out
    assert "  encoder:" in outcome.out
    assert "    size: 7\n" in outcome.out
    assert re.search(r"^# With 50,004 and 50,004 tokens .*, [\d,]+ parameters:$", outcome.out, re.MULTILINE)
    assert "# decoder " in outcome.out


def test_debug_data_finds_what_is_odd(shell: Shell) -> None:
    shell.write("train.en", "one two\n\none one\none two\n")
    shell.write("train.fr", "deux un\nsix\nun un\ndeux un\n")
    outcome = shell("debug", "data", "toy.yaml")
    assert "data.train: train\npairs: 4\n" in outcome.out
    assert "source empty: 1 (line 2)" in outcome.out
    assert "pair repeated: 1 (line 4)" in outcome.out
    assert "data.dev: dev\npairs: 8\n" in outcome.out
    assert "also in the training data" not in outcome.out


def test_debug_data_tells_which_development_pairs_are_trained_on(shell: Shell) -> None:
    shell.write("dev.en", "one two\none\nsix\n")
    shell.write("dev.fr", "deux un\nun\nsix\n")
    shell.write("train.en", "one two\none\nfive\n")
    shell.write("train.fr", "deux un\nune\ncinq\n")
    output = shell("debug", "data", "toy.yaml").out
    output, dev = output.split("data.dev: dev\n")
    assert "in the training data" not in output
    assert dev.split("\n\n")[0].splitlines()[-3:] == [
        "pair also in the training data: 1 (line 1)",
        "source in the training data with another target: 1 (line 2)",
        (
            "near-duplicates in the training data: 2 of 3 sources, 66.7 %; "
            "2 of these are equal except for case, numbers, punctuation and placeholders"
        ),
    ]


def test_debug_data_shows_two_of_several_columns(shell: Shell) -> None:
    shell.write("three.tsv", "x\tb\tc\none\tun\t1\n")
    assert "--columns NAME,NAME" in shell.fails("debug", "data", "three.tsv")
    outcome = shell("debug", "data", "three.tsv", "--columns=x,b")
    assert outcome.code == 0, outcome.err
    assert "columns x, b\npairs: 1\n" in outcome.out
    assert shell("debug", "data", "train", "--columns=en,fr").code == 0
    assert shell("debug", "data", "train.en", "train.fr", "--columns=en,fr").code == 2
    assert "toy.yaml is a configuration" in shell("debug", "data", "toy.yaml", "--columns=en,fr").err


@pytest.mark.slow
def test_debug_data_counts_the_words_of_each_side_as_that_side_separates_them(shell: Shell) -> None:
    shell.write("train.en", "one, two\n" * 3)
    shell.write("train.fr", "deux, un\n" * 3)
    for side, counts in (("source", (2, 3)), ("target", (3, 2))):
        out = shell("debug", "data", "toy.yaml", f"--text.{side}.pretokenizer=whitespace").out
        assert re.findall(r"words in a \w+: mean (\d)", out)[:2] == [str(count) for count in counts]


@pytest.mark.slow
def test_debug_data_tells_of_headers_and_of_lines_that_are_too_long(shell: Shell) -> None:
    long = "six " * 50_000
    shell.write("train.csv", f"id,fr,en\n1,un,one\n2,,two\n3,{long[:100_200]},three\n")
    outcome = shell("debug", "data", "toy.yaml", "--data.train=train.csv")
    assert "data.train: train.csv: line 1 is a header and no pair, columns id, fr, en\n" in outcome.out
    assert "pairs: 3\n" in outcome.out
    assert "target empty: 1 (line 3)" in outcome.out
    assert "longer than 50,000 characters, so not checked to its end: 1 (line 4)" in outcome.out
    shell.write("train.tsv", "English\tFrench\none\tun\n")
    outcome = shell("debug", "data", "toy.yaml", "--data.train=train.tsv")
    assert outcome.code == 1
    assert "train.tsv:1: seems to name the columns English, French" in outcome.err


BASELINES = r"without a model: copying en BLEU\S* [\d.]+, chrF2 [\d.]+; nearest neighbor BLEU\S* [\d.]+, chrF2 [\d.]+"
DURATION = (
    r"training: \S+ \w+ per epoch, \S+ \w+ for 2 passes, beside validations"
    r"(?: and \S+ \w+ for translation memory look-ups)?; cpu .*1 thread"
)


@pytest.mark.slow
def test_debug_data_tells_what_needs_no_model_and_how_long_training_takes(shell: Shell) -> None:
    before = sorted(shell.folder.iterdir())
    baselines, duration = shell("debug", "data", "toy.yaml", "--threads=1").lines[-2:]
    assert re.fullmatch(rf"{BASELINES} \(data\.dev: dev\)", baselines)
    assert re.match(DURATION, duration)
    assert sorted(shell.folder.iterdir()) == before
    assert baselines.partition(" (")[0] in shell("train", "toy.yaml", "--training.steps=1").err


@pytest.mark.slow
def test_init_tells_the_same_of_what_it_wrote(shell: Shell) -> None:
    *_, advice, _, baselines, duration, _, _, _ = shell(
        "init", "train.en", "train.fr", "--dev", "dev", "-o", "new.yaml"
    ).err.split("\n")[:-1]
    assert advice.startswith("80 pairs are few")
    assert advice.endswith("(dragoman corpus --installed fr): dragoman train --finetune RUN train.en")
    assert baselines.startswith("without a model: copying en chrF2 ")
    assert re.match(r"training: \S+ \w+ per epoch, \S+ \w+ for 100 passes", duration)


@pytest.mark.slow
def test_init_writes_a_memory_and_as_many_epochs_as_are_asked_for(shell: Shell) -> None:
    words = (
        "train.en",
        "train.fr",
        "--dev",
        "dev",
        "-o",
        "new.yaml",
        "--translation-memory",
        "--threads=1",
        "--epochs",
        "2",
    )
    message = shell("init", *words).err
    assert re.search(rf"(?m)^{DURATION}", message)
    assert "for translation memory look-ups" in message
    assert config_file.load(shell.folder / "new.yaml").data.recalled == ("memory",)
    assert shell("init", *words[:-1], "0").code == 2


def test_what_would_end_a_training_is_told_before_it(shell: Shell, golden: Golden) -> None:
    outcome = shell("debug", "data", "toy.yaml", "--text.source.tokenizer={kind: bpe, vocab_size: 9999}")
    assert outcome.code == 0
    assert outcome.lines[-1].startswith("training would fail: text.source.tokenizer: ")
    golden(outcome.lines[-1])
    assert "model.decoder" in shell("debug", "data", "toy.yaml", "--model.decoder.kind=none").err


@pytest.mark.slow
def test_training_reads_files_of_columns(shell: Shell) -> None:
    lines = zip(*((shell.folder / f"train.{name}").read_text().splitlines() for name in ("en", "fr")), strict=True)
    rows = [{"n": number, "fr": fr, "en": en} for number, (en, fr) in enumerate(lines)]
    shell.write("train.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    shell.write("train.tsv", "fr\ten\tn\n" + "".join(f"{row['fr']}\t{row['en']}\t?\n" for row in rows))
    packed = gzip.compress(("fr,en\r\n" + "".join(f'"{row["fr"]}",{row["en"]}\r\n' for row in rows)).encode())
    shell.write("train.csv.gz", packed)
    words = "--training.steps=1", "--data.train=[train.jsonl, train.tsv, train.csv]", "--data.dev=train.jsonl"
    assert "240 of 240 pairs" in shell("train", "toy.yaml", *words).err
    shell.write("train.jsonl", json.dumps({"fr": "un"}))
    assert shell.fails("train", "toy.yaml", *words, "--run=other") == "train.jsonl: has no en (it has: fr)"


@pytest.mark.slow
def test_init_takes_the_languages_from_a_header(shell: Shell) -> None:
    lines = zip(*((shell.folder / f"train.{name}").read_text().splitlines() for name in ("en", "fr")), strict=True)
    shell.write("all.tsv", "en\tfr\tby\n" + "".join(f"{en}\t{fr}\tme\n" for en, fr in lines))
    done = shell("init", "all.tsv", "-o", "mine.yaml", "--columns", "fr,en")
    assert "all.tsv: line 1 is a header and no pair, columns fr, en\n" in done.err
    data = config_file.load(shell.folder / "mine.yaml").data
    assert (data.source, data.target) == (("fr",), "en")
    assert shell("init", "all.tsv", "-o", "other.yaml", "--columns", "fr").code == 2


@pytest.mark.slow
def test_init_writes_a_configuration_that_trains(shell: Shell) -> None:
    outcome = shell("init", "train.en", "train.fr", "-o", "mine.yaml")
    assert outcome.code == 0, outcome.err
    assert outcome.out == ""
    assert "80 pairs of natural text" in outcome.err
    assert "dragoman train mine.yaml" in outcome.err
    small = ("--training.steps=1", "--model.encoder.size=4", "--model.decoder.size=4", "--device.threads=1")
    assert shell("train", "mine.yaml", *small).code == 0
    assert shell("translate", "runs/en-fr", "test.en").code == 0


def test_demo_is_called_with_its_folder(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    from dragoman import demo

    called: list[Path] = []
    monkeypatch.setattr(demo, "main", called.append)
    assert shell("demo", "here").code == 0
    assert list(map(str, called)) == ["here"]


@pytest.mark.slow
def test_commands_are_processes(trained: Shell) -> None:
    outcome = trained.spawn("translate", "runs/toy", "test.en")
    assert outcome == trained("translate", "runs/toy", "test.en")
    assert trained.spawn("--version").out.startswith("dragoman ")

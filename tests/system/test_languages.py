"""One model for several languages: from a list of pairs to zero-shot translations and what they are worth."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dragoman
from dragoman.data import marks
from dragoman.data.dataset import Dataset
from dragoman.data.vocabulary import EOS
from dragoman.errors import UserError
from dragoman.evaluation import languages
from dragoman.evaluation.languages import wrong_language
from dragoman.run.run import Run
from dragoman.text.mark import Mark
from dragoman.training import checks, session
from dragoman.translation.translator import Translator
from tests import toy
from tests.forms import results
from tests.golden import Golden
from tests.system.conftest import Shell

WORDS = {"pretokenizer": "whitespace", "tokenizer": "word"}
NAMES = ["en-de", "de-en", "en-fr", "fr-en", "en-en", "de-fr"]
TOLD = "en-de, de-en, en-fr, fr-en, en-en; zero-shot de-fr"
UNTRAINED: dict[str, Any] = {"training.epochs": 1}


def options(pairs: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "data": {"pairs": pairs, "temperature": 5},
        "text": {"shared_vocabulary": True, "source": WORDS, "target": WORDS},
    }


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A folder with a run of three languages, which has learned little."""
    folder = tmp_path_factory.mktemp("languages")
    train(folder, toy.languages(folder), folder / "run")
    return Shell(folder)


def train(folder: Path, pairs: list[dict[str, str]], run: Path, changed: dict[str, Any] = UNTRAINED) -> Path:
    settings = {"run": str(run), **options(pairs), **changed}
    texts = {key: toy._yaml(value) for key, value in settings.items()}
    return session.train(checks.load_config(folder / "toy.yaml", texts), quiet=True).path


@pytest.fixture(scope="module")
def translator(shell: Shell) -> Translator:
    return dragoman.load(shell.folder / "run")


@pytest.mark.spec("E1")
@pytest.mark.slow
def test_a_mark_of_the_language_stands_before_every_source(shell: Shell, translator: Translator) -> None:
    run = Run.load(shell.folder / "run")
    assert translator.targets == ("de", "en", "fr")
    assert run.source.vocabulary == run.target.vocabulary
    ids = run.source.vocabulary.ids([Mark(f"<2{name}>") for name in translator.targets])
    assert ids == [4, 5, 6]
    for name, number in zip(translator.targets, ids, strict=True):
        (batch,) = translator.pairs(["one two", ""], ["un", "deux"], to=name)
        assert batch.sources[0].ids[:, 0].tolist() == [number, number]
        assert not set(ids) & set(batch.target.ids.flatten().tolist())
    assert run.source.vocabulary.ids(run.source.text.encode("<2de> one"))[0] not in ids  # a text is only a text


@pytest.mark.slow
@pytest.mark.spec("E1")
def test_translations_to_each_language_and_never_a_mark(translator: Translator) -> None:
    output: Any = translator.model.output
    output.bias.data[4:7] += 50  # it would like to say nothing else
    try:
        by_language = {name: translator.translate(["one two", ""], to=name, n_best=2) for name in translator.targets}
        spoken = list(translator.simultaneous(["one", "two"], to="fr", wait=2))
    finally:
        output.bias.data[4:7] -= 50
    for translations in by_language.values():
        assert not any("<2" in hypothesis.text for hypothesis in translations[0].n_best)
        assert translations[1].text == ""
    assert not any("<2" in word.text for word in spoken)
    scores = {name: translator.score(["one two"], ["zwei"], to=name)[0].log_prob for name in translator.targets}
    assert len(set(scores.values())) == 3


@pytest.mark.spec("E2")
def test_no_symbol_that_only_other_languages_have_is_said(shell: Shell, translator: Translator) -> None:
    run = Run.load(shell.folder / "run")
    ids = run.target.vocabulary.ids
    seen = {name: set((shell.folder / f"train-ab.{name}").read_text("utf-8").split()) for name in translator.targets}
    for name, words in seen.items():
        foreign = set().union(*seen.values()) - words
        expected = ids([Mark(f"<2{hypothesis}>") for hypothesis in translator.targets]) + sorted(ids(sorted(foreign)))
        assert translator.processor.foreign[Mark(f"<2{name}>")] == expected
    liked = ids(["eins", "zwei", "drei"])
    output: Any = translator.model.output
    bias = output.bias.detach().clone()
    output.bias.data[liked] += 50
    output.bias.data[EOS] -= 20  # there are words in a translation
    try:
        for n_best in (1, 2):
            (translation,) = translator.translate(["one two"], to="fr", n_best=n_best)
            assert all(set(hypothesis.text.split()) <= seen["fr"] for hypothesis in translation.n_best)
        spoken = [word.text for word in translator.simultaneous(["one", "two"], to="fr", wait=1)]
        assert spoken
        assert set(spoken) <= seen["fr"]
        (translation,) = translator.translate(["one two"], to="de")
        assert translation.text.split()[0] in ("eins", "zwei", "drei")
        both = dragoman.load([shell.folder / "run", shell.folder / "run"])
        assert both.processor.foreign == translator.processor.foreign
    finally:
        output.bias.data = bias


def test_every_symbol_may_be_said_where_it_is_so_configured(shell: Shell, tmp_path: Path, golden: Golden) -> None:
    config = Run.load(shell.folder / "run").config
    data = config.data.model_copy(update={"filter_target_vocabulary": False})
    assert list(marks.find_foreign_symbols(data, tmp_path).values()) == [[4, 5, 6]] * 3
    with pytest.raises(UserError, match=marks.SPOKEN):
        marks.find_foreign_symbols(config.data, tmp_path)
    (tmp_path / marks.SPOKEN).write_text("de\tcs\n", "utf-8")
    with pytest.raises(UserError) as raised:
        marks.find_foreign_symbols(config.data, tmp_path)
    golden(str(raised.value))


@pytest.mark.spec("E1")
def test_attention_is_between_words_and_what_the_mark_gets_is_no_words(translator: Translator) -> None:
    (translation,) = translator.translate(["one two three"], to="de")
    assert translation.source_words == ["one", "two", "three"]
    assert translation.attention.shape == (len(translation.words), 3)
    (scored,) = translator.score(["one two three"], [translation.text], to="de")
    np.testing.assert_allclose(scored.attention, translation.attention, atol=1e-4)
    np.testing.assert_allclose(translation.sources[0].share, 1, atol=1e-5)
    assert (translation.attention.sum(1) < 1).all()
    (batch,) = translator.pairs(["one two three"], [translation.text], to="de")
    (weights,) = translator.model.score(batch).attention
    np.testing.assert_allclose(weights[0, :-1, 1:4].detach(), translation.attention, atol=1e-4)


def test_the_mark_counts_among_the_symbols_that_are_read(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.translation.source_inputs.LONGEST", 4)
    (translation,) = translator.translate(["one two three four five"], to="de")
    assert (translation.left_out, translation.source_words) == (2, ["one", "two", "three"])
    assert translator.left_out("one two three four five") == 2
    spoken = list(translator.simultaneous("one two three four five".split(), to="de", wait=9))
    assert {word.read for word in spoken} <= {3}


@pytest.mark.slow
def test_the_language_must_be_one_of_the_runs(
    translator: Translator, tmp_path_factory: pytest.TempPathFactory, golden: Golden
) -> None:
    with pytest.raises(UserError) as raised:
        translator.translate(["one"])
    golden(str(raised.value))
    with pytest.raises(UserError) as raised:
        translator.score(["one"], ["jeden"], to="cs")
    golden(str(raised.value))
    plain = dragoman.load(toy.trained(tmp_path_factory.getbasetemp()))
    with pytest.raises(UserError) as raised:
        plain.translate(["one"], to="de")
    golden(str(raised.value))
    assert plain.translate(["one two"], to="fr")[0].text == plain.translate(["one two"])[0].text


@pytest.mark.spec("E2")
def test_every_pair_is_validated_and_those_decide_that_are_trained_on_and_no_copies(shell: Shell) -> None:
    rows = [json.loads(line) for line in (shell.folder / "run" / "metrics.jsonl").read_text("utf-8").splitlines()]
    (row,) = [row for row in rows if "valid/loss" in row]
    for metric in ("loss", "perplexity", "accuracy", "bleu", "chrf"):
        values = [row[f"valid/{name}/{metric}"] for name in NAMES]
        assert row[f"valid/{metric}"] == pytest.approx(np.mean(values[:4]))
    lines = (shell.folder / "run" / "validation.jsonl").read_text("utf-8").splitlines()
    assert [record.pair for record in results(lines)] == [name for name in NAMES for _ in range(8)]
    card = (shell.folder / "run" / "README.md").read_text("utf-8")
    assert f"# {TOLD}" in card
    assert "- BLEU-2 de-fr = " in card
    assert "--to LANGUAGE" in card


@pytest.mark.spec("E2")
@pytest.mark.slow
def test_zero_shot_directions_are_never_trained(shell: Shell, tmp_path: Path) -> None:
    """The run is the same without them."""
    pairs = toy.languages(tmp_path)
    assert Run.load(shell.folder / "run").config.data.language_pairs[-1].train == ()
    weights = [train(tmp_path, chosen, tmp_path / name) for chosen, name in ((pairs, "with"), (pairs[:-1], "without"))]
    one, other = ((folder / "model-last.safetensors").read_bytes() for folder in weights)
    assert one == other


@pytest.mark.slow
def test_commands_take_the_language(shell: Shell) -> None:
    assert (
        shell.fails("translate", "run", "test.en")
        == "expected a target language: this run translates to de, en, fr (--to LANGUAGE)"
    )
    outcome = shell("translate", "run", "test.en", "--to", "de", "--alignments")
    assert outcome.code == 0, outcome.err
    assert outcome.lines != shell("translate", "run", "test.en", "--to", "fr", "--alignments").lines
    assert len(shell("score", "run", "test.en", "test.fr", "--to", "fr").lines) == 30
    assert shell.fails("score", "run", "test.en", "test.fr").startswith("expected a target language")
    assert len(shell("align", "run", "test.en", "test.fr", "--to", "fr").lines) == 30
    assert shell.fails("align", "run", "test.en", "test.fr", "--to", "cs").startswith("this run does not translate to")
    assert shell("translate", "run", "test.en", "--to", "de", "--wait", "2").code == 0
    shell.write("shown.tsv", "one two\tzwei\n")
    assert shell("report", "run", "--sentences", "shown.tsv", "--to", "de", "-o", "page.html").code == 0
    assert shell.fails("report", "run", "--sentences", "shown.tsv").startswith("expected a target language")
    assert shell.refuses("report", "run", "--to", "de").startswith("usage: --to requires --sentences")
    assert shell.fails("shortlist", "run").startswith("run: a shortlist requires")
    assert shell.fails("translate", "run", "test.en", "--to", "de", "--shortlist", "3,3").startswith("run: shortlists")


@pytest.mark.spec("E2")
@pytest.mark.slow
def test_a_pivot_is_two_translations(shell: Shell) -> None:
    between = shell("translate", "run", "test.fr", "--to", "en", "--output", "between")
    assert between.code == 0, between.err
    wanted = shell("translate", "run", "between", "--to", "de")
    assert shell("translate", "run", "test.fr", "--to", "de", "--pivot", "en").lines == wanted.lines
    (shell.folder / "guide.md").write_text("one {name} two https://x.y/z\n", "utf-8")
    through = shell("translate", "run", "guide.md", "--to", "de", "--pivot", "fr")
    assert through.out.count("{name}") == through.out.count("https://x.y/z") == 1
    (line,) = shell(
        "translate", "run", "-", "--to", "de", "--pivot", "fr", "--protect", "numbers", stdin="one 7\n"
    ).lines
    assert line.count("7") == 1
    assert shell.fails("translate", "run", "test.fr", "--to", "de", "--pivot", "cs").startswith("this run does not")
    words = ("translate", "run", "test.fr", "--to", "de", "--pivot", "en")
    assert shell.refuses(*words, "--show").startswith("usage: --pivot cannot be combined with --alignments, --json or")
    assert shell.refuses(*words, "--wait", "1").startswith("usage: --pivot cannot be combined with --wait or")


@pytest.mark.parametrize("option", ["--glossary", "--do-not-translate"])
def test_terms_have_no_place_in_a_pivot(option: str, shell: Shell, golden: Golden) -> None:
    """A glossary is into the target language, and the text in between is in another."""
    shell.write("terms.tsv", "one\tsechs sechs\n")
    golden(shell.refuses("translate", "run", "test.fr", "--to", "de", "--pivot", "en", option, "terms.tsv"))


@pytest.mark.spec("E2")
@pytest.mark.slow
def test_evaluation_tells_the_share_in_another_language(shell: Shell) -> None:
    pytest.importorskip("py3langid")
    words = ("evaluate", "--run", "run", "--source", "test.fr", "--to", "de", "test.de")
    outcome = shell(*words)
    assert outcome.code == 0, outcome.err
    assert outcome.lines[-1].startswith("Wrong language = ")
    assert "(unit:percent|language:de|among:de,en,fr|py3langid:" in outcome.lines[-1]
    output, right = (shell.folder / name for name in ("said.de", "test.de"))
    output.write_text(shell("translate", "run", "test.fr", "--to", "de").out, "utf-8")
    texts, references = (path.read_text("utf-8").splitlines() for path in (output, right))
    score = wrong_language(texts, [references], "de", ["de", "en", "fr"])
    assert outcome.lines[-1] == str(score)
    *_, last = json.loads(shell(*words, "--json").out)
    assert (last["name"], last["language"]) == ("Wrong language", "de")
    assert shell("evaluate", "--input", "test.fr", "--to", "de", "test.de").code == 2


def test_evaluation_says_when_languages_cannot_be_told_apart(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    languages._load_model.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "py3langid.langid", None)
    outcome = shell("evaluate", "--run", "run", "--source", "test.fr", "--to", "de", "test.de")
    assert outcome.code == 0
    assert "wrong language: not measured, py3langid.langid is not installed" in outcome.err
    assert "Wrong language" not in outcome.out


@pytest.mark.slow
def test_commands_that_look_at_such_a_run(shell: Shell) -> None:
    info = shell("info", "run").out
    assert TOLD in info
    assert "development BLEU-2 de-fr" in info
    assert shell("report", "run").code == 0
    page = (shell.folder / "run" / "report.html").read_text("utf-8")
    assert '"pair":"de-fr"' in page
    assert "validation de-fr" in page
    shell.write("gold", "0-0\n")
    assert "is multilingual; add --sentences and --to" in shell.fails("report", "run", "--gold", "gold")
    output = shell("debug", "data", "run/config.yaml").out
    assert f"data.train: {shell.folder / 'train-cd'}, fr and en\n" in output
    assert f"data.dev: {shell.folder / 'dev'}, de and fr\n" in output
    assert output.count("data.train: ") == 5
    assert shell("debug", "config", "run/config.yaml").code == 0
    assert shell.fails("debug", "config", "run/config.yaml", "--data.pairs=[{source: en, target: de}]").endswith(
        "data.pairs.0.dev: required: development files"
    )


def test_what_is_of_one_language_alone(shell: Shell) -> None:
    shell.write("one.en", "one two\n")
    assert "does not support multilingual runs; use translate --to" in shell.fails(
        "augment", "forward", "run", "one.en", "-o", "x"
    )
    assert "post-editing requires one target language" in shell.fails("postedit", "run", "--translation", "one.en")
    message = shell.fails("translate", "run", "--source", "de=one.en", "--to", "fr")
    assert message == "--source de=one.en: this run has one source; pass the file directly, and --to LANGUAGE"


@pytest.mark.slow
def test_training_resumes_to_the_same_weights(shell: Shell, tmp_path: Path) -> None:
    """With subword dropout and a temperature, both of which are functions of the epoch."""
    pairs = toy.languages(tmp_path)
    unit = {"kind": "bpe", "vocab_size": 330, "dropout": 0.2}
    text = {"shared_vocabulary": True, "source": {"tokenizer": unit}, "target": {"tokenizer": unit}}
    whole = train(tmp_path, pairs, tmp_path / "whole", {"text": text, "training.epochs": 3})
    train(tmp_path, pairs, tmp_path / "parts", {"text": text, "training.epochs": 3, "training.steps": 5})
    parts = train(tmp_path, pairs, tmp_path / "parts", {"text": text, "training.epochs": 3})
    one, other = ((folder / "model-last.safetensors").read_bytes() for folder in (whole, parts))
    assert one == other


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"text.shared_vocabulary": False},
            "text.shared_vocabulary: expected true: all languages of data.pairs share one vocabulary",
        ),
        ({"data.source": "en"}, "data.source: conflicts with data.pairs, which sets it for each pair"),
        ({"data.alignments": True}, "data.alignments: cannot be combined with data.pairs"),
        ({"data.edits": "en"}, "data.edits: cannot be combined with data.pairs"),
        ({"data.temperature": 0.5}, "data.temperature: must be at least 1, found 0.5"),
        ({"data.temperature": 1, "data.weights": [1, 2, 3]}, "data.weights: has 3 numbers for 5 pairs with 'train'"),
        ({"data.weights": [1] * 5}, "data.weights: cannot be combined with data.temperature"),
        ({"training.objective": "agreement"}, "training.objective: 'agreement' requires a single pair"),
        ({"training.penalties": "coverage"}, "training.penalties: cannot be combined with data.pairs"),
        ({"training.source_dropout": 0.1}, "training.source_dropout: requires several sources"),
        ({"data.pairs": 3}, "data.pairs: expected a list, each with source, target, train and dev, found 3"),
        ({"data.pairs": [3]}, "data.pairs: expected a list, each with source, target, train and dev, found [3]"),
        ({"data.pairs": []}, "data.source: required: source language"),
    ],
)
def test_what_cannot_work_is_told(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    pairs = toy.languages(tmp_path)
    settings = {**options(pairs), **changed}
    with pytest.raises(UserError) as refused:
        checks.load_config(tmp_path / "toy.yaml", {key: toy._yaml(value) for key, value in settings.items()})
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("number", "changed", "message"),
    [
        (1, {"source": "en", "target": "de"}, "data.pairs.1: en-de is listed twice; 'train' may be a list"),
        (5, {"target": "cs"}, "data.pairs.5.target: no pair with 'train' has the target 'cs'"),
        (1, {"tain": "x"}, "data.pairs.1.tain: unknown key, did you mean 'train'?"),
        (2, {"dev": 3}, "data.pairs.2.dev: expected text, found 3"),
        (
            1,
            {"train": "ab.tsv"},
            "data.pairs.1: ab.tsv is also used by en-de; its first line must name the columns",
        ),
        (1, {"dev": "ab.tsv"}, "data.pairs.1: ab.tsv is also used by en-de; its first line must name the columns"),
    ],
)
def test_what_is_wrong_with_a_pair_is_told_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, changed: dict[str, Any], message: str
) -> None:
    pairs: list[dict[str, Any]] = [*toy.languages(tmp_path)]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ab.tsv").write_text("one\teins\n", "utf-8")
    pairs[0] = {**pairs[0], "train": "ab.tsv"}
    pairs[number] = {**pairs[number], **changed}
    written = toy.CONFIG.replace(
        "data: {source: en, target: fr}\n",
        "data:\n  pairs:\n" + "".join(f"    - {toy._yaml(pair)}\n" for pair in pairs),
    )
    (tmp_path / "toy.yaml").write_text(written.replace("shared_vocabulary: false", "shared_vocabulary: true"), "utf-8")
    with pytest.raises(UserError) as refused:
        checks.load_config(tmp_path / "toy.yaml")
    assert str(refused.value).startswith(f"{tmp_path / 'toy.yaml'}:{6 + number}: {message}")
    assert "\n" not in str(refused.value)


def test_a_table_that_names_its_columns_is_of_both_directions(tmp_path: Path) -> None:
    toy.languages(tmp_path)
    table, rows = tmp_path / "both.tsv", [f"{source}\t{target}" for source, target in toy.pairs(40, 3)]
    table.write_text("\n".join(["en\tfr", *rows]), "utf-8")
    pairs = [
        {"source": source, "target": target, "train": str(table), "dev": str(table)}
        for source, target in (("en", "fr"), ("fr", "en"))
    ]
    settings = {key: toy._yaml(value) for key, value in {**options(pairs), "run": str(tmp_path / "run")}.items()}
    config = checks.load_config(tmp_path / "toy.yaml", settings)
    dataset = Dataset.prepare(config.data, config.text, 1, tmp_path / "run")
    one, other = dataset.development
    assert [(example.sources[0], example.target) for example in other] == [
        (example.target, example.sources[0]) for example in one
    ]
    table.write_text("\n".join(["de\tfr", *rows]), "utf-8")
    with pytest.raises(UserError, match="seems to name the columns de, fr, and has no en"):
        checks.load_config(tmp_path / "toy.yaml", settings)


@pytest.mark.parametrize(
    ("option", "value"), [("temperature", "5"), ("weights", "[1, 3]"), ("filter_target_vocabulary", "false")]
)
def test_what_is_of_several_pairs_is_not_of_one(tmp_path: Path, option: str, value: str, golden: Golden) -> None:
    with pytest.raises(UserError, match=rf"data.{option}:") as raised:
        checks.load_config(toy.corpus(tmp_path) / "toy.yaml", {f"data.{option}": value})
    golden(str(raised.value))


def test_what_is_wrong_with_the_corpora_is_told(tmp_path: Path, golden: Golden) -> None:
    pairs = toy.languages(tmp_path)
    with pytest.raises(UserError) as raised:
        train(tmp_path, pairs[-1:], tmp_path / "run")
    golden(str(raised.value))
    (tmp_path / "blank.en").write_text("\n", "utf-8")
    (tmp_path / "blank.de").write_text("\n", "utf-8")
    blank = str(tmp_path / "blank")
    with pytest.raises(UserError, match=r"blank \(en-de\):") as raised:
        train(tmp_path, [{**pairs[0], "train": blank}, *pairs[1:]], tmp_path / "run")
    golden(str(raised.value))
    (tmp_path / "empty.en").write_text("", "utf-8")
    (tmp_path / "empty.de").write_text("", "utf-8")
    with pytest.raises(UserError, match="empty:") as raised:
        train(tmp_path, [{**pairs[0], "dev": str(tmp_path / "empty")}, *pairs[1:]], tmp_path / "run")
    golden(str(raised.value))

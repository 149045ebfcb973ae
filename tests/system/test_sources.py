"""Several sources from the configuration to translations."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import dragoman
from dragoman.corpus.pharaoh import pharaoh
from dragoman.data.dataset import Dataset
from dragoman.data.language import Language
from dragoman.data.vocabulary import EOS
from dragoman.errors import UserError
from dragoman.run.run import Run
from dragoman.training import session
from dragoman.visualization import heatmap
from tests import toy
from tests.forms import results
from tests.golden import Golden
from tests.system.conftest import Shell

DIGITS = dict(zip(toy.WORDS, "123456", strict=True))
SIZES = {"kind": "rnn", "size": 8}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """English, the same in digits, and French; every fourth sentence has no English, every fifth no digits."""
    folder = toy.corpus(tmp_path_factory.mktemp("corpus"), train=60)
    for part in ("train", "dev"):
        path = folder / f"{part}.en"
        lines = path.read_text("utf-8").splitlines()
        digits = ["" if n % 5 == 4 else " ".join(map(DIGITS.get, line.split())) for n, line in enumerate(lines)]  # type: ignore[arg-type]
        (folder / f"{part}.digits").write_text("".join(f"{line}\n" for line in digits), "utf-8")
        path.write_text("".join(f"{'' if n % 4 == 3 else line}\n" for n, line in enumerate(lines)), "utf-8")
    return folder


@pytest.mark.spec("C14")
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize(
    "combination",
    ["concatenation", "sum", {"kind": "flat", "sentinel": True}, {"kind": "hierarchical", "sentinel": True}],
    ids=lambda value: value if isinstance(value, str) else value["kind"],
)
@pytest.mark.slow
def test_a_model_of_two_sources_is_trained_and_translates(
    corpus: Path, tmp_path: Path, combination: str | dict[str, object], joint: bool
) -> None:
    options = {"data.source": ["en", "digits"], "model.combination": combination, "text.shared_vocabulary": joint}
    folder = session.train(toy.config(corpus, tmp_path / "run", options), quiet=True)
    run = Run.load(folder.path)
    assert [source.name for source in run.sources] == ["en", "digits"]
    assert "# en and digits to fr" in folder.card.read_text("utf-8")
    translator = dragoman.load(folder.path)
    texts = [("one two", "1 2"), ("three", ""), ("", "4 5 6"), ("", "")]
    translations = translator.translate(texts, n_best=2)
    assert [len(translation.n_best) for translation in translations] == [2, 2, 2, 1]
    assert [[source.words for source in translation.sources] for translation in translations[:3]] == [
        [["one", "two"], ["1", "2"]],
        [["three"], []],
        [[], ["4", "5", "6"]],
    ]
    for translation in translations[:3]:
        shapes = [source.attention.shape for source in translation.sources]
        assert shapes == [(len(translation.words), len(source.words)) for source in translation.sources]
        assert (translation.sentinel is not None) == isinstance(combination, dict)
    assert (translations[3].text, translations[3].words) == ("", [])
    alone = translator.translate(texts[1:2])[0]
    assert (alone.text, alone.log_prob) == (translations[1].text, pytest.approx(translations[1].log_prob, abs=1e-4))
    (scored,) = translator.score(texts[:1], [translations[0].text])
    assert scored.log_prob == pytest.approx(translations[0].log_prob, abs=1e-4)
    for one, other in zip(scored.sources, translations[0].sources, strict=True):
        np.testing.assert_allclose(one.attention, other.attention, atol=1e-4)


@pytest.mark.spec("C7")
def test_sources_are_read_as_one_sequence(corpus: Path, tmp_path: Path) -> None:
    """One encoder reads all (Niehues et al. 2016); its attention is that of each source again."""
    options = {
        "data.source": ["en", "digits"],
        "data.concatenate_sources": True,
        "text.shared_vocabulary": True,
        "model.embedding.tie": "all",
    }
    translator = dragoman.load(session.train(toy.config(corpus, tmp_path / "run", options), quiet=True).path)
    assert len(translator.model.source_encoders) == 1
    texts = [("one two", "1 2"), ("three", ""), ("", "4 5 6"), ("", "")]
    translations = translator.translate(texts)
    for item in translations[:3]:
        np.testing.assert_allclose(sum(item.shares.values()), 1, atol=1e-5)
        assert [seen.attention.shape[1] for seen in item.sources] == [len(seen.words) for seen in item.sources]
    assert translations[2].shares["en"].sum() == 0
    alone = translator.translate(texts[2:3])[0]
    assert (alone.text, alone.log_prob) == (translations[2].text, pytest.approx(translations[2].log_prob, abs=1e-4))
    sequence = translator.processor.model_inputs.batch([[["one", "two"], ["1", "2"]], [[], ["4"]], [[], []]])
    ids = Run.load(tmp_path / "run").target.vocabulary.ids(["one", "two", "1", "2", "4"])
    assert [row[mask].tolist() for row, mask in zip(*sequence[0][:2], strict=True)] == [
        [*ids[:2], EOS, *ids[2:4], EOS],
        [ids[4], EOS],
        [EOS],
    ]
    (scored,) = translator.score(texts[:1], [translations[0].text])
    assert scored.log_prob == pytest.approx(translations[0].log_prob, abs=1e-4)
    for one, other in zip(scored.sources, translations[0].sources, strict=True):
        np.testing.assert_allclose(one.attention, other.attention, atol=1e-4)


@pytest.mark.spec("C7")
def test_training_reads_them_so_too(corpus: Path, tmp_path: Path) -> None:
    config = toy.config(
        corpus,
        tmp_path / "run",
        {"data.source": ["en", "digits"], "data.concatenate_sources": True, "text.shared_vocabulary": True},
    )
    data = Dataset.prepare(config.data, config.text, 1, tmp_path / "run", source_dropout=0.0)
    (source,), target = data.offsets
    (sequence,) = data.batch(np.arange(len(target) - 1), 0).sources
    columns = [(corpus / f"train.{name}").read_text("utf-8").splitlines() for name in ("en", "digits")]
    assert isinstance(data.sources[0], Language)
    vocabulary = data.sources[0].vocabulary
    expected = [
        [number for text in texts if text for number in (*vocabulary.ids(text.split()), EOS)]
        for texts in zip(*columns, strict=True)
    ]
    kept = [symbol for symbol in expected if symbol]
    assert [row[mask].tolist() for row, mask in zip(*sequence[:2], strict=True)] == kept
    assert (np.diff(source) >= list(map(len, kept))).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"data.concatenate_sources": True, "text.shared_vocabulary": True},
            "data.concatenate_sources: requires several text sources",
        ),
        (
            {"data.source": ["en", "digits"], "data.concatenate_sources": True},
            "data.concatenate_sources: requires several text sources",
        ),
        ({"data.source": ["en", "en"]}, "data.source.1: 'en' is listed twice"),
        ({"model.combination": "sum"}, "model.combination: 'sum' requires several attended sources, found one"),
        ({"data.source": ["en", "digits"], "training.objective": "agreement"}, "'agreement' requires a single source"),
        ({"data.source": ["en", "digits"], "model.decoder.kind": "self_attention"}, "model.decoder"),
        ({"data.source": ["en", "digits"], "model.bridge": "copy"}, "model.bridge: requires a single source"),
        (
            {"data.source": ["en", "digits"], "model.attention.sentences": "one"},
            "model.attention.sentences: requires text sources",
        ),
        (
            {
                "data.source": ["en", "digits"],
                "model.combination": "flat",
                "model.attention.normalizer": "linear_chain",
            },
            "model.combination: attends to all sources at once: requires",
        ),
        (
            {"model.combination": {"kind": "flat", "sentinel": True}, "model.decoder.kind": "self_attention"},
            "model.decoder",
        ),
        *(
            (
                {
                    "data.source": ["en", "digits"],
                    "model.combination": kind,
                    "model.attention.score": "none",
                    "model.decoder.attend": "after",
                },
                "model.combination: is ",
            )
            for kind in ("sum", "hierarchical", {"kind": "flat", "sentinel": True})
        ),
    ],
)
def test_what_several_sources_cannot_do_is_told(
    corpus: Path, tmp_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(UserError) as refused:
        toy.config(corpus, tmp_path / "run", options)
    assert message in str(refused.value)


@pytest.fixture(scope="module")
def two(corpus: Path) -> Shell:
    """A folder with a run of two sources and a sentinel, and what to translate with it."""
    combination = {"kind": "hierarchical", "sentinel": True}
    options = {"data.source": ["en", "digits"], "model.combination": combination, "training.source_dropout": 0.3}
    session.train(toy.config(corpus, corpus / "run", options), quiet=True)
    shell = Shell(corpus)
    shell.write("test.en", "one two\n\nsix\n")
    shell.write("test.digits", "1 2\n3\n\n")
    shell.write("both.tsv", "one two\t1 2\n\t3\nsix\t\n")
    shell.write("test.fr", "deux un\ntrois\nsix\n")
    return shell


@pytest.mark.slow
def test_the_number_of_texts_must_be_that_of_the_sources(two: Shell) -> None:
    with pytest.raises(TypeError, match=r"1 texts for a model of 2 sources \(en, digits\)"):
        dragoman.load(two.folder / "run").translate(["one"])


@pytest.mark.slow
@pytest.mark.spec("C14")
def test_sources_come_by_name_or_in_columns(two: Shell) -> None:
    named = two("translate", "run", "--source", "en=test.en", "--source", "digits=test.digits")
    assert named.code == 0, named.err
    assert len(named.lines) == 3
    assert two("translate", "run", "both.tsv") == named
    assert two("translate", "run", stdin=(two.folder / "both.tsv").read_bytes()) == named
    alone = two("translate", "run", "--source", "digits=test.digits")
    assert alone.lines[1] == named.lines[1]
    assert alone.lines == two("translate", "run", stdin="\t1 2\n\t3\n\t\n").lines


@pytest.mark.slow
def test_what_is_wrong_with_sources_is_told(two: Shell) -> None:
    assert two.fails("translate", "run", "test.en") == (
        "test.en:1: expected 2 columns separated by tabs (en, digits), found 1"
    )
    assert two.fails("translate", "run", stdin="a\tb\na\n").startswith("<stdin>:2: expected 2 columns")
    assert two.fails("translate", "run", "--source", "fr=test.fr") == (
        "--source fr=test.fr: expected NAME=FILE once for each of en, digits"
    )
    assert two.fails("translate", "run", "--source", "test.fr").startswith("--source test.fr: expected NAME=FILE")
    both = ("--source", "en=test.en", "--source", "digits=test.digits")
    assert two.fails("translate", "run", "test.en", *both) == "test.en: cannot be combined with --source"
    two.write("short", "1\n")
    assert two.fails("translate", "run", *both[:2], "--source", "digits=short") == (
        "test.en has 3 lines, short has 1; all sources must have the same number of lines"
    )
    assert two.fails("translate", "run", "both.tsv", "--shortlist", "3,3").startswith("run: shortlists require")
    assert two.fails("shortlist", "run").startswith("run: a shortlist requires a run with a single text source")
    two.write("gold", "0-0\n" * 3)
    assert two.fails("align", "run", "both.tsv", "test.fr", "--gold", "gold").startswith(
        "--gold requires a run with a single text source"
    )


def test_a_run_of_several_sources_is_not_exported(two: Shell) -> None:
    pytest.importorskip("onnxscript")
    assert two.fails("export", "run", "--onnx").startswith("run: ONNX graphs are of models of one text")


TEXTS = [("one two", "1 2"), ("", "3"), ("six", "")]  # those of both.tsv


def links(translation: dragoman.Translation) -> list[str]:
    return [pharaoh(source.alignment) for source in translation.sources]


@pytest.mark.slow
@pytest.mark.spec("C9")
def test_every_source_is_aligned(two: Shell) -> None:
    """Not the first alone (marian-nmt/marian#257)."""
    translations = dragoman.load(two.folder / "run").translate(TEXTS, n_best=2)
    assert any(len(set(links(translation))) == 2 for translation in translations)
    lines = two("translate", "run", "both.tsv", "--alignments").lines
    assert [line.split(" ||| ") for line in lines] == [
        [translation.text, *links(translation)] for translation in translations
    ]
    listed = two("translate", "run", "both.tsv", "--alignments", "--n-best", "2").lines
    expected = [
        [str(n), hypothesis.text, *links(hypothesis)]
        for n, translation in enumerate(translations)
        for hypothesis in translation.n_best
    ]
    assert [line.split(" ||| ")[:4] for line in listed] == expected
    two.write("said.fr", "".join(f"{translation.text}\n" for translation in translations))
    aligned = two("align", "run", "both.tsv", "said.fr").lines
    assert [line.split(" ||| ") for line in aligned] == [links(translation) for translation in translations]


@pytest.mark.slow
@pytest.mark.spec("C9")
@pytest.mark.parametrize("n_best", [None, 2])
def test_every_source_is_weighed_for_every_hypothesis(two: Shell, n_best: int | None) -> None:
    options = ("--n-best", str(n_best)) if n_best else ()
    read = results(two("translate", "run", "both.tsv", "--json", *options).lines)
    translations = dragoman.load(two.folder / "run").translate(TEXTS, n_best=n_best or 1)
    hypotheses = [hypothesis for best in translations for hypothesis in best.n_best]
    rows = [hypothesis for best in read for hypothesis in best.translation.n_best]
    assert len(hypotheses) == 3 * (n_best or 1)
    for row, hypothesis in zip(rows, hypotheses, strict=True):
        assert row.words == hypothesis.words
        assert list(row.shares) == ["en", "digits", "sentinel"]
        np.testing.assert_allclose(sum(row.shares.values()), 1, atol=1e-5)
        for one, other in zip(row.sources, hypothesis.sources, strict=True):
            assert (one.name, one.words) == (other.name, other.words)
            np.testing.assert_allclose(one.attention, other.attention, atol=1e-4)
            np.testing.assert_allclose(one.share, other.share, atol=1e-4)
            assert (one.attention.sum(1) <= one.share + 1e-5).all()
        np.testing.assert_allclose(row.shares["sentinel"], hypothesis.shares["sentinel"], atol=1e-4)
    assert not any(translations[1].shares["en"])
    assert not any(translations[2].shares["digits"])


@pytest.mark.spec("C9")
def test_the_weights_of_sources_are_drawn_a_row_each_and_a_column_for_each_word(two: Shell) -> None:
    (translation,) = dragoman.load(two.folder / "run").translate(TEXTS[:1])
    figure = ElementTree.fromstring(heatmap.shares(translation.shares, translation.words))
    svg = "{http://www.w3.org/2000/svg}"
    titles = [cell.findtext(f"{svg}title") for cell in figure.findall(f"{svg}g[@class='cells']/{svg}rect")]
    assert titles == [
        f"{word} → {name} {weight:.2f}"
        for name, weights in translation.shares.items()
        for word, weight in zip(translation.words, weights, strict=True)
    ]
    shown = [text.text for text in figure.iter(f"{svg}text")]
    for label in ("en", "digits", "sentinel", *translation.words):
        assert label in shown
    seen = translation.attention_matrix
    assert [seen.columns[number] for number in seen.shares] == ["[en]", "[digits]", "[sentinel]"]
    np.testing.assert_array_equal(seen.attention[:, seen.shares].T, list(translation.shares.values()))
    assert "[digits]" in translation._repr_html_()


@pytest.mark.spec("C9")
def test_the_weights_of_sources_are_shown_in_the_terminal(two: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    shown = two("translate", "run", "both.tsv", "--show").err.splitlines()
    translation = dragoman.load(two.folder / "run").translate(TEXTS)[0]
    columns = ["[en]", "one", "two", "[digits]", "1", "2", "[sentinel]"]
    assert translation.attention_matrix.columns == columns
    assert shown[0].split() == columns
    tenths = [
        [min(9, int(10 * weight + 1e-9)) for weight in row if weight >= 0.05]
        for row in translation.attention_matrix.attention
    ]
    for line, word, numbers in zip(shown[1:], translation.words, tenths, strict=False):
        label, *cells = line.split()
        assert label == word
        assert [int(cell) for cell in cells if cell != "·"] == numbers


@pytest.mark.slow
def test_commands_that_look_at_a_run_of_several_sources(two: Shell) -> None:
    assert two("score", "run", "both.tsv", "test.fr").lines[0].count("\t") == 1
    assert two.fails("score", "run", "test.en", "test.fr").startswith("test.en:1: expected 2 columns")
    assert [line.count("|||") for line in two("align", "run", "both.tsv", "test.fr").lines] == [1, 1, 1]
    one = two("evaluate", "--run", "run", "--source", "both.tsv", "test.fr")
    assert one.code == 0, one.err
    assert one == two("evaluate", "--run", "run", "--source", "en=test.en", "--source", "digits=test.digits", "test.fr")
    info = two("info", "run").out
    assert "en and digits to fr" in info
    assert "hierarchical" in info
    assert two("report", "run").code == 0
    assert '"shares":[0,' in (two.folder / "run" / "report.html").read_text("utf-8")
    two.write("shown.tsv", "one two\t1 2\tdeux un\n")
    assert two("report", "run", "--sentences", "shown.tsv", "-o", "page.html").code == 0
    assert "deux un" in (two.folder / "page.html").read_text("utf-8")
    two.write("shown.tsv", "one two\n")
    assert two.fails("report", "run", "--sentences", "shown.tsv").startswith("shown.tsv:1: expected en, digits and")
    config = (two.folder / "toy.yaml").read_text("utf-8")
    places = "data: {source: [en, digits], target: fr, train: train, dev: dev}"
    two.write("two.yaml", config.replace("data: {source: en, target: fr}", places))
    output = two("debug", "data", "two.yaml").out
    assert "data.train: train, en and fr\n" in output
    assert "data.dev: dev, digits and fr\n" in output
    assert two("debug", "config", "two.yaml").code == 0


@pytest.mark.slow
def test_one_source_with_a_sentinel(corpus: Path, tmp_path: Path) -> None:
    options = {"model.combination": {"kind": "flat", "sentinel": True}, "data.source": "digits"}
    translator = dragoman.load(session.train(toy.config(corpus, tmp_path / "run", options), quiet=True).path)
    (translation,) = translator.translate(["1 2"])
    assert list(translation.shares) == ["digits", "sentinel"]
    assert [*translation.attention_matrix.columns] == ["[digits]", "1", "2", "[sentinel]"]


def test_source_dropout_is_for_several_sources(corpus: Path, tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(UserError, match="source_dropout:") as raised:
        toy.config(corpus, tmp_path / "run", {"training.source_dropout": 0.3})
    golden(str(raised.value))

"""Automatic post-editing, from triplets to a page that shows what was changed."""

import signal
from html import escape
from pathlib import Path

import numpy as np
import pytest

import dragoman
from dragoman.configuration import components
from dragoman.errors import UserError
from dragoman.evaluation.metrics.sacre import Ter
from dragoman.model.decoder.decoder_input import Cursor
from dragoman.run.run import Run
from dragoman.search.table import SEARCHES
from dragoman.text.edits import OPERATIONS
from dragoman.training import session
from dragoman.translation.generator import Task
from dragoman.translation.source_inputs import Encoded
from dragoman.visualization.changes import Change, Revision
from tests import toy
from tests.forms import alike, results
from tests.system.conftest import Shell

pytestmark = pytest.mark.slow  # for the model that they share

OPTIONS = {
    "data.source": ["en", "mt"],
    "data.edits": "mt",
    "text": {
        "shared_vocabulary": True,
        "source": {"pretokenizer": "whitespace", "tokenizer": "word"},
        "target": {"pretokenizer": "whitespace", "tokenizer": "word"},
    },
    "training.epochs": 35,
    "training.patience": None,
    "training.validate_every": 175,
    "training.schedule": {"kind": "cosine", "steps": 525},
    "training.optimizer": {"kind": "adam", "learning_rate": 0.02},
    "model.embedding": {"size": 16, "tie": "languages"},
    "model.encoder": {"kind": "rnn", "size": 16},
    "model.decoder": {"kind": "rnn", "size": 32, "readout": "deep"},
    "training.metric": "ter",
    "metrics": ["bleu", "ter"],
}


def spoiled(line: str, number: int) -> str:
    """What a bad translator makes of it: every third line is right, in others every second word is missing or wrong."""
    words = line.split()
    if number % 3 == 1:
        return " ".join(words[1::2])
    if number % 3 == 2:
        words[::2] = ["<keep>"] * len(words[::2])
    return " ".join(words)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    folder = toy.corpus(tmp_path_factory.mktemp("postedit"), train=240, longest=4)
    toy.write(folder, "test", toy.pairs(40, 5, 4))
    for part in ("train", "dev", "test"):
        lines = (folder / f"{part}.fr").read_text("utf-8").splitlines()
        spoiled_lines = [spoiled(line, number) for number, line in enumerate(lines)]
        (folder / f"{part}.mt").write_text("".join(f"{line}\n" for line in spoiled_lines), "utf-8")
    session.train(toy.config(folder, folder / "run", OPTIONS), quiet=True)
    return Shell(folder)


def lines(shell: Shell, name: str) -> list[str]:
    return (shell.folder / name).read_text("utf-8").splitlines()


@pytest.mark.spec("C13")
def test_post_editing_is_better_than_doing_nothing(shell: Shell) -> None:
    """Words come back that only the source knows, and what was right stays as it was."""
    done = shell("postedit", "run", "--source", "test.en", "--translation", "test.mt", "--output", "test.pe")
    assert done.code == 0, done.err
    before, after, right = lines(shell, "test.mt"), lines(shell, "test.pe"), lines(shell, "test.fr")
    nothing, edited = (Ter().corpus(texts, [right]).value for texts in (before, after))
    assert nothing > 20
    assert edited < 8
    untouched = [new for old, new, line in zip(before, after, right, strict=True) if old == line]
    kept = sum(
        new == line
        for new, line in zip(untouched, [r for b, r in zip(before, right, strict=True) if b == r], strict=True)
    )
    assert kept >= 0.9 * len(untouched)
    changed = sum(old != new for old, new in zip(before, after, strict=True))
    assert done.err == f"{changed} of 40 lines changed\n"


@pytest.mark.spec("C13")
def test_operations_are_no_text(shell: Shell) -> None:
    """`<keep>` in a translation is a word like any other."""
    run = Run.load(shell.folder / "run")
    assert run.target.vocabulary.ids(OPERATIONS) == [4, 5]
    (word,) = run.target.vocabulary.ids(["<keep>"])
    assert word > 5
    done = shell("postedit", "run", "--source", "test.en", "--translation", "test.mt")
    assert done.code == 0, done.err
    assert "<keep>" not in done.out
    translator = dragoman.load(shell.folder / "run")
    assert translator.processor.model_outputs.written([[], ["<keep>", "un"]], list(OPERATIONS[:1]))[0] == [
        "<keep>",
        "un",
    ]


@pytest.mark.spec("C13")
def test_operations_fit_the_sentence_and_attention_is_by_words_of_the_result(shell: Shell) -> None:
    translator = dragoman.load(shell.folder / "run")
    sources = list(zip(lines(shell, "test.en"), lines(shell, "test.mt"), strict=True))
    for translation in translator.translate(sources, n_best=3):
        for hypothesis in translation.n_best:
            assert hypothesis.words == hypothesis.text.split()
            for seen in hypothesis.sources:
                assert seen.attention.shape == (len(hypothesis.words), len(seen.words))
    task = Task(components.build(SEARCHES, translator.search))
    sentences = [translator.processor.sentence(number, source) for number, source in enumerate(sources)]
    searched = translator.generator.hypotheses(task, sentences)
    keep, delete = translator.target.vocabulary.ids(OPERATIONS)
    for (best, *_), (_, before) in zip(searched, sources, strict=True):
        assert sum(symbol in (keep, delete) for symbol in best.symbols) <= len(before.split())
    (scored,) = translator.score(sources[:1], [sources[0][1]])
    assert scored.symbols == len(sources[0][1].split()) + 1  # everything is kept
    assert np.isfinite(scored.log_prob)


@pytest.mark.spec("C13")
def test_no_text_is_twice_in_an_n_best_list(shell: Shell) -> None:
    """Other operations may make the same text: the best of them has it, and another text takes the place."""
    translator = dragoman.load(shell.folder / "run")
    sources = list(zip(lines(shell, "test.en"), lines(shell, "test.mt"), strict=True))
    lists = [[hypothesis.text for hypothesis in best.n_best] for best in translator.translate(sources, n_best=3)]
    assert all(len(set(texts)) == len(texts) for texts in lists)
    task = Task(components.build(SEARCHES, translator.search), 3)
    sentences = [translator.processor.sentence(number, source) for number, source in enumerate(sources)]
    searched = translator.generator.hypotheses(task, sentences)
    missing = 0
    for (_, before), texts, hypotheses in zip(sources, lists, searched, strict=True):
        marked = (translator.target.vocabulary.marked(hypothesis.symbols) for hypothesis in hypotheses)
        encoded_before: list[Encoded] = [[], list(before.split())]
        written = [translator.processor.model_outputs.written(encoded_before, hypothesis)[0] for hypothesis in marked]
        once = list(dict.fromkeys(map(" ".join, written)))
        assert texts[: len(once)] == once
        missing += len(hypotheses) - len(once)
    assert missing > 0
    assert sum(map(len, lists)) > sum(map(len, searched)) - missing


def test_an_ensemble_edits_as_its_runs_do(shell: Shell) -> None:
    run = shell.folder / "run"
    sources = list(zip(lines(shell, "test.en"), lines(shell, "test.mt"), strict=True))[:6]
    alone, together = (dragoman.load(folders).translate(sources) for folders in (run, [run, run]))
    assert [translation.text for translation in together] == [translation.text for translation in alone]
    assert any(translation.text != before for translation, (_, before) in zip(together, sources, strict=True))


@pytest.mark.spec("C13")
def test_what_was_changed_is_shown(shell: Shell) -> None:
    """In the terminal and on the page, line by line."""
    paths = ("--source", "test.en", "--translation", "test.mt")
    done = shell("postedit", "run", *paths, "--show", "--html", "page.html")
    edits = zip(lines(shell, "test.en"), lines(shell, "test.mt"), done.lines, strict=True)
    revisions = [Revision(*revision) for revision in edits]
    marks = {Change.KEPT: ("", ""), Change.DELETED: ("[-", "-]"), Change.INSERTED: ("{+", "+}")}
    tags = {Change.KEPT: ("", ""), Change.DELETED: ("<del>", "</del>"), Change.INSERTED: ("<ins>", "</ins>")}
    expected = [" ".join(text.join(marks[change]) for text, change in revision.words) for revision in revisions]
    assert done.err.splitlines()[:-1] == expected
    assert {change for revision in revisions for _, change in revision.words} == set(Change)
    page = (shell.folder / "page.html").read_text("utf-8")
    for revision in revisions:
        words = " ".join(escape(text).join(tags[change]) for text, change in revision.words)
        assert f'<div class="source" dir="auto">{revision.source}</div>\n<div dir="auto">{words}</div>' in page


@pytest.mark.spec("C13")
def test_edits_are_written_as_json(shell: Shell) -> None:
    files = ("--source", "test.en", "--translation", "test.mt")
    lines = shell("postedit", "run", *files, "--json").lines
    assert [record.translation.text for record in results(lines)] == shell("postedit", "run", *files).lines
    for record in results(lines):
        translation, edits = record.translation, record.json()["edits"]
        assert (record.edited, edits["source"]) == ("mt", "mt")
        before, after = translation.sources[1].text.split(), translation.text.split()
        assert [one["word"] for one in edits["words"] if one["change"] != "inserted"] == before
        assert [one["word"] for one in edits["words"] if one["change"] != "deleted"] == after
        written = [step for step in translation.steps if step.word is not None]
        assert [step.word for step in written] == list(range(len(after)))
        assert all(step.symbol in (after[step.word or 0], "<keep>") for step in written)
        assert {step.symbol for step in translation.steps if step.word is None} <= {"<delete>", "</s>"}


@pytest.mark.spec("C13")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_killed_post_editing_is_continued(options: tuple[str, ...], shell: Shell, tmp_path: Path) -> None:
    """All lines are counted and shown, those of the first time too."""
    files = ("--source", "test.en", "--translation", "test.mt")
    paths: tuple[str | Path, ...] = (*files, "-o", tmp_path / "pe", "--html", tmp_path / "page", *options)
    whole = shell("postedit", "run", *paths)
    outputs = [tmp_path / "pe", tmp_path / "page"]
    expected = [path.read_text("utf-8") for path in outputs]
    for path in outputs:
        path.unlink()
    killed = shell.kill("translation", 2, "postedit", "run", *paths, sign=signal.SIGINT)
    assert killed.code == 130
    assert killed.err.endswith("8 lines are in " + f"{outputs[0]}.partial, from which --resume continues\n")
    clash = shell.fails("postedit", "run", "--source", f"{outputs[0]}.partial", *paths[2:], "--resume")
    assert clash == f"--output {outputs[0]}.partial: is an input file and would be overwritten; name another file"
    other = ("--source", "train.en", *paths[2:])
    message = shell.fails("postedit", "run", *other, "--resume")
    assert message == f"--resume: test.mt:1: is not the line that {outputs[0]}.partial translates"
    resumed = shell("postedit", "run", *paths, "--resume")
    assert resumed == whole
    lines, page = (path.read_text("utf-8") for path in outputs)
    assert alike(lines, expected[0]) if options else lines == expected[0]
    assert page == expected[1]


@pytest.mark.spec("C13")
def test_direct_rewriting_is_the_alternative(shell: Shell) -> None:
    options = {**OPTIONS, "data.edits": None, "training.epochs": 1}
    session.train(toy.config(shell.folder, shell.folder / "rewriting", options), quiet=True)
    done = shell("postedit", "rewriting", "--source", "test.en", "--translation", "test.mt")
    assert done.code == 0, done.err
    assert len(done.lines) == 40


@pytest.mark.spec("C13")
def test_a_run_with_a_cursor_edits_and_is_not_exported(shell: Shell) -> None:
    options = {**OPTIONS, "data.source": "mt", "model.cursor": True, "training.epochs": 1}
    session.train(toy.config(shell.folder, shell.folder / "cursor", options), quiet=True)
    done = shell("postedit", "cursor", "--translation", "test.mt")
    assert done.code == 0, done.err
    assert len(done.lines) == 40
    translator = dragoman.load(shell.folder / "cursor")
    assert isinstance(translator.model.inputs, Cursor)
    pytest.importorskip("onnxscript")
    assert shell.fails("export", "cursor", "--onnx") == "cursor: has a cursor, of which ONNX graphs know nothing"


def test_what_is_missing_or_too_much_is_told(shell: Shell) -> None:
    message = shell.fails("postedit", "run", "--source", "test.en", "--translation", "test.mt", "--html", "-")
    assert message == "--html -: standard output already receives the lines; write them to a file with -o"
    message = shell.fails(
        "postedit", "run", "--source", "test.en", "--translation", "test.mt", "-o", "same", "--html", "./same"
    )
    assert message == "--html same: is already the output file; name another file"
    nowhere = ("-o", "/dev/null", "--html", "/dev/null")
    assert shell("postedit", "run", "--source", "test.en", "--translation", "test.mt", *nowhere).code == 0
    assert shell.fails("postedit", "run", "--translation", "test.mt") == (
        "--source: run also reads the original text (en)"
    )
    shell.write("short.mt", "un\n")
    assert "test.en has 40 lines, short.mt has 1" in shell.fails(
        "postedit", "run", "--source", "test.en", "--translation", "short.mt"
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"data.edits": "xx"}, "data.edits: 'xx' is not in data.source: en, mt"),
        ({"text.shared_vocabulary": False}, "data.edits: requires text.shared_vocabulary: true"),
        ({"text.source.lowercase": True}, "data.edits: requires text.shared_vocabulary: true"),
        ({"training.penalties": "coverage"}, "training.penalties: require attention to a single source"),
        ({"training.objective": "marginal"}, "training.objective: 'marginal' does not support several sources"),
        (
            {"training.objective": "agreement"},
            "'agreement' trains both directions and cannot be combined with data.edits",
        ),
        ({"constraints": "no_unknown"}, "constraints: cannot be combined with data.edits"),
        (
            {"model.cursor": True, "data.edits": None},
            "model.cursor: requires data.edits and data.concatenate_sources: false",
        ),
        (
            {"model.cursor": True, "data.concatenate_sources": True},
            "model.cursor: requires data.edits and data.concatenate_sources: false",
        ),
        (
            {
                "data.source": "mt",
                "model.cursor": True,
                "model.attention.normalizer": "hard",
                "model.decoder.attend": "after",
                "training.objective": "marginal",
            },
            "model.cursor: cannot be combined with training.objective: marginal",
        ),
    ],
)
def test_configurations_that_cannot_work_are_told(
    shell: Shell, tmp_path: Path, changed: dict[str, object], message: str
) -> None:
    with pytest.raises(UserError) as refused:
        toy.config(shell.folder, tmp_path / "run", {**OPTIONS, **changed})
    assert message in str(refused.value)

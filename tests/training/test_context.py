"""Parts know their context: toy parts that ask for it, in a training and in the run that is loaded from it."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import dragoman
from dragoman.configuration.config import Config
from dragoman.data.batch import Batch
from dragoman.data.vocabulary import EOS, SymbolTable
from dragoman.errors import UserError
from dragoman.evaluation.metrics.metric import Score
from dragoman.evaluation.metrics.sacre import Bleu
from dragoman.model import build
from dragoman.model.embedding import EMBEDDINGS, Embedding
from dragoman.model.inputs import model_inputs
from dragoman.model.output.output import Loss, Readout
from dragoman.model.output.softmax import SoftmaxOutput
from dragoman.model.output.table import OUTPUTS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.run.folder import RunFolder
from dragoman.run.run import Run
from dragoman.training import session, trainer
from dragoman.training.objectives.objective import Objective, ObjectiveContext
from dragoman.training.objectives.table import OBJECTIVES
from dragoman.training.objectives.teacher_forcing import TeacherForcing
from dragoman.training.training import Training
from tests import toy
from tests.builders import SYMBOLS, settings, whole

Train = Callable[..., RunFolder]


class Unigram(SoftmaxOutput):  # type: ignore[misc]
    """The softmax beside how often each symbol occurs, one being added to each count."""

    def __init__(self, features_size: int, symbols: SymbolTable, *parts: Any) -> None:
        super().__init__(features_size, symbols, *parts)
        self.counts: Tensor
        self.register_buffer("counts", torch.tensor(symbols.counts), persistent=False)

    def logits(self, features: Tensor) -> Tensor:
        return super().logits(features) + (self.counts + 1.0).log()


class Lengths(Embedding):
    """The length of a symbol's spelling, the same direction for all symbols; marks and specials have none."""

    def __init__(self, symbols: SymbolTable, size: int, dropout: float) -> None:
        super().__init__(len(symbols), size, dropout)
        self.lengths: Tensor
        lengths = [len(spelling) * (number >= symbols.first) for number, spelling in enumerate(symbols.spellings)]
        self.register_buffer("lengths", torch.tensor(lengths), persistent=False)
        self.direction = nn.Parameter(torch.rand(size))

    def vectors(self, symbols: Tensor) -> Tensor:
        return self.lengths[symbols].unsqueeze(-1) * self.direction


class Rewarded(Objective):
    """Each reference counts as much as the metric `metric` finds wrong with the most probable symbols, in per cent."""

    parts = ("reward",)

    def __init__(self, context: ObjectiveContext, *, metric: str = "chrf") -> None:
        super().__init__(context)
        self.target, self.metric = context.target, context.metrics[metric]
        self.seen: list[tuple[str, str, Score]] = []

    def spelled(self, ids: Tensor) -> str:
        symbols = self.target.vocabulary.symbols([int(number) for number in ids if number != EOS])
        return self.target.text.decode(symbols)

    def forward(self, model: Seq2Seq, batch: Batch) -> Loss:
        features, real, total = model(batch).features, batch.target.mask, torch.zeros(())
        for row, ids, mask in zip(features, batch.target.ids, real, strict=True):
            readout = Readout(row[mask])
            loss = model.output.loss(readout, ids[mask]).total
            texts = (self.spelled(model.output.log_probs(readout).argmax(1)), self.spelled(ids[mask]))
            score = self.metric.sentence(texts[0], texts[1:])
            self.seen.append((*texts, score))
            total = total + loss * (1 - score.value / 100)
        return Loss(total, int(real.sum()), (total,))


@pytest.fixture
def train(corpus: Path, tmp_path: Path) -> Train:
    def trained(options: Mapping[str, Any]) -> RunFolder:
        return session.train(toy.config(corpus, tmp_path / "run", {"training.epochs": 1, **options}), quiet=True)

    return trained


def test_an_output_knows_how_often_its_symbols_occur(
    train: Train, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OUTPUTS, "unigram", Unigram)
    run = Run.load(train({"model.output": "unigram"}).path)
    words = Counter((corpus / "train.fr").read_text("utf-8").split())
    output = run.model().output
    assert isinstance(output, Unigram)
    counts = dict(zip(run.target.symbols.spellings, output.counts.tolist(), strict=True))
    assert {word: counts.pop(word) for word in words} == words
    assert counts == {"<unk>": 0, "<pad>": 0, "<s>": 0, "</s>": 60}
    assert dragoman.load(run.folder.path).translate(["one two"])


@pytest.mark.slow
def test_an_embedding_knows_how_its_symbols_are_spelled(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the source alone; the target's table is the output's too."""
    monkeypatch.setitem(EMBEDDINGS, "lengths", Lengths)
    embedding = {"size": 12, "dropout": 0.1, "tie": "output", "source": "lengths"}
    run = Run.load(train({"model.embedding": embedding, "model.decoder.readout_size": 12}).path)
    model = run.model()
    read = model.source_encoders[0].embedding
    assert isinstance(read, Lengths)
    assert model.target_embedding.get_parameter("table") is model.output.get_parameter("weight")
    seen = read(torch.tensor(run.source.vocabulary.ids(["one", "three", "six", "unheard"])))
    for vector, length in zip(seen, (3, 5, 3, 0), strict=True):
        assert torch.equal(vector, length * read.direction)
    one, same, other = dragoman.load(run.folder.path).score(["one two", "six two", "three two"], ["un deux"] * 3)
    assert one.log_prob == pytest.approx(same.log_prob, abs=1e-5)
    assert one.log_prob != pytest.approx(other.log_prob, abs=1e-5)


@pytest.mark.parametrize(
    ("side", "tie"), [("source", "languages"), ("source", "all"), ("target", "output"), ("target", "languages")]
)
def test_only_embeddings_with_a_table_are_tied(side: str, tie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EMBEDDINGS, "lengths", Lengths)
    model = settings(embedding={"tie": tie, side: "lengths"})
    message = (
        f"model.embedding.tie: '{tie}' requires an embedding table, which model.embedding.{side}: lengths has none"
    )
    assert [str(problem) for problem in build.find_problems(whole(model))] == [message]
    with pytest.raises(UserError, match=f"^{message}$"):
        build.build(model, (SYMBOLS,), SYMBOLS)


def test_an_objective_knows_the_target_language_and_the_metrics(
    corpus: Path, tmp_path: Path, assembled: Callable[[Config], Training], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OBJECTIVES, "rewarded", Rewarded)
    options = {
        "training.objective": {"kind": "rewarded", "metric": "bleu"},
        "training.epochs": 1,
        "metrics": [{"kind": "bleu", "order": 2, "tokenize": "none"}, "chrf"],
    }
    training = assembled(toy.config(corpus, tmp_path / "run", options))
    assert isinstance(training.objective, Rewarded)
    trainer.train(training)
    references = (corpus / "train.fr").read_text("utf-8").splitlines()
    assert Counter(reference for _, reference, _ in training.objective.seen) == Counter(references)
    for text, reference, score in training.objective.seen:
        assert set(text.split()) <= {*toy.WORDS.values(), "<pad>", "<s>", "<unk>"}
        assert score == Bleu(order=2, tokenize="none").sentence(text, [reference])


def test_an_objective_knows_the_model_and_makes_one_in_the_other_direction(
    corpus: Path, tmp_path: Path, assembled: Callable[[Config], Training], monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts: list[ObjectiveContext] = []

    class Listening(TeacherForcing):  # type: ignore[misc]
        def __init__(self, context: ObjectiveContext) -> None:
            super().__init__(context)
            contexts.append(context)

    monkeypatch.setitem(OBJECTIVES, "listening", Listening)
    training = assembled(toy.config(corpus, tmp_path / "run", {"training.objective": "listening"}))
    (context,) = contexts
    assert context.model is training.model
    assert (context.sources, context.target) == (training.data.sources, training.data.target)
    other = context.reversed_model()
    sizes = [len(language.vocabulary) for language in (training.data.target, *training.data.sources)]
    assert [
        len(other.source_encoders[0].embedding.get_parameter("table")),
        other.output.get_parameter("bias").numel(),
    ] == sizes


def test_symbols_of_joined_sources_occur_in_all_of_them(tmp_path: Path) -> None:
    """Each ends its sentences."""
    corpus = toy.corpus(tmp_path / "corpus")
    english = (corpus / "train.en").read_text("utf-8")
    for name in ("train", "dev"):
        (corpus / f"{name}.de").write_text((corpus / f"{name}.en").read_text("utf-8"), encoding="utf-8")
    options = {
        "data.source": ["en", "de"],
        "data.concatenate_sources": True,
        "text.shared_vocabulary": True,
        "training.steps": 1,
    }
    run = Run.load(session.train(toy.config(corpus, tmp_path / "run", options), quiet=True).path)
    (joined,) = model_inputs(run.config, run.sources)
    assert isinstance(joined, SymbolTable)
    assert joined.counts[EOS] == 120
    assert joined.counts[joined.spellings.index("one")] == 2 * english.split().count("one")

"""A hybrid of words and characters: what it says of a word is what `<unk>` and its characters have together."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dragoman.configuration.components import Spec, build
from dragoman.data.alphabet import Alphabet
from dragoman.data.batch import Batch, SpelledTokens, TokenBatch
from dragoman.data.vocabulary import SPECIALS, UNK, SymbolTable
from dragoman.deployment.export import unknown_part
from dragoman.errors import UserError
from dragoman.model import build as building
from dragoman.model.decoder.input_feeding import INPUT_FEEDINGS
from dragoman.model.decoder.timing import TIMINGS
from dragoman.model.embedding import EMBEDDINGS
from dragoman.model.output.output import Readout
from dragoman.model.output.spelling import HybridOutput
from dragoman.model.output.table import OUTPUTS
from dragoman.model.predictor import Candidate
from dragoman.model.readout import READOUTS
from dragoman.model.recurrent import CELLS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.beam import Beam
from dragoman.search.greedy import Greedy
from dragoman.search.shortlist import ShortlistPredictor
from dragoman.training.objectives.teacher_forcing import force_targets
from tests.builders import BATCH, SYMBOLS, build_model, noise, part, settings, shaken, whole
from tests.covering import Row, cases, covering
from tests.derivatives import assert_derivative
from tests.golden import Golden

WORDS_SIZE, SIZE = 4, 3
OPTIONS: dict[str, Any] = {"size": SIZE, "characters": 2, "beam": 3}
OUTPUT: dict[str, Any] = {"kind": "hybrid", **OPTIONS}
TABLE = SymbolTable.sized(SYMBOLS)
ALPHABET = Alphabet.of(TABLE)
OWN = ["17", "4", "999"]
TARGETS = torch.tensor([5, SYMBOLS + 1, UNK, SYMBOLS + 2, SYMBOLS, 3])
READ = noise(len(TARGETS), WORDS_SIZE + SIZE, seed=3)
READOUT = Readout(READ, words=ALPHABET.words(OWN))
LAYERS = {"kind": "self_attention", "size": 4, "heads": 2, "layers": 1}


def hybrid(**options: Any) -> HybridOutput:
    torch.manual_seed(0)
    output = build(OUTPUTS, Spec("hybrid", {**OPTIONS, **options}), WORDS_SIZE + SIZE, TABLE, None)
    assert isinstance(output, HybridOutput)
    return shaken(output)


def of_words(output: HybridOutput) -> tuple[Tensor, list[float]]:
    """log P of the targets by the softmax, and of the characters of those that have some."""
    logits = READ[:, :WORDS_SIZE] @ output.words.weight.t() + output.words.bias
    symbols = TARGETS.clone()
    symbols[TARGETS >= SYMBOLS] = UNK
    softmax = torch.log_softmax(logits, 1).gather(1, symbols.unsqueeze(1)).squeeze(1)
    spelled = [0.0] * len(TARGETS)
    for row, target in enumerate(TARGETS.tolist()):
        if target >= SYMBOLS:
            word = ALPHABET.words([OWN[target - SYMBOLS]])
            spelled[row] = output.speller(READ[row : row + 1, WORDS_SIZE:], word).log_probs.item()
    return softmax, spelled


@pytest.mark.spec("D15")
def test_a_word_has_the_probability_of_unk_and_of_its_characters() -> None:
    output = hybrid()
    softmax, spelled = of_words(output)
    scores = output.score_targets(READOUT, TARGETS)
    assert scores.log_probs.tolist() == pytest.approx(
        (softmax + torch.tensor(spelled, dtype=torch.float64)).tolist(), abs=1e-12
    )
    assert sum(score != 0 for score in spelled) == 3
    assert output.loss(READOUT, TARGETS).total.item() == pytest.approx(-scores.log_probs.sum().item())
    assert output.loss(READOUT, TARGETS).symbols == len(TARGETS)


@pytest.mark.spec("D15")
def test_training_weighs_characters() -> None:
    output = hybrid(alpha=0.3, label_smoothing=0.1)
    softmax, spelled = of_words(output)
    smooth = output.words.loss(Readout(READ[:, :WORDS_SIZE]), TARGETS.where(TARGETS < SYMBOLS, UNK)).total
    assert smooth.item() != pytest.approx(-softmax.sum().item())
    assert output.loss(READOUT, TARGETS).total.item() == pytest.approx(smooth.item() - 0.3 * sum(spelled))


def test_gradients_are_derivatives() -> None:
    output, features = hybrid(alpha=0.7), READ.clone().requires_grad_()
    assert_derivative(
        lambda: output.loss(READOUT._replace(features=features), TARGETS).total, [*output.parameters(), features]
    )


def test_without_words_to_spell_it_is_the_softmax() -> None:
    output, readout, targets = hybrid(), Readout(READ), torch.tensor([5, UNK, 3, 4, 8, 7])
    words = Readout(READ[:, :WORDS_SIZE])
    assert torch.equal(output.log_probs(readout), output.words.log_probs(words))
    assert torch.equal(output.loss(readout, targets).total, output.words.loss(words, targets).total)
    assert torch.equal(
        output.score_targets(READOUT, targets).log_probs, output.words.score_targets(words, targets).log_probs
    )


def test_candidates_for_unk_are_spelled_in_place() -> None:
    output = hybrid()
    kept = output.predict(Readout(READ)).kept
    first = [Candidate(1, 5, -0.1, -1.0), Candidate(0, UNK, -0.5, -1.1), Candidate(1, UNK, -0.2, -9.0)]
    second = [Candidate(2, UNK, -0.3, -0.3, "known"), Candidate(3, 4, -1.0, -2.0), Candidate(3, UNK, -1.0, -1e999)]
    one, other = (list(candidate) for candidate in output.spell_unknown([iter(first), iter(second)], kept))
    assert other == second
    assert [candidate.total for candidate in one] == sorted((candidate.total for candidate in one), reverse=True)
    assert len(one) == 1 + 3 + 3
    assert one[0] == first[0]
    for row, before in ((0, first[1]), (1, first[2])):
        (spellings,) = output.speller.spell(kept[row : row + 1], 3)
        candidates = [candidate for candidate in one if candidate.row == row and candidate.symbol == UNK]
        assert [candidate.surface for candidate in candidates] == [candidate.word for candidate in spellings]
        for candidate, spelling in zip(candidates, spellings, strict=True):
            assert candidate.log_prob == pytest.approx(before.log_prob + spelling.log_prob)
            assert candidate.total == pytest.approx(before.total + spelling.log_prob)
    assert output.spell_unknown([iter(first[:1])], kept) == [first[:1]]


def spelled_batch() -> Batch:
    """Targets of which two words have characters."""
    ids = BATCH.target.ids.clone()
    ids[0, 1], ids[1, 2] = SYMBOLS + 2, SYMBOLS
    unknown = BATCH.target.ids.where(ids < SYMBOLS, UNK)
    return BATCH._replace(target=BATCH.target._replace(ids=unknown, spelled=SpelledTokens(ids, ALPHABET.words(OWN))))


def models() -> Iterator[tuple[str, Seq2Seq]]:
    for feed in ("none", "context", "attentional"):
        yield feed, build_model(output=OUTPUT, decoder={"input_feeding": feed})
    yield "concat", build_model(output=OUTPUT, decoder={"readout": "concat"})
    yield "deep", build_model(output=OUTPUT, decoder={"readout": "deep", "attend": "between"})
    yield "layers", build_model(output=OUTPUT, encoder=LAYERS, decoder=LAYERS, bridge="none")


MODELS = dict(models())
each_model = pytest.mark.parametrize("name", MODELS)


@pytest.mark.spec("D15")
@each_model
def test_the_second_readout_has_weights_of_its_own(name: str) -> None:
    """What begins the characters is `tanh(W' [h_t; c_t] + b')`; `W'` does nothing else."""
    model, batch = MODELS[name], spelled_batch()
    state, real = model.begin(batch.sources), batch.target.mask
    unrolled = model.unroll(state, batch.target.ids)
    words, starts = unrolled.features.split([model.decoder.features_size - SIZE, SIZE], -1)
    named = list(model.decoder.named_parameters())
    second_readout, of_words = (
        [parameter for name, parameter in named if name.startswith(which)] for which in ("second_readout.", "features.")
    )

    def moves(values: Tensor, parameters: list[nn.Parameter]) -> list[bool]:
        """Which of the parameters the values depend on."""
        if not parameters:
            return []
        gradients = torch.autograd.grad(values.sum(), parameters, allow_unused=True, retain_graph=True)
        return [gradient is not None and bool(gradient.any()) for gradient in gradients]

    assert second_readout
    assert all(moves(starts, second_readout))
    assert not any(moves(words, second_readout))
    fed = name == "attentional"  # the attentional vector is in the next step's state, as ever
    assert moves(starts, of_words) == [fed] * len(of_words)
    plain = model.output.loss(model.readouts(unrolled, batch, state), batch.target.labels[real])
    torch.testing.assert_close(plain.total, -model.score(batch).log_probs.sum())


def test_the_second_readout_is_what_the_paper_says() -> None:
    model, batch = MODELS["concat"], spelled_batch()
    features = model(batch).features
    context_and_state, starts = features[..., :-SIZE], features[..., -SIZE:]
    mix = model.decoder.second_readout.mix if model.decoder.second_readout else nn.Identity()
    assert isinstance(mix, nn.Linear)
    torch.testing.assert_close(starts, torch.tanh(context_and_state @ mix.weight.t() + mix.bias))


@pytest.mark.slow
@pytest.mark.spec("D15")
@each_model
def test_searches_spell_and_are_scored_the_same(name: str) -> None:
    """Whatever is found has, with the sentence alone and in its batch, the probability that the model gives it."""
    model = MODELS[name]
    assert isinstance(model.output, HybridOutput)
    with torch.no_grad():
        model.output.words.bias[UNK] += 4.0
    spelled = 0
    shortlist = ShortlistPredictor(model, torch.ones(3, SYMBOLS, dtype=torch.bool))
    for search, predictor in ((Greedy(length_margin=3), shortlist), (Beam(size=3, length_margin=3), model)):
        for source, (best, *_) in enumerate(search(predictor, BATCH.sources)):
            words = [word for word in best.surfaces if word is not None]
            spelled += len(words)
            assert [symbol == UNK for symbol in best.symbols] == [word is not None for word in best.surfaces]
            scored = model.score(make_batch(source, best.symbols, words)).log_probs[0]
            assert scored.tolist() == pytest.approx(list(best.log_probs), abs=1e-6)
    assert spelled > 5
    with torch.no_grad():
        model.output.words.bias[UNK] -= 4.0


PARTS = {
    "score": ["additive", "none"],
    "cell": list(CELLS),
    "attend": list(TIMINGS),
    "input_feeding": list(INPUT_FEEDINGS),
    "readout": list(READOUTS),
    "embedding": list(EMBEDDINGS),
}
SMALL: dict[str, dict[str, Any]] = {"character_cnn": {"widths": [1, 2], "filters": 1}}
IMPOSSIBLE = [
    {"score": "none", "attend": "before"},
    {"score": "none", "attend": "between"},
    {"score": "none", "input_feeding": "context"},
    {"input_feeding": "attentional", "readout": "concat"},
]


def possible(parts: Row) -> bool:
    return not any(pair.items() <= parts.items() for pair in IMPOSSIBLE)


@pytest.mark.parametrize("parts", cases(covering(PARTS, possible)))
def test_every_two_parts_train_together(parts: dict[str, str]) -> None:
    """With every embedding of the source, in which one word has no vector."""
    rest = dict(parts)
    score, embedding = rest.pop("score"), rest.pop("embedding")
    options: dict[str, Any] = {
        "encoder": {"cell": parts["cell"]},
        "decoder": rest,
        "embedding": {"source": {"kind": embedding, **SMALL.get(embedding, {})}},
    }
    model, batch = build_model(score=score, output=OUTPUT, **options).train(), spelled_batch()
    (source,) = batch.sources
    assert isinstance(source, TokenBatch)
    ids = source.ids.masked_fill(source.ids == 7, SYMBOLS + 1)
    batch = batch._replace(sources=(source._replace(spelled=SpelledTokens(ids, ALPHABET.words(OWN))),))
    parameters, losses = list(model.parameters()), []
    for _ in range(3):
        loss = force_targets(model, batch).loss.total
        losses.append(loss.item())
        with torch.no_grad():
            for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
                parameter.sub_(0.002 * gradient)
    assert losses[2] < losses[1] < losses[0]


def make_batch(source: int, symbols: tuple[int, ...], words: list[str]) -> Batch:
    """A sentence of BATCH with a target of these symbols, in which these words are spelled."""
    own = iter(range(len(words)))
    numbers = [SYMBOLS + next(own) if symbol == UNK else symbol for symbol in symbols]
    ids = torch.tensor([[*symbols, 3]])
    target = BATCH.target._replace(
        ids=ids,
        mask=torch.ones_like(ids, dtype=torch.bool),
        spelled=SpelledTokens(torch.tensor([[*numbers, 3]]), ALPHABET.words(words)),
    )
    (read,) = BATCH.sources
    length = int(read.mask[source].sum())
    return Batch((part(read, (slice(source, source + 1), slice(length))),), target, BATCH.rows[:1])


def test_alphabets_have_the_digits_of_a_placeholder() -> None:
    assert len(ALPHABET) == len(SPECIALS) + 10


def test_what_cannot_spell_is_told(golden: Golden) -> None:
    chained = settings(output=OUTPUT, normalizer={"kind": "hard", "order": 1})
    golden("; ".join(str(problem) for problem in building.find_problems(whole(chained))))
    with pytest.raises(UserError):
        building.build(chained, (SYMBOLS,), SYMBOLS)
    assert unknown_part(MODELS["none"]) == "the output HybridOutput"

"""Outputs that copy: their equations by plain loops, and all that a model with one of them has to do."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dragoman.data.batch import Batch, FeatureBatch, TokenBatch
from dragoman.data.lexicon import Lexicon
from dragoman.data.vocabulary import EOS, PAD, UNK, SymbolTable
from dragoman.deployment.export import unknown_part
from dragoman.errors import UserError
from dragoman.model import build
from dragoman.model.attention.normalizers import NORMALIZERS
from dragoman.model.attention.scores import SCORES
from dragoman.model.attention.windows import WINDOWS
from dragoman.model.decoder.rnn_decoder import RnnDecoder
from dragoman.model.decoder.timing import TIMINGS
from dragoman.model.inputs import Regions
from dragoman.model.memory import Memory
from dragoman.model.output.copying import Copying, Pointer, PointerGenerator
from dragoman.model.output.output import Readout
from dragoman.model.output.table import OUTPUTS
from dragoman.model.readout import READOUTS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.beam import Beam
from dragoman.search.ensemble import Ensemble
from dragoman.search.greedy import Greedy
from dragoman.search.search import Search
from dragoman.search.shortlist import Shortlist, ShortlistPredictor
from dragoman.training.objectives.teacher_forcing import force_targets
from tests.builders import SYMBOLS, build_model, noise, sentences, settings, shaken
from tests.covering import cases, covering
from tests.derivatives import assert_derivative

pytestmark = pytest.mark.spec("D5")

# The words of each source as symbols of the target: 9 and 10 are local to their sentence. A word is known and repeated.
WORDS = [[4, 9, 5, 4], [9, 10], [8]]
TARGETS = [[9, 5, 4], [10, 9, 9], [8, 4]]
FEATURES_SIZE = 5
KINDS = ["pointer", "pointer_generator"]
each_kind = pytest.mark.parametrize("kind", KINDS)
searches = pytest.mark.parametrize("search", [Greedy(), Beam(size=4)], ids=["greedy", "beam"])


def read(*rows: list[int], width: int = 0) -> TokenBatch:
    """Sentences of which the vocabulary has some words, as a batch has them."""
    whole = sentences(*rows, width=width)
    ids = whole.ids.where(whole.ids < SYMBOLS, UNK)
    return TokenBatch(ids, whole.mask, whole.ids)


BATCH = Batch((read(*WORDS),), read(*TARGETS), np.arange(3))


def copying(kind: str = "pointer_generator", generate: float = 0.0, **options: Any) -> Seq2Seq:
    """A model with such an output, which generates so much more readily."""
    output = {"kind": kind, **options.pop("output", {})}
    model = build_model(output=output, **options)
    last = "output.vector.bias" if kind == "pointer" else "output.gate.bias"
    nn.init.constant_(model.get_parameter(last), generate)
    return model


def of_model(model: Seq2Seq) -> Copying:
    assert isinstance(model.output, Copying)
    return model.output


def generated(output: Copying, features: Tensor) -> float:
    """g of a step, by the equation of its paper."""
    if isinstance(output, PointerGenerator):
        odds = features @ output.gate.weight[0] + output.gate.bias[0]
    else:
        assert isinstance(output, Pointer)
        hidden = torch.tanh(output.hidden.weight @ features + output.hidden.bias)
        odds = hidden @ output.vector.weight[0] + output.vector.bias[0]
    return 1 / (1 + math.exp(-odds.item()))


def looped(output: Copying, features: Tensor, seen: list[tuple[int | None, float]], width: int) -> list[float]:
    """p of every symbol, from the features of a step and the symbol at each position, None where there is no word, with
    its weight.
    """
    chances = [0.0] * width
    logits = [(features @ w + b).item() for w, b in zip(output.shortlist.weight, output.shortlist.bias, strict=True)]
    norm = sum(math.exp(z) for z in logits)
    words = [(symbol, weight) for symbol, weight in seen if symbol is not None]
    total = sum(weight for _, weight in words)
    switch = generated(output, features) if total else 1.0
    for symbol, logit in enumerate(logits):
        chances[symbol] += switch * math.exp(logit) / norm
    for symbol, weight in words:
        chances[symbol] += (1 - switch) * weight / total if total else 0.0
    return chances


def word(symbol: int) -> int | None:
    return symbol if symbol > EOS else None


class Case:
    """An output alone, with three sentences of two texts, numbers between them, and a sentinel: the second sentence has
    no first source, the third one none at all.
    """

    def __init__(self, kind: str, sums: float = 1.0, first: int = EOS + 1, **options: Any) -> None:
        self.texts = [[[4, 9, 5, 4, 9], [], []], [[10, 4], [9, 11, 4, 8], []]]
        symbols = SymbolTable((*"abcdefghi",), (1,) * SYMBOLS, first)
        torch.manual_seed(0)
        self.output = OUTPUTS[kind](FEATURES_SIZE, symbols, **options)
        shaken(self.output, 0, 1.0).eval()
        sides = [self.text(rows) for rows in self.texts]
        self.memories = (sides[0], Memory(noise(3, 2, 3), torch.ones(3, 2, dtype=torch.bool)), sides[1])
        self.sentences = torch.tensor([0, 0, 0, 1, 1, 2, 2])
        self.features = noise(7, FEATURES_SIZE, seed=1).requires_grad_()
        widths = [memory.mask.size(1) for memory in self.memories]
        there = torch.cat([*(memory.mask for memory in self.memories), torch.ones(3, 1, dtype=torch.bool)], 1)
        self.energies = noise(7, sum(widths) + 1, seed=2).requires_grad_()
        weights = torch.softmax(self.energies.masked_fill(~there[self.sentences], -math.inf), 1) * sums
        self.readout = Readout(
            self.features, weights.split([*widths, 1], 1), self.sentences, self.output.prepare(self.memories)
        )
        self.width = SYMBOLS + 3

    def text(self, rows: list[list[int]]) -> Memory:
        source = read(*rows, width=6)
        mask = source.mask & torch.tensor([bool(row) for row in rows]).unsqueeze(1)  # a missing source is all padding
        return Memory(torch.zeros(*mask.shape, 3, dtype=torch.float64), mask, (), source.ids, source.extended)

    def expected(self, first: int = EOS + 1) -> Tensor:
        assert isinstance(self.output, Copying)
        rows = []
        for row, sentence in enumerate(self.sentences.tolist()):
            seen: list[tuple[int | None, float]] = []
            for memory, weights in zip((*self.memories, None), self.readout.attention, strict=True):
                symbols = [PAD] * weights.size(1)
                if memory is not None and memory.extended is not None:
                    symbols = memory.extended[sentence].tolist()
                words = (symbol if symbol >= first else None for symbol in symbols)
                seen += zip(words, weights[row].tolist(), strict=True)
            rows.append(looped(self.output, self.features[row], seen, self.width))
        return torch.tensor(rows, dtype=torch.float64)


@each_kind
@pytest.mark.parametrize("sums", [1.0, 0.6, 2.0])  # a Gaussian window, several sources each with its own attention
@pytest.mark.parametrize("first", [4, 6])  # with two marks
def test_probabilities_are_those_of_plain_loops_and_add_up_to_one(kind: str, sums: float, first: int) -> None:
    case = Case(kind, sums, first)
    probabilities, expected = case.output.log_probs(case.readout).exp(), case.expected(first)
    torch.testing.assert_close(probabilities.sum(1), torch.ones(7, dtype=torch.float64), rtol=0, atol=1e-12)
    torch.testing.assert_close(probabilities, expected, rtol=1e-12, atol=1e-15)
    alone = case.output.log_probs(case.readout.rows(slice(5, 7))).exp()
    torch.testing.assert_close(alone[:, SYMBOLS:], torch.zeros_like(alone[:, SYMBOLS:]))  # a sentence without a source


@each_kind
@pytest.mark.parametrize("sums", [1.0, 2.0])
def test_the_loss_is_that_of_the_probabilities(kind: str, sums: float) -> None:
    """With its gradients, for words that are known, copied, both, or of another sentence."""
    case, targets = Case(kind, sums), torch.tensor([4, 9, 7, 9, UNK, 8, EOS])
    leaves = [*case.output.parameters(), case.features, case.energies]
    for training in (False, True):
        loss = case.output.train(training).loss(case.readout, targets)
        plain = -case.output.log_probs(case.readout).gather(1, targets.unsqueeze(1)).sum()
        assert loss.symbols == 7
        torch.testing.assert_close(loss.total, plain, rtol=0, atol=1e-11)
        gradients = (torch.autograd.grad(total, leaves, retain_graph=True) for total in (loss.total, plain))
        for gradient, wanted in zip(*gradients, strict=True):
            torch.testing.assert_close(gradient, wanted, rtol=0, atol=1e-11)
    scored = case.output.score_targets(case.readout, targets)
    torch.testing.assert_close(-scored.log_probs.sum(), loss.total)


def test_gradients_are_derivatives_even_of_words_that_are_repeated() -> None:
    features, energies = noise(7, FEATURES_SIZE, seed=1), noise(7, 15, seed=2)
    case = Case("pointer_generator")
    weighted = noise(7, case.width, seed=3)

    def function(features: Tensor, energies: Tensor) -> Tensor:
        widths = [weights.size(1) for weights in case.readout.attention]
        readout = case.readout._replace(features=features, attention=energies.softmax(1).split(widths, 1))
        # the third sentence has no words, so that those of others are -inf
        return (case.output.log_probs(readout)[:5, :SYMBOLS] * weighted[:5, :SYMBOLS]).sum()

    assert torch.autograd.gradcheck(function, (features.requires_grad_(), energies.requires_grad_()))


def test_label_smoothing_is_of_what_is_generated() -> None:
    """`-(1 - e) log p(y) - e / V sum_v log p_shortlist(v)`; in evaluation there is none."""
    case, targets = Case("pointer", label_smoothing=0.3), torch.tensor([4, 9, 7, 9, UNK, 8, EOS])
    leaves = [*case.output.parameters(), case.features, case.energies]
    assert isinstance(case.output, Copying)
    plain = -case.output.log_probs(case.readout).gather(1, targets.unsqueeze(1)).sum()
    torch.testing.assert_close(case.output.loss(case.readout, targets).total, plain)
    shortlist = torch.log_softmax(case.features @ case.output.shortlist.weight.T + case.output.shortlist.bias, 1)
    smoothed = 0.7 * plain - 0.3 / SYMBOLS * shortlist.sum()
    total = case.output.train().loss(case.readout, targets).total
    torch.testing.assert_close(total, smoothed)
    gradients = (torch.autograd.grad(loss, leaves, retain_graph=True) for loss in (total, smoothed))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_a_switch_that_is_taught_generates_what_the_vocabulary_has() -> None:
    """`- log z p_shortlist(y)` of its words, `- log (1 - z) l(y)` of those that only the sentence has."""
    case, targets = Case("pointer", supervised=True), torch.tensor([4, 9, 7, 9, UNK, 8, EOS])
    output = case.output
    assert isinstance(output, Pointer)
    marginal = output.loss(case.readout, targets).total
    expected = 0.0
    mixture, shortlist = output.mixture(case.readout), output.shortlist.log_probs(case.readout)
    for row, target in enumerate(targets.tolist()):
        if target < SYMBOLS:
            expected -= (mixture.generated[row] + shortlist[row, target]).item()
        else:
            expected -= math.log(mixture.copied[row][mixture.symbols[row] == target].sum().item())
    total = output.train().loss(case.readout, targets).total
    assert total.item() == pytest.approx(expected)
    assert total.item() > marginal.item() + 0.1  # 4 and 8 can be copied, too
    assert_derivative(
        lambda: output.loss(case.readout._replace(features=case.features), targets).total, [case.features]
    )


def test_a_word_that_nothing_gives_a_chance_has_a_finite_loss() -> None:
    case = Case("pointer_generator")
    unseen = torch.tensor([11, 4, 4, 4, 4, 11, 4])
    attention = tuple(part.detach().clone() for part in case.readout.attention)
    attention[2][0, :] = 0.0
    loss = case.output.train().loss(case.readout._replace(attention=attention), unseen).total
    gradients = torch.autograd.grad(loss, [case.features, *case.output.parameters()])
    assert math.isfinite(loss.item())
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_the_vocabulary_keeps_its_precision_beside_what_is_copied() -> None:
    """A symbol that is as good as impossible is not as probable as the smallest number."""
    case = Case("pointer_generator")
    assert isinstance(case.output, Copying)
    nn.init.constant_(case.output.shortlist.bias[7:8], -2000.0)
    targets = torch.full((7,), 7)
    assert case.output.log_probs(case.readout)[:, 7].amax() < -1900
    assert case.output.loss(case.readout, targets).total.item() > 7 * 1900


def test_in_bfloat16_probabilities_add_up_to_one_in_float32() -> None:
    case = Case("pointer")
    readout = Readout(
        case.features.float(), tuple(weights.float() for weights in case.readout.attention), *case.readout[2:]
    )
    with torch.autocast("cpu", torch.bfloat16):
        log_probs = case.output.float().log_probs(readout)
        loss = case.output.loss(readout, torch.tensor([4, 9, 7, 9, UNK, 8, EOS])).total
    assert log_probs.dtype is loss.dtype is torch.float32
    torch.testing.assert_close(log_probs.exp().sum(1), torch.ones(7), rtol=0, atol=1e-5)


DECODERS: list[dict[str, Any]] = [{"attend": "between"}, {"attend": "after"}, {"attend": "before", "layers": 2}]


def step_by_step(model: Seq2Seq, row: int) -> list[Tensor]:
    """The probabilities of every symbol before each word of a reference, by plain loops over positions."""
    source, inputs = read(WORDS[row]), [model.start_id, *TARGETS[row]]
    state, distributions = model.begin((source,)), []
    for symbol in inputs:
        features, weights, state = model.step(torch.tensor([symbol]), state)
        seen = list(zip(map(word, [*WORDS[row], EOS]), weights[0].tolist(), strict=True))
        distributions.append(torch.tensor(looped(of_model(model), features[0], seen, SYMBOLS + 2), dtype=torch.float64))
    return distributions


@each_kind
@pytest.mark.parametrize("decoder", DECODERS)
def test_a_model_scores_by_plain_loops(kind: str, decoder: dict[str, Any]) -> None:
    model = copying(kind, decoder=decoder, spread=1.0)
    scored = model.score(BATCH)
    for row, target in enumerate(TARGETS):
        expected = step_by_step(model, row)
        for t, symbol in enumerate([*target, EOS]):
            torch.testing.assert_close(scored.log_probs[row, t].exp(), expected[t][symbol])
            assert scored.correct[row, t] == (expected[t].argmax() == symbol)
    assert (scored.statistics["copied"][BATCH.target.mask] > 0).all()
    assert not scored.statistics["copied"][~BATCH.target.mask].any()
    step = model.predict(torch.full((3,), model.start_id), model.begin(BATCH.sources))
    torch.testing.assert_close(step.statistics["copied"], scored.statistics["copied"][:, 0])
    torch.testing.assert_close(step.log_probs.exp().sum(1), torch.ones(3, dtype=torch.float64))


OPTIONS: dict[str, Any] = {
    "kind": KINDS,
    "score": list(SCORES),
    "normalizer": [name for name in NORMALIZERS if name != "hard"],
    "window": list(WINDOWS),
    "attend": list(TIMINGS),
    "readout": list(READOUTS),
    "tie": ["none", "output"],
}


def possible(parts: Mapping[str, Any]) -> bool:
    return not (parts.get("readout") == "concat" and parts.get("tie") == "output")


@pytest.mark.parametrize("parts", cases(covering(OPTIONS, possible)))
def test_every_attention_can_be_copied_from(parts: dict[str, str]) -> None:
    """The probabilities of each step sum to 1, and the gradient is the derivative."""
    options: dict[str, Any] = {
        "score": parts["score"],
        "normalizer": parts["normalizer"],
        "attention": {"window": parts["window"]},
        "decoder": {"attend": parts["attend"], "readout": parts["readout"]},
        "embedding": {"tie": parts["tie"]},
    }
    model = copying(parts["kind"], **options)
    step = model.predict(torch.full((3,), model.start_id), model.begin(BATCH.sources))
    torch.testing.assert_close(step.log_probs.exp().sum(1), torch.ones(3, dtype=torch.float64))
    score = model.score(BATCH).log_probs.sum()
    torch.testing.assert_close(force_targets(model, BATCH).loss.total, -score)
    assert_derivative(lambda: force_targets(model.train(), BATCH).loss.total, model.parameters())


def test_the_mean_of_the_heads_can_be_copied_from() -> None:
    layers = {"kind": "self_attention", "size": 4, "heads": 2, "layers": 2}
    model = copying(decoder=layers, encoder=layers, bridge="none")
    step = model.predict(torch.full((3,), model.start_id), model.begin(BATCH.sources))
    torch.testing.assert_close(step.log_probs.exp().sum(1), torch.ones(3, dtype=torch.float64))
    assert_derivative(lambda: force_targets(model.train(), BATCH).loss.total, model.parameters())


COMBINED: list[Any] = [
    "concatenation",
    "sum",
    "flat",
    {"kind": "flat", "sentinel": True},
    {"kind": "hierarchical", "sentinel": True},
]


@each_kind
@pytest.mark.parametrize("combination", COMBINED, ids=str)
def test_words_of_several_sources_are_copied(kind: str, combination: Any) -> None:
    """The second sentence has no first source; the second source is an array of numbers, the third one a text."""
    model_options = settings(output={"kind": kind}, combination=combination)
    torch.manual_seed(0)
    model = shaken(build.build(model_options, (SYMBOLS, Regions(4), SYMBOLS), SYMBOLS)).eval()
    first, third = read(*WORDS, width=7), read([4, 4], [9, 9, 9], [7])
    there = torch.tensor([True, False, True]).unsqueeze(1)
    first = TokenBatch(first.ids * there, first.mask & there, first.extended)
    image = FeatureBatch(noise(3, 2, 4), torch.ones(3, 2, dtype=torch.bool))
    batch = Batch((first, image, third), read(*TARGETS), np.arange(3))
    state = model.begin(batch.sources)
    features, weights, _ = model.step(torch.full((3,), model.start_id), state)
    by_source = model.by_source(weights, state)
    probabilities = model.predict(torch.full((3,), model.start_id), state).log_probs.exp()
    for row in range(3):
        seen: list[tuple[int | None, float]] = []
        for source, part in zip((first, None, third, None), by_source, strict=False):
            ids = [PAD] * part.size(1) if source is None or source.extended is None else source.extended[row].tolist()
            seen += zip(map(word, ids), part[row].tolist(), strict=True)
        expected = looped(of_model(model), features[row], seen, SYMBOLS + 2)
        assert probabilities[row].tolist() == pytest.approx(expected)
        assert sum(expected) == pytest.approx(1.0)
    assert_derivative(lambda: force_targets(model.train(), batch).loss.total, model.parameters())


@pytest.mark.slow
def test_it_learns_to_copy_words_that_it_does_not_know() -> None:
    torch.manual_seed(0)
    model = copying(spread=0.1, decoder={"attend": "after"}).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    batch = Batch((read([9, 4], [9], [5, 9], [9, 10]),), read([9], [9], [9], [10]), np.arange(4))
    for _ in range(150):
        optimizer.zero_grad()
        loss = force_targets(model, batch).loss
        (loss.total / loss.symbols).backward()
        optimizer.step()
    results = Greedy()(model.eval(), batch.sources)
    assert [best.symbols for (best,) in results] == [(9,), (9,), (9,), (10,)]
    assert all(best.statistics["copied"][0] > 0.5 for (best,) in results)


@pytest.mark.slow
@each_kind
@pytest.mark.parametrize(
    ("search", "together"), [(Greedy(), False), (Beam(size=4), True)], ids=["greedy alone", "beam with another"]
)
def test_searches_find_what_they_then_score(search: Search, together: bool, kind: str) -> None:
    """Alone, and with a model that has symbols of the vocabulary alone."""
    model: Any = copying(kind, seed=3, spread=1.0, generate=-3.0)
    if together:
        model = Ensemble([model, build_model(seed=4)], [1, 1])
    sources = BATCH.sources * (2 if together else 1)
    symbols: set[int] = set()
    for row, hypotheses in enumerate(search(model, sources, search.width)):
        for best in hypotheses:
            target = read(list(best.symbols))
            alone = tuple(read(WORDS[row]) for _ in sources)
            scored = model.score(Batch(alone, target, np.arange(1)))
            assert best.log_probs == pytest.approx(scored.log_probs[0].tolist(), abs=1e-9)
            assert best.statistics["copied"].tolist() == pytest.approx(
                scored.statistics["copied"][0].tolist(), abs=1e-6
            )
            symbols |= set(best.symbols)
    assert symbols & {9, 10}
    assert symbols & set(range(SYMBOLS))


def test_a_sentence_in_a_batch_is_that_sentence_alone() -> None:
    model = copying(seed=5, spread=1.0)
    for row, (best, *_) in enumerate(Beam(size=3)(model, BATCH.sources)):
        ((alone, *_),) = Beam(size=3)(model, (read(WORDS[row]),))
        assert alone.symbols == best.symbols
        assert alone.log_probs == pytest.approx(best.log_probs)


def test_its_figures_are_a_mean_over_the_positions_that_hard_attention_may_draw() -> None:
    """`sum_z p(z_t = z | y_<t) (1 - g(features where attention drew z))`, where z is a word."""
    model = copying(normalizer={"kind": "hard", "order": 1}, spread=1.0)
    assert isinstance(model.decoder, RnnDecoder)
    state = model.begin(BATCH.sources)
    assert isinstance(BATCH.sources[0], TokenBatch)
    assert BATCH.sources[0].extended is not None
    words = BATCH.sources[0].extended > EOS
    for symbol in (model.start_id, 5, 9):
        symbols = torch.full((3,), symbol)
        embedded = model.target_embedding(symbols.where(symbols < SYMBOLS, UNK))
        features = model.decoder.step_by_position(embedded, model.decoder_state(state)).features  # (R, S, F)
        step = model.predict(symbols, state)
        copied = torch.sigmoid(-of_model(model).switch(features.flatten(0, 1)).view_as(words)) * words
        torch.testing.assert_close(step.statistics["copied"], (step.attention[0] * copied).sum(1))
        torch.testing.assert_close(step.log_probs.exp().sum(1), torch.ones(3, dtype=torch.float64))
        state = step.state


def test_graphs_do_not_know_it() -> None:
    assert unknown_part(copying()) == "the output PointerGenerator"
    assert not unknown_part(build_model())


def test_words_of_the_sentence_are_among_the_candidates_of_a_shortlist() -> None:
    """Which share what the symbols that are no candidates had."""
    model = copying(seed=6, spread=1.0)
    lexicon = Lexicon(np.array([7, 4, 5, 6, 8]), np.full((SYMBOLS, 1), PAD), np.zeros((SYMBOLS, 1), np.float32))
    short = ShortlistPredictor(model, Shortlist([lexicon], 1, 0, torch.device("cpu")).allowed(BATCH.sources))
    symbols = torch.full((3,), model.start_id)
    prediction = short.predict(symbols, short.begin(BATCH.sources))
    whole = model.predict(symbols, model.begin(BATCH.sources))
    assert prediction.ids is not None
    assert prediction.ids.tolist() == [0, 1, 2, 3, 7, 9, 10]
    expected = whole.log_probs[:, prediction.ids].log_softmax(1)
    torch.testing.assert_close(prediction.log_probs, expected)


REFUSED: list[tuple[dict[str, Any], tuple[Any, ...], str]] = [
    ({"score": "none"}, (SYMBOLS,), "requires attention"),
    ({}, (Regions(3),), "copies source words, but data.features are numeric"),
    ({"embedding": {"tie": "output"}, "decoder": {"readout": "concat"}}, (SYMBOLS,), "features have size 8"),
]


@each_kind
@pytest.mark.parametrize(("options", "sources", "message"), REFUSED)
def test_what_has_nothing_to_copy_is_refused(options: Any, sources: Any, message: str, kind: str) -> None:
    with pytest.raises(UserError, match=rf"^model\.output: .*{message}"):
        build.build(settings(output={"kind": kind}, **options), sources, SYMBOLS)

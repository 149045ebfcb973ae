"""The whole model: what the decoder knows of the source, probabilities of pairs, the start symbol."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.data.batch import Batch, TokenBatch
from dragoman.data.vocabulary import BOS, EOS
from dragoman.model.output.output import Readout
from dragoman.model.predictor import Predictor
from dragoman.model.seq2seq import Seq2Seq
from tests.builders import BATCH, SIZE, SYMBOLS, build_model, noise, pairs, part, sentences


def distributions(model: Seq2Seq, source: TokenBatch, prefix: tuple[int, ...]) -> Tensor:
    """Log-probabilities of the symbol after each prefix of `prefix`, the empty one first, by stepping."""
    state = model.start(model.encode((source,)))
    log_probs = []
    for symbol in (model.start_id, *prefix):
        features, _, state = model.step(torch.tensor([symbol]), state)
        log_probs.append(model.output.log_probs(Readout(features))[0])
    return torch.stack(log_probs)


@pytest.mark.spec("A1")
@pytest.mark.parametrize(
    ("input_feeding", "readout"),
    [("none", "concat"), ("none", "tanh"), ("none", "deep"), ("attentional", "tanh"), ("attentional", "deep")],
)
def test_without_attention_the_decoder_knows_the_final_state_alone(input_feeding: str, readout: str) -> None:
    """Whatever the other encoder states are, nothing changes; another final state changes everything."""
    model = build_model(
        score="none", decoder={"input_feeding": input_feeding, "readout": readout}, encoder={"cell": "gru"}
    )
    (memory,) = model.encode(BATCH.sources)
    expected = model.unroll(model.start((memory,)), BATCH.target.ids)
    assert torch.equal(model(BATCH).features, expected.features)
    other = memory._replace(states=memory.states + 100 * noise(*memory.states.shape))
    assert torch.equal(model.unroll(model.start((other,)), BATCH.target.ids).features, expected.features)
    other = memory._replace(final=((memory.final[0][0] + 0.1,),))
    changed = model.unroll(model.start((other,)), BATCH.target.ids).features
    assert (changed - expected.features).abs().amax(-1).gt(1e-6).all()
    assert expected.weights.eq(0).all()


@pytest.mark.spec("A1")
def test_with_attention_the_decoder_sees_every_state() -> None:
    model = build_model()
    (memory,) = model.encode(BATCH.sources)
    expected = model.unroll(model.start((memory,)), BATCH.target.ids).features
    for j in range(4):
        states = memory.states.clone()
        states[0, j] += 1.0
        features = model.unroll(model.start((memory._replace(states=states),)), BATCH.target.ids).features
        assert (features[0] - expected[0]).abs().amax(-1).gt(1e-6).all()
        assert torch.equal(features[1:], expected[1:])


@pytest.mark.spec("A13")
def test_the_score_of_a_pair_is_the_product_of_its_steps() -> None:
    """`log P(y | x) = sum_t log P(y_t | y_<t, x)`, each factor by stepping through the reference."""
    model = build_model(decoder={"attend": "between", "cell": "lstm"})
    scores, _, (weights,), _ = model.score(BATCH)
    assert scores.shape == BATCH.target.ids.shape
    assert weights.shape == (*BATCH.target.ids.shape, BATCH.sources[0].ids.size(1))
    assert scores[~BATCH.target.mask].eq(0).all()
    for row in range(3):
        length = int(BATCH.sources[0].mask[row].sum())
        source = part(BATCH.sources[0], (slice(row, row + 1), slice(length)))
        symbols = BATCH.target.ids[row, BATCH.target.mask[row]].tolist()
        steps = distributions(model, source, tuple(symbols[:-1]))
        for t, symbol in enumerate(symbols):
            assert scores[row, t].item() == pytest.approx(steps[t, symbol].item(), abs=1e-12)


@pytest.mark.spec("A13")
def test_the_probabilities_of_all_targets_sum_to_one() -> None:
    """All sequences of up to two symbols, where a sequence of two is made to end: P adds up to exactly 1."""
    model = build_model(symbols=6, spread=1.5)
    inner = [symbol for symbol in range(6) if symbol != EOS]
    targets = [list(prefix) for length in (0, 1, 2) for prefix in itertools.product(inner, repeat=length)]
    assert len(targets) == 1 + 5 + 25
    batch = pairs([[4, 5]] * len(targets), targets)
    scores, *_ = model.score(batch)
    ends = batch.target.mask.sum(1) - 1
    scores[ends == 2, 2] = 0.0
    assert scores.sum(1).exp().sum().item() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.spec("A14")
@pytest.mark.parametrize(("name", "number"), [("bos", BOS), ("eos", EOS)])
def test_the_decoder_starts_with_the_start_symbol(name: str, number: int) -> None:
    """`<s>`, or `</s>` as in CN's text: the first step reads that symbol, and the reference is read one later."""
    model = build_model(start_symbol=name)
    assert model.start_id == number
    state = model.start(model.encode(BATCH.sources))
    features, _, state = model.step(torch.full((3,), number), state)
    unrolled = model(BATCH).features
    assert torch.allclose(unrolled[:, 0], features)
    assert torch.allclose(unrolled[:, 1], model.step(BATCH.target.ids[:, 0], state).features)
    other = build_model(start_symbol="eos" if name == "bos" else "bos")
    assert not torch.allclose(other(BATCH).features[:, 0], unrolled[:, 0])


@pytest.mark.spec("J4")
@pytest.mark.parametrize(
    "options", [{}, {"bridge": "none", "decoder": {"kind": "self_attention", "size": 4, "heads": 2}}]
)
def test_the_decoder_can_start_with_a_zero_vector(options: dict[str, Any]) -> None:
    """Whatever vector `<s>` has, in training and in search."""
    model = build_model(start_symbol="none", **options)
    zeroed = build_model(**options)
    zeroed.load_state_dict(model.state_dict())
    with torch.no_grad():
        zeroed.target_embedding.get_parameter("table")[BOS] = 0.0
    assert torch.equal(model(BATCH).features, zeroed(BATCH).features)
    start = torch.full((3,), BOS)
    features, _, state = model.step(start, model.begin(BATCH.sources))
    assert torch.equal(features, zeroed.step(start, zeroed.begin(BATCH.sources)).features)
    after = model.step(BATCH.target.ids[:, 0], state).features
    torch.testing.assert_close(after, model(BATCH).features[:, 1], rtol=0, atol=1e-9)


@pytest.mark.spec("J9")
@pytest.mark.parametrize(
    "options",
    [
        {"terms": ["coverage"], "decoder": {"input_feeding": "attentional", "attend": "after"}},
        {"bridge": "none", "score": "scaled_dot", "decoder": {"kind": "self_attention", "size": 4, "heads": 2}},
        {
            "bridge": "none",
            "decoder": {
                "kind": "self_attention",
                "size": 4,
                "heads": 2,
                "autoregression": "ssru",
                "positions": "sinusoidal",
            },
        },
    ],
)
def test_the_symbols_before_a_target_are_given(options: dict[str, Any]) -> None:
    """`P(y | x) = P(p y | x) / P(p | x)`, in training, scoring and search, for any start symbol."""
    for start in ("bos", "eos"):
        plain = build_model(start_symbol=start, **options)
        model = build_model(start_symbol=start, target_prefix=["5", "8"], **options)
        alone = build_model(start_symbol="prefix", target_prefix=["</s>", "5", "8"], **options)
        if start == "eos":
            assert torch.equal(alone(BATCH).features, model(BATCH).features)
        assert model.start_id == 8
        targets = [[4, 6], [7], [5, 8, 4]]
        batch, longer = pairs([[4, 5], [6, 7, 8], [5]], targets), pairs([[4, 5], [6, 7, 8], [5]], prefixed(targets))
        wanted = plain.score(longer).log_probs[:, 2:]
        torch.testing.assert_close(model.score(batch).log_probs, wanted, rtol=0, atol=1e-12)
        stepped = Predictor.score(model, batch).log_probs
        torch.testing.assert_close(stepped, wanted, rtol=0, atol=1e-12)


def prefixed(targets: list[list[int]]) -> list[list[int]]:
    return [[5, 8, *target] for target in targets]


SELF = {"kind": "self_attention", "size": 4, "heads": 2, "layers": 2}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"score": "none", "encoder": {"direction": "reversed", "cell": "lstm", "layers": 2}},
    {
        "score": "bilinear",
        "bridge": "mean",
        "decoder": {"attend": "before", "input_feeding": "context", "readout": "concat"},
    },
    {"score": "uniform", "bridge": "zero", "decoder": {"attend": "between", "cell": "gru_an"}},
    {"decoder": {"attend": "between", "external_memory": 3}},
    {"score": "scaled_dot", "bridge": "none", "encoder": SELF, "decoder": SELF},
    {"bridge": "mean", "encoder": SELF},
    {"bridge": "none", "decoder": SELF},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_padding_and_neighbors_change_nothing(options: dict[str, Any]) -> None:
    model = build_model(**options)
    scores, _, (weights,), _ = model.score(BATCH)
    wide = BATCH._replace(
        sources=(sentences([4, 5, 6], [7], [8, 4], width=9),),
        target=sentences([5, 4], [6, 7, 8, 4], [8], width=7),
    )
    wider, _, (spread,), _ = model.score(wide)
    assert torch.allclose(wider[:, :5], scores)
    assert torch.allclose(spread[:, :5, :4], weights)
    assert spread[..., 4:].eq(0).all()
    for row, (source, target) in enumerate([([4, 5, 6], [5, 4]), ([7], [6, 7, 8, 4]), ([8, 4], [8])]):
        alone, *_ = model.score(pairs([source], [target]))
        assert torch.allclose(alone[0], scores[row, : len(target) + 1])


@pytest.mark.parametrize("options", OPTIONS)
def test_every_parameter_gets_a_gradient(options: dict[str, Any]) -> None:
    model = build_model(**options).train()
    model.output.loss(
        Readout(model(BATCH).features[BATCH.target.mask]), BATCH.target.ids[BATCH.target.mask]
    ).total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_gradients_of_the_whole_model() -> None:
    """The loss of a batch through encoder, bridge, attention and input feeding, parameter by parameter."""
    model = build_model(
        embedding={"size": 2},
        encoder={"size": 1},
        decoder={"size": 2, "input_feeding": "attentional", "attend": "before"},
    )
    batch = pairs([[4, 5], [7]], [[5], [6, 7]])
    names, values = zip(*model.named_parameters(), strict=True)

    class Loss(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, batch: Batch) -> Tensor:
            real = batch.target.mask
            return self.model.output.loss(Readout(self.model(batch).features[real]), batch.target.ids[real]).total

    def function(*held: Tensor) -> Tensor:
        named = {f"model.{name}": value for name, value in zip(names, held, strict=True)}
        return torch.func.functional_call(Loss(), named, (batch,))

    assert torch.autograd.gradcheck(
        function, [value.detach().clone().requires_grad_() for value in values], fast_mode=True
    )


def test_the_smallest_pair() -> None:
    """One word that is not there: a source and a target of nothing but the end symbol."""
    scores, _, (weights,), _ = build_model().score(pairs([[]], [[]]))
    assert scores.shape == (1, 1)
    assert weights.tolist() == [[[1.0]]]


def test_sizes() -> None:
    model = build_model()
    assert model(BATCH).features.shape == (3, 5, SIZE)
    assert model.output.log_probs(Readout(model(BATCH).features[:, 0])).shape == (3, SYMBOLS)

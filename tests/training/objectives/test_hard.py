"""Hard attention: exact sums over all that could be drawn, and draws that are right on average."""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import dragoman
from dragoman.configuration.components import Spec
from dragoman.configuration.sections import replaced
from dragoman.data.batch import Batch, TokenBatch
from dragoman.deployment import export
from dragoman.errors import UserError
from dragoman.model import build
from dragoman.model.alignment_model import ChainedAlignment
from dragoman.model.attention.chain import NEVER, Chain, log_weights
from dragoman.model.attention.normalizers import AttentionNormalizer, WeightedValues
from dragoman.model.decoder.rnn_decoder import RnnDecoder
from dragoman.model.output.output import Readout
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.weights import read_tensors
from dragoman.run.run import Run
from dragoman.search.beam import Beam
from dragoman.training import checks, session
from dragoman.training.objectives.hard import Marginal, Reinforce
from tests import toy
from tests.builders import build_model, context, pairs, settings, whole
from tests.golden import Golden

FREE: dict[str, Any] = {"normalizer": "hard"}
TWO = pairs([[4, 5], [7]], [[5, 4], [6]])
ORDERS: dict[str, dict[str, Any]] = {
    "zeroth": {"normalizer": "hard"},
    "first": {"normalizer": {"kind": "hard", "order": 1, "jump": 1}},
    "monotonic": {"normalizer": {"kind": "hard", "order": 1, "monotonic": True}},
}
each_order = pytest.mark.parametrize("name", ORDERS)
each_chain = pytest.mark.parametrize("name", ["first", "monotonic"])


def at_every_position(model: Seq2Seq, batch: Batch, row: int) -> tuple[list[list[float]], list[list[float]]]:
    """`alpha_t(z)` and `log p(y_t | z)` of a sentence, step by step through the parts of the decoder."""
    assert isinstance(model.decoder, RnnDecoder)
    (source,), target = batch.sources, batch.target
    assert isinstance(source, TokenBatch)
    words = target.ids[row][target.mask[row]].tolist()
    alone = source._replace(ids=source.ids[row : row + 1], mask=source.mask[row : row + 1])
    state = model.decoder_state(model.begin((alone,)))
    previous, alphas, spoken = model.start_id, [], []
    for word in words:
        embedded = model.target_embedding(torch.tensor([previous]))
        step = model.decoder.step(embedded, state)
        state, previous = step.state, word
        alphas.append(step.weights[0][source.mask[row]].tolist())
        output = state.step_state.layers[-1][0]
        features = [model.decoder.features(output, h.unsqueeze(0), embedded) for h in state.source_state.values[0]]
        spoken.append(
            [float(model.output.log_probs(Readout(feature))[0, word]) for feature in features][: len(alphas[0])]
        )
    return alphas, spoken


def transition(chain: Chain | None, alpha: list[float], before: int | None, z: int) -> float:
    """`p(z_t | z_(t-1))`."""
    if before is None or chain is None:
        return alpha[z]

    def share(to: int) -> float:
        jump = to - before
        if chain.monotonic and jump < 0:
            return 0.0
        return alpha[to] * math.exp(float(chain.theta[min(max(jump, -chain.jump), chain.jump) + chain.jump]))

    return share(z) / sum(share(to) for to in range(len(alpha)))


def chain_of(model: Seq2Seq) -> Chain | None:
    return model.alignment_model.chain if isinstance(model.alignment_model, ChainedAlignment) else None


def likelihood(model: Seq2Seq, batch: Batch, row: int, until: int | None = None) -> float:
    """`p(y | x)` of a sentence, or of so many of its first words, summed over all that could be drawn."""
    alphas, spoken = (steps[:until] for steps in at_every_position(model, batch, row))
    total = 0.0
    for drawn in itertools.product(range(len(alphas[0])), repeat=len(alphas)):
        steps = zip(alphas, (None, *drawn[:-1]), drawn, strict=True)
        chance = math.prod(transition(chain_of(model), alpha, last, z) for alpha, last, z in steps)
        total += chance * math.exp(sum(row[z] for row, z in zip(spoken, drawn, strict=True)))
    return total


@pytest.mark.spec("B11")
@each_order
def test_the_likelihood_is_the_sum_over_all_that_could_be_drawn(name: str) -> None:
    model = build_model(**ORDERS[name])
    with torch.no_grad():
        expected = -sum(math.log(likelihood(model, TWO, row)) for row in range(2))
        loss = Marginal(context())(model, TWO)
    assert float(loss.total) == pytest.approx(expected, abs=1e-10)
    assert loss.symbols == 5


@pytest.mark.spec("B11")
@each_chain
def test_scores_and_search_sum_over_the_chain_as_training_does(name: str) -> None:
    model = build_model(**ORDERS[name], spread=1.0)
    with torch.no_grad():
        scored = model.score(TWO)
        for row, length in enumerate((3, 2)):
            likelihoods = [likelihood(model, TWO, row, until) for until in range(1, length + 1)]
            expected = [math.log(now / before) for before, now in zip([1.0, *likelihoods], likelihoods, strict=False)]
            assert scored.log_probs[row, :length].tolist() == pytest.approx(expected, abs=1e-10)
        ((best, *_),) = Beam(size=7, normalization="none")(model, pairs([[4, 5]], [[6]]).sources)
        batch = pairs([[4, 5]], [list(best.symbols)])
        assert sum(best.log_probs) == pytest.approx(math.log(likelihood(model, batch, 0)), abs=1e-6)
        batches = [pairs([[4, 5]], [list(words)]) for words in itertools.product(range(3, 8), repeat=2)]
        assert all(sum(best.log_probs) >= math.log(likelihood(model, other, 0)) - 1e-6 for other in batches)
    (attention,) = scored.attention
    torch.testing.assert_close(attention.sum(-1), torch.ones_like(attention[..., 0]))


@pytest.mark.spec("B11")
@each_chain
def test_the_attention_of_a_chain_is_where_it_may_be_after_what_was_said(name: str) -> None:
    """`p(z_t | y_<t)`, summed over all that could be drawn before."""
    model = build_model(**ORDERS[name], spread=1.0)
    with torch.no_grad():
        (attention,) = model.score(TWO).attention
        for row in range(2):
            alphas, spoken = at_every_position(model, TWO, row)
            for t in range(len(alphas)):
                totals = [0.0] * len(alphas[0])
                for drawn in itertools.product(range(len(alphas[0])), repeat=t + 1):
                    steps = zip(alphas[: t + 1], (None, *drawn[:-1]), drawn, strict=True)
                    chance = math.prod(transition(chain_of(model), alpha, last, z) for alpha, last, z in steps)
                    log_prob = sum(words[z] for words, z in zip(spoken[:t], drawn[:t], strict=True))
                    totals[drawn[t]] += chance * math.exp(log_prob)
                expected = [total / sum(totals) for total in totals]
                assert attention[row, t, : len(expected)].tolist() == pytest.approx(expected, abs=1e-10)


@pytest.mark.spec("B11")
@each_chain
def test_the_first_choice_of_a_chain_is_the_likeliest_symbol(name: str) -> None:
    model = build_model(**ORDERS[name], spread=1.0)
    with torch.no_grad():
        state = model.begin(TWO.sources)
        step = model.predict(torch.full((2,), model.start_id), state)
        likeliest = step.log_probs.argmax(1)
        torch.testing.assert_close(step.log_probs.exp().sum(1), torch.ones(2, dtype=torch.float64))
        step = model.predict(likeliest, step.state)
        torch.testing.assert_close(step.log_probs.exp().sum(1), torch.ones(2, dtype=torch.float64))
        batch = pairs([[4, 5], [7]], [[int(likeliest[0])], [int(likeliest[1])]])
        assert model.score(batch).correct[:, 0].all()


@pytest.mark.spec("B11")
@each_chain
def test_weights_too_small_for_their_type_are_no_padding(name: str) -> None:
    """Where all that a jump can reach has an alpha of 0 in float32, it still goes nowhere else."""
    chain = chain_of(build_model(**ORDERS[name]).float())
    assert chain is not None
    weights, mask = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[True, True, False]])
    before = torch.tensor([[NEVER, 0.0, NEVER]])
    attention = chain(before, log_weights(weights, mask)).exp()
    torch.testing.assert_close(attention, torch.tensor([[0.0, 1.0, 0.0] if chain.monotonic else [1.0, 0.0, 0.0]]))


@pytest.mark.spec("B11")
def test_what_reads_one_position_refuses_a_chain(corpus: Path, tmp_path: Path, golden: Golden) -> None:
    options = {
        "model.attention.normalizer": Spec("hard", {"order": 1}),
        "model.decoder.attend": "after",
        "model.output.label_smoothing": 0,
        "training.objective": "marginal",
        "training.steps": 2,
    }
    run = session.train(toy.config(corpus, tmp_path / "chain", options), quiet=True)
    translator = dragoman.load(run.path)
    assert len(translator.translate(["a b", "c"], beam_size=2)) == 2
    with pytest.raises(
        UserError, match=r"simultaneous translation does not support hard attention of order:"
    ) as raised:
        next(translator.simultaneous(["a"], wait=3))
    golden(str(raised.value))
    pytest.importorskip("onnxscript")
    with pytest.raises(UserError, match="order:") as raised:
        export.write(Run.load(run.path))
    golden(str(raised.value))


@pytest.mark.spec("B11")
@each_order
def test_padding_changes_neither_the_likelihood_nor_its_gradient(name: str) -> None:
    model = build_model(**ORDERS[name])

    def compute_gradients(batch: Batch) -> list[Tensor]:
        model.zero_grad()
        total = Marginal(context())(model, batch).total
        total.backward()
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        return [total.detach(), *map(torch.clone, gradients)]

    alone = [compute_gradients(pairs([[4, 5]], [[5, 4]])), compute_gradients(pairs([[7]], [[6]]))]
    for one, other, together in zip(*alone, compute_gradients(TWO), strict=True):
        assert together.isfinite().all()
        torch.testing.assert_close(one + other, together, rtol=0, atol=1e-10)


@pytest.mark.spec("B11")
def test_what_is_drawn_follows_the_weights_and_evaluation_takes_the_likeliest() -> None:
    model = build_model(**FREE, spread=1.0)
    many = pairs([[4, 5]] * 4000, [[6]] * 4000)
    with torch.no_grad():
        likeliest = model(many)
        assert likeliest.drawn is not None
        assert torch.equal(likeliest.drawn, likeliest.weights.argmax(-1))
        torch.manual_seed(0)
        drawn = model.train()(many).drawn
    shares = torch.nn.functional.one_hot(drawn[:, 0], 3).double().mean(0)
    torch.testing.assert_close(shares, likeliest.weights[0, 0], rtol=0, atol=0.03)


@pytest.mark.spec("B11")
@each_order
def test_bfloat16_comes_close(name: str) -> None:
    model, its = build_model(**ORDERS[name]).float(), Marginal(context())
    exact = its(model, TWO).total
    with torch.autocast("cpu", torch.bfloat16):
        rounded = its(model, TWO).total
    rounded.backward()
    assert rounded.item() == pytest.approx(exact.item(), rel=0.05)


def complaints(objective: Spec, **options: Any) -> list[str]:
    config = replaced(whole(settings(**options)), ("training", "objective"), objective)
    return [str(problem) for problem in checks.problems(config)]


@pytest.mark.parametrize(
    ("objective", "options", "words"),
    [
        (
            Spec("teacher_forcing"),
            FREE,
            "hard attention is not differentiable; use marginal, or reinforce with order: 0",
        ),
        (Spec("reinforce"), {}, "requires model.attention.normalizer: hard"),
        (Spec("marginal"), {}, "requires model.attention.normalizer: hard"),
        (Spec("marginal"), {**FREE, "score": "none"}, "the model has no attention"),
        (Spec("marginal"), {**FREE, "score": "uniform"}, "all attention weights are equal"),
        (Spec("marginal"), {**FREE, "decoder": {"attend": "between"}}, "attend: after and input_feeding: none"),
        (Spec("marginal"), {**FREE, "decoder": {"input_feeding": "context"}}, "attend: after and input_feeding: none"),
        (Spec("marginal"), {**FREE, "output": {"label_smoothing": 0.1}}, "set model.output.label_smoothing to 0"),
        (
            Spec("marginal"),
            {**FREE, "output": {"kind": "pointer", "supervised": True}},
            "marginal does not support a supervised switch",
        ),
        (Spec("reinforce"), ORDERS["first"], "order: 1 use marginal"),
        (
            Spec("reinforce"),
            {"normalizer": "hard", "bridge": "none", "decoder": {"kind": "self_attention", "heads": 2}},
            "requires model.decoder: rnn",
        ),
    ],
)
def test_what_cannot_be_trained_is_said_before_training(objective: Spec, options: dict[str, Any], words: str) -> None:
    own = "training.objective: "  # parts of the model may not fit either
    (message,) = [complaint for complaint in complaints(objective, **options) if complaint.startswith(own)]
    assert words in message


def test_weights_that_are_no_distribution_are_refused() -> None:
    model = settings(**FREE)
    attention = model.attention.model_copy(update={"window": Spec("predictive")})
    config = whole(model.model_copy(update={"attention": attention}))
    (problem,) = Marginal.problems(replaced(config, ("training", "objective"), Spec("marginal")))
    assert "attention weights that sum to 1" in problem


@each_order
def test_what_fits_is_accepted(name: str) -> None:
    assert complaints(Spec("marginal"), **ORDERS[name]) == []


def test_no_jump_goes_back_where_none_is_seen() -> None:
    for option in ({"monotonic": True}, {"jump": 3}):
        (problem,) = build.find_problems(whole(settings(normalizer={"kind": "hard", **option})))
        assert str(problem).startswith("model.attention.normalizer: ")
        assert "require order: 1" in str(problem)


class FixedPositions(AttentionNormalizer):
    """Hard attention that draws the given positions."""

    def __init__(self, positions: tuple[int, ...]) -> None:
        super().__init__()
        self.positions = iter(positions)

    def forward(self, energies: Tensor) -> Tensor:
        return torch.softmax(energies, -1)

    def read(self, weights: Tensor, values: Tensor) -> WeightedValues:
        position = next(self.positions)
        return WeightedValues(values[:, position : position + 1], torch.full(weights.shape[:2], position))


ONE = pairs([[4]], [[5, 6]])
FEEDING = {**FREE, "decoder": {"attend": "before", "input_feeding": "attentional"}}


def every_draw(model: Seq2Seq) -> Iterator[Tensor]:
    """Makes the model draw each of the 8 triples of two positions in turn, and tells its probability."""
    assert isinstance(model.decoder, RnnDecoder)
    for positions in itertools.product(range(2), repeat=3):
        model.decoder.attention.attention.normalizer = FixedPositions(positions)
        with torch.no_grad():
            weights = model(ONE).weights[0]
        model.decoder.attention.attention.normalizer = FixedPositions(positions)
        yield weights.gather(1, torch.tensor(positions).unsqueeze(1)).prod()


def gradients(model: Seq2Seq) -> list[Tensor]:
    tensors = [
        (torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.clone())
        for parameter in model.parameters()
    ]
    model.zero_grad()
    return tensors


@pytest.mark.spec("B11")
@pytest.mark.parametrize(("reward", "options"), [("rest", FREE), ("step", FREE), ("rest", FEEDING)])
@pytest.mark.parametrize("mean", [0.0, -2.0])
def test_the_gradient_of_draws_is_on_average_that_of_the_expected_loss(
    reward: str, options: dict[str, Any], mean: float
) -> None:
    model, its = build_model(**options), Reinforce(context(), reward=reward, entropy=0.0).double()  # type: ignore[arg-type]
    its.mean.fill_(mean)
    estimate = [torch.zeros_like(parameter) for parameter in model.parameters()]
    for chance in every_draw(model):
        its(model, ONE).total.backward()
        estimate = [total + chance * gradient for total, gradient in zip(estimate, gradients(model), strict=True)]
    for _ in every_draw(model):
        unrolled = model(ONE)
        assert unrolled.drawn is not None
        chance = unrolled.weights[0].gather(1, unrolled.drawn[0].unsqueeze(1)).prod()
        (chance * model.output.loss(Readout(unrolled.features[0]), ONE.target.ids[0]).total).backward()
    for one, other in zip(estimate, gradients(model), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@pytest.mark.spec("B11")
def test_entropy_is_what_is_asked_for() -> None:
    model, alone = build_model(**FREE), pairs([[4, 5]], [[5, 4]])
    losses = []
    for entropy in (0.0, 0.5):
        torch.manual_seed(0)
        Reinforce(context(), entropy=entropy).double()(model, alone).total.backward()
        losses.append(gradients(model))
    weights = model(alone).weights
    spread = -torch.xlogy(weights, weights).sum(-1).sum()
    (-0.5 * spread).backward()
    for without, both, expected in zip(*losses, gradients(model), strict=True):
        torch.testing.assert_close(both - without, expected, rtol=0, atol=1e-10)


@pytest.mark.spec("B11")
def test_the_loss_that_is_reported_is_that_of_the_words_and_the_baseline_their_running_mean() -> None:
    model, its = build_model(**FREE), Reinforce(context(), decay=0.75).double()
    loss = its(model, TWO)
    words = model.output.loss(Readout(model(TWO).features[TWO.target.mask]), TWO.target.ids[TWO.target.mask])
    assert loss.total.item() == pytest.approx(words.total.item())
    its.after_step(False)
    assert its.mean == 0
    its(model, TWO)
    its.after_step(True)
    assert its.mean.item() == pytest.approx(-0.25 * words.total.item() / words.symbols)


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.spec("B11")
@pytest.mark.slow
def test_a_killed_training_goes_on_with_the_same_baseline(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state of a step is saved while the next one is at work."""
    options = {"model.attention.normalizer": "hard", "training.objective": "reinforce", "training.steps": 7}

    def train(name: str) -> dict[str, bytes]:
        folder = session.train(toy.config(corpus, tmp_path / name, {**options, "training.save_every": 1}), quiet=True)
        return {name: tensor.numpy().tobytes() for name, tensor in read_tensors(folder.last_state)[0].items()}

    straight, after_step, steps = train("straight"), Reinforce.after_step, itertools.count(1)

    def killed(self: Reinforce, updated: bool) -> None:
        if next(steps) == 5:
            raise Killed
        after_step(self, updated)

    with monkeypatch.context() as patch:
        patch.setattr(Reinforce, "after_step", killed)
        with pytest.raises(Killed):
            train("killed")
    run_folder = train("killed")
    assert any(name.endswith("objective.mean") for name in run_folder)
    assert run_folder == straight

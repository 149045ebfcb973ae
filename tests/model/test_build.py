"""From names to parts: every combination works or is refused with a reason, and ties are shared."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
import torch

from dragoman.configuration.components import Problem, Spec
from dragoman.configuration.config import ModelConfig
from dragoman.data.batch import Batch
from dragoman.errors import UserError
from dragoman.model import build
from dragoman.model.attention.attention import NoAttention
from dragoman.model.attention.scores import SCORES
from dragoman.model.decoder.input_feeding import INPUT_FEEDINGS
from dragoman.model.decoder.timing import TIMINGS
from dragoman.model.output.output import Readout
from dragoman.model.output.table import OUTPUTS
from dragoman.model.readout import READOUTS
from dragoman.model.recurrent import CELLS
from dragoman.model.seq2seq import Seq2Seq
from dragoman.training.objectives.teacher_forcing import force_targets
from tests.builders import BATCH, SYMBOLS, build_model, copied, model_problems, pairs, settings, whole
from tests.covering import cases, covering
from tests.golden import Golden

TINY = pairs([[4]], [[6]])


def problems(model: ModelConfig) -> list[Problem]:
    return model_problems(whole(model))


def train(model: Seq2Seq, batch: Batch = BATCH) -> tuple[float, float]:
    """Three steps down the gradient: the losses before the first and before the last."""
    parameters = list(model.parameters())
    losses = []
    for _ in range(3):
        loss = force_targets(model, copied(batch)).loss.total
        losses.append(loss.item())
        with torch.no_grad():
            for parameter, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
                parameter.sub_(0.05 * gradient)
    return losses[0], losses[-1]


OPTIONS = {
    "score": [*SCORES, "none"],
    "cell": list(CELLS),
    "attend": list(TIMINGS),
    "input_feeding": list(INPUT_FEEDINGS),
    "readout": list(READOUTS),
    "output": [kind for kind, output in OUTPUTS.items() if not output.spells],  # others: test_spelling.py
}
IMPOSSIBLE: dict[str, dict[str, str]] = {  # the only reasons there are
    "there is no context to attend before": {"score": "none", "attend": "before"},
    "there is no context to attend between": {"score": "none", "attend": "between"},
    "there is no context to attend after or to feed": {"score": "none", "input_feeding": "context"},
    "input_feeding: attentional feeds the vector that readout: tanh or deep make": {
        "input_feeding": "attentional",
        "readout": "concat",
    },
}


def possible(parts: Mapping[str, str]) -> bool:
    nothing_to_copy_by = parts.get("score") == "none" and OUTPUTS[parts.get("output", "softmax")].reads_source
    return not nothing_to_copy_by and not any(pair.items() <= parts.items() for pair in IMPOSSIBLE.values())


DECODERS = covering(OPTIONS, possible)
each_decoder = pytest.mark.parametrize("parts", cases(DECODERS))


def of_parts(parts: Mapping[str, str], **encoder: str) -> dict[str, Any]:
    """Options of a model, for `settings`. The encoder has the cell of the decoder."""
    decoder = {name: value for name, value in parts.items() if name not in ("score", "output")}
    cell = {"cell": decoder["cell"]} if "cell" in decoder else {}
    output = {"kind": parts.get("output", "softmax")}
    return {
        "score": parts.get("score", "additive"),
        "decoder": decoder,
        "encoder": {**cell, **encoder},
        "output": output,
    }


@each_decoder
def test_every_two_parts_train_together(parts: dict[str, str]) -> None:
    model = settings(**of_parts(parts, direction="forward"))
    assert problems(model) == []
    torch.manual_seed(0)
    before, after = train(build.build(model, (SYMBOLS,), SYMBOLS), TINY)
    assert math.isfinite(before)
    assert after < before


@pytest.mark.parametrize("wrong", IMPOSSIBLE)
def test_two_parts_that_cannot_be_together_are_refused_whatever_the_cell(wrong: str, golden: Golden) -> None:
    for cell in CELLS:
        model = settings(**of_parts({"cell": cell, **IMPOSSIBLE[wrong]}))
        (problem,) = problems(model)
        assert problem.path == ("model", "decoder")
        assert wrong in problem.message
        with pytest.raises(UserError, match=r"^model\.decoder:") as raised:
            build.build(model, (SYMBOLS,), SYMBOLS)
        golden(str(raised.value))


@pytest.mark.parametrize("bridge", ["final", "zero", "mean", "copy", {"kind": "final", "layers": "first"}])
@pytest.mark.parametrize("direction", ["forward", "reversed", "bidirectional"])
@pytest.mark.parametrize("layers", [1, 2])
def test_every_encoder_and_bridge_trains(bridge: Any, direction: str, layers: int) -> None:
    encoder = {"direction": direction, "layers": layers, "residual": True, "layer_norm": "standard", "cell": "lstm"}
    model = settings(
        bridge=bridge, encoder=encoder, decoder={"cell": "lstm", "layers": layers, "layer_norm": "standard"}
    )
    assert problems(model) == []
    torch.manual_seed(0)
    before, after = train(build.build(model, (SYMBOLS,), SYMBOLS))
    assert after < before


def test_a_score_that_is_added_while_the_program_runs_is_known_until_it_is_removed() -> None:
    model = settings(score="added")
    table = build.TABLES["attention", "score"]
    before = list(table)
    SCORES["added"] = SCORES["additive"]
    try:
        assert problems(model) == []
        assert build.complete_config(model).attention.score.options
        assert isinstance(build.build(model, (SYMBOLS,), SYMBOLS), Seq2Seq)
    finally:
        del SCORES["added"]
    with pytest.raises(UserError, match=r"^model\.attention\.score\.kind: unknown kind 'added'"):
        build.build(model, (SYMBOLS,), SYMBOLS)
    assert list(table) == before == [*SCORES, "none"]


SELF = {"kind": "self_attention", "size": 4, "heads": 2, "layers": 1}


@pytest.mark.parametrize("score", sorted(set(SCORES) - {"uniform"}))  # where queries have no effect
@pytest.mark.parametrize(("encoder", "decoder"), [({}, SELF), (SELF, {}), (SELF, SELF)], ids=["to", "from", "both"])
def test_self_attention_trains_on_either_side(encoder: Any, decoder: Any, score: str) -> None:
    for bridge in ("none",) if decoder else ("mean", "zero", {"kind": "mean", "layers": "first"}):
        model = settings(score=score, bridge=bridge, encoder=encoder, decoder=decoder)
        assert problems(model) == []
        torch.manual_seed(0)
        before, after = train(build.build(model, (SYMBOLS,), SYMBOLS))
        assert after < before


REFUSED: list[tuple[dict[str, Any], tuple[str, ...], str]] = [
    ({"score": "dot", "decoder": {"size": 5}}, ("attention", "score"), "decoder state (5) and encoder states (4)"),
    ({"score": "scaled_dot", "encoder": {"size": 5}}, ("attention", "score"), "use 'bilinear'"),
    ({"embedding": {"target": "hybrid"}}, ("embedding", "target"), "is only available for sources"),
    ({"score": "dott"}, ("attention", "score", "kind"), "did you mean 'dot'"),
    ({"score": {"kind": "additive", "sise": 3}}, ("attention", "score", "sise"), "did you mean 'size'"),
    ({"score": {"kind": "none", "size": 3}}, ("attention", "score", "size"), "'none' has no options"),
    ({"bridge": "copy", "decoder": {"size": 5}}, ("bridge",), "use 'final'"),
    ({"bridge": "copy", "decoder": {"layers": 2}}, ("bridge",), "use layers: first"),
    ({"bridge": "copy", "decoder": {"cell": "lstm"}}, ("bridge",), "encoder has 1 of size 4 and the decoder 2"),
    ({"bridge": "zero", "score": "none"}, ("bridge",), "the decoder has no access to the source"),
    ({"encoder": {"direction": "both"}}, ("encoder", "direction"), "forward, reversed, bidirectional"),
    ({"decoder": {"attention": "dot"}}, ("decoder", "attention"), "unknown key"),
    (
        {"decoder": {"readout": "concat", "readout_size": 3}},
        ("decoder",),
        "readout_size requires readout: tanh or deep",
    ),
    ({"embedding": {"tie": "output"}, "decoder": {"readout": "concat"}}, ("output",), "features have size 8"),
    ({"embedding": {"tie": "all"}, "decoder": {"readout_size": 3}}, ("output",), "without readout_size"),
    ({"encoder": SELF}, ("bridge",), "requires an encoder with a final state; use 'mean' or 'zero'"),
    ({"encoder": SELF, "bridge": "copy"}, ("bridge",), "requires an encoder with a final state; use 'mean' or 'zero'"),
    ({"decoder": SELF}, ("bridge",), "is 'final', but this decoder has no initial state; use 'none'"),
    ({"decoder": SELF, "bridge": "zero"}, ("bridge",), "is 'zero', but this decoder has no initial state; use 'none'"),
    (
        {"bridge": "none"},
        ("bridge",),
        "this decoder has an initial state; use 'final', 'zero', 'mean', 'copy' or 'layerwise'",
    ),
    ({"decoder": SELF, "bridge": "none", "score": "none"}, ("decoder",), "a score other than none"),
    (
        {"decoder": {**SELF, "readout_size": 3}, "bridge": "none", "embedding": {"tie": "output"}},
        ("output",),
        "without readout_size",
    ),
    ({"output": {"label_smoothing": 1.0}}, ("output", "label_smoothing"), "less than 1"),
    ({"output": {"kind": "pointer"}, "score": "none"}, ("output",), "'pointer' requires attention"),
    ({"output": {"kind": "pointer", "supervised": 1}}, ("output", "supervised"), "true or false"),
    (
        {"attention": {"sentences": "|", "window": "monotonic"}},
        ("attention", "sentences"),
        "cannot be combined with a window; use window: none",
    ),
    (
        {"encoder": {"kind": "convolutional"}},
        ("bridge",),
        "requires an encoder with a final state; use 'mean' or 'zero'",
    ),
    (
        {"encoder": {"kind": "convolutional"}, "bridge": {"kind": "copy", "layers": "first"}},
        ("bridge",),
        "requires an encoder with a final state; use 'mean' or 'zero'",
    ),
]


@pytest.mark.parametrize(("options", "path", "message"), REFUSED)
def test_what_does_not_fit_is_refused_at_its_key(options: dict[str, Any], path: tuple[str, ...], message: str) -> None:
    """By the check of the configuration and by building alike."""
    model = settings(**options)
    (problem,) = problems(model)
    assert problem.path == ("model", *path)
    assert message in problem.message
    with pytest.raises(UserError) as raised:
        build.build(model, (SYMBOLS,), SYMBOLS)
    assert str(raised.value) == str(problem)


def test_several_faults_are_told_at_once() -> None:
    """Those of options first; then all that do not fit, each part going on beside the others."""
    several = settings(score="dott", bridge="copi", encoder={"sizee": 3})
    assert [problem.path[1] for problem in problems(several)] == ["encoder", "bridge", "attention"]
    unfit = settings(score="dot", bridge="copy", decoder={"size": 5, "readout_size": 3}, embedding={"tie": "output"})
    assert [problem.path[1] for problem in problems(unfit)] == ["attention", "bridge", "output"]


def test_checking_allocates_nothing() -> None:
    huge = settings(embedding={"size": 100_000}, encoder={"size": 200_000}, decoder={"size": 400_000})
    assert problems(huge) == []


def test_two_vocabularies_of_other_sizes_cannot_share_a_table(golden: Golden) -> None:
    with pytest.raises(UserError, match=r"^model\.embedding\.tie:") as raised:
        build.build(settings(embedding={"tie": "languages"}), (9,), 11)
    golden(str(raised.value))


def test_each_side_has_its_own_vocabulary() -> None:
    model = build.build(settings(), (9,), 11)
    assert model.source_encoders[0].embedding.table.shape == (9, 4)
    assert model.target_embedding.table.shape == (11, 4)
    assert model.output.log_probs(Readout(torch.zeros(1, 4))).shape == (1, 11)


@pytest.mark.parametrize(
    ("tie", "tables"),
    [("none", 3), ("output", 2), ("languages", 2), ("all", 1)],
)
def test_tied_tables_are_one_parameter(tie: str, tables: int) -> None:
    """Shared, counted once, and still shared after a training step."""
    torch.manual_seed(0)
    model = build.build(settings(embedding={"tie": tie}), (SYMBOLS,), SYMBOLS)
    source, target = (
        embedding.get_parameter("table") for embedding in (model.source_encoders[0].embedding, model.target_embedding)
    )
    output = model.output.weight
    assert (source is target) == (tie in ("languages", "all"))
    assert (target is output) == (tie in ("output", "all"))
    wide = [parameter for parameter in model.parameters() if parameter.shape == (SYMBOLS, 4)]
    assert len(wide) == tables
    start = target.detach().clone()
    before, after = train(model)
    assert after < before
    assert not torch.equal(start, target)


def test_the_same_seed_gives_the_same_weights() -> None:
    models = []
    for _ in range(2):
        torch.manual_seed(3)
        models.append(build.build(settings(), (SYMBOLS,), SYMBOLS))
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(one, other)


def test_complete_spells_out_every_option_and_changes_no_model() -> None:
    short = settings(score={"kind": "additive"}, decoder={"attend": "before"})
    full = build.complete_config(short)
    assert full.decoder.options["layers"] == 1
    assert full.decoder.options["attend"] == "before"
    assert full.attention.score == Spec("additive", {"size": None, "layer_norm": "none"})
    assert full.output.options == {"label_smoothing": 0.0}
    assert build.complete_config(full) == full
    torch.manual_seed(0)
    one = build.build(short, (SYMBOLS,), SYMBOLS)
    torch.manual_seed(0)
    other = build.build(full, (SYMBOLS,), SYMBOLS)
    assert torch.equal(one(BATCH).features, other(BATCH).features)


@pytest.mark.spec("A1")
def test_no_attention_is_a_choice_of_score() -> None:
    assert isinstance(build_model(score="none").decoder.attention.attention, NoAttention)
    assert build.complete_config(settings(score="none")).attention.score == Spec("none")


def test_what_needs_attention_is_refused_without_any() -> None:
    attention = {"terms": ["coverage", "wait"], "normalizer": "sparsemax", "window": "monotonic", "sentences": "."}
    errors = build.find_problems(whole(settings(score="none", attention=attention)))
    assert [problem.path[2] for problem in errors] == ["terms", "normalizer", "window", "sentences"]
    assert all("requires attention (score other than none)" in problem.message for problem in errors)


def test_a_problem_of_every_layer_is_told_once() -> None:
    decoder = {"kind": "self_attention", "heads": 2, "layers": 3}
    attention = {"normalizer": "sparsemax", "sentences": "."}
    errors = build.find_problems(whole(settings(bridge="none", attention=attention, decoder=decoder)))
    assert len({problem for problem in errors if problem.path[-1] == "sentences"}) == 1
    assert len(errors) == len(set(errors))

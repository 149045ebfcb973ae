"""Models of a text and of regions: sizes, padding, missing images, and images that only start the decoder."""

from typing import Any

import numpy as np
import pytest
import torch

from dragoman.configuration.config import Config, ModelConfig
from dragoman.data.batch import Batch, FeatureBatch
from dragoman.errors import UserError
from dragoman.model import build
from dragoman.model.inputs import Regions
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.beam import Beam
from dragoman.search.greedy import Greedy
from dragoman.search.limits import LengthLimit
from tests.builders import BATCH, SYMBOLS, model_problems, noise, part, sentences, settings, shaken, whole
from tests.golden import Golden
from tests.model import loops

NUMBERS = 6
COUNTS = (3, 1, 2)
MASK = torch.tensor([[place < count for place in range(3)] for count in COUNTS])
IMAGES = FeatureBatch(noise(3, 3, NUMBERS, seed=5).masked_fill(~MASK.unsqueeze(2), 0.0), MASK)
COMBINATIONS: dict[str, Any] = {
    "concatenation": "concatenation",
    "flat": {"kind": "flat", "sentinel": True},
    "hierarchical": {"kind": "hierarchical", "sentinel": True},
}


def configured(**options: Any) -> ModelConfig:
    """The section `model`; the parts that `settings` does not know are set beside."""
    beside = {name: options.pop(name) for name in ("combination", "features", "initial_state_only") if name in options}
    plain = settings(**options)
    return ModelConfig.model_validate({**{name: getattr(plain, name) for name in type(plain).model_fields}, **beside})


def make(*, attended: bool = True, numbers: int = NUMBERS, **options: Any) -> Seq2Seq:
    torch.manual_seed(0)
    sources = SYMBOLS, Regions(numbers, attended)
    return shaken(build.build(configured(**options), sources, SYMBOLS)).eval()


def batch(images: FeatureBatch = IMAGES) -> Batch:
    return Batch((*BATCH.sources, images), BATCH.target, BATCH.rows)


@pytest.mark.spec("C10")
@pytest.mark.parametrize("score", ["additive", "bilinear"])
@pytest.mark.parametrize("name", COMBINATIONS)
def test_states_of_unequal_sizes_are_combined(name: str, score: str) -> None:
    """Those of words have 4 numbers, those of regions 6. What stands in padding does not matter, nor how wide it is."""
    model = make(combination=COMBINATIONS[name], score=score)
    assert [source_encoder.encoder.size for source_encoder in model.source_encoders] == [4, NUMBERS]
    scored = model.score(batch())
    assert [part.shape[2] for part in scored.attention][:2] == [4, 3]
    sums = torch.stack([part.sum(2) for part in scored.attention]).sum(0)
    together = 2.0 if name == "concatenation" else 1.0
    torch.testing.assert_close(sums, torch.full_like(sums, together))
    assert not scored.attention[1][~MASK.unsqueeze(1).expand_as(scored.attention[1])].any()
    wide = torch.cat([MASK, torch.zeros(3, 2, dtype=torch.bool)], 1)
    values = torch.cat([IMAGES.values, torch.zeros(3, 2, NUMBERS)], 1).masked_fill(~wide.unsqueeze(2), 9.0)
    torch.testing.assert_close(model.score(batch(FeatureBatch(values, wide))).log_probs, scored.log_probs)
    for row, count in enumerate(COUNTS):
        text = sentences(*[[int(symbol) for symbol in BATCH.sources[0][0][row] if symbol > 3]])
        alone = FeatureBatch(IMAGES.values[row : row + 1, :count], MASK[row : row + 1, :count])
        target = part(BATCH.target, slice(row, row + 1))
        alone_scored = model.score(Batch((text, alone), target, np.arange(1)))
        torch.testing.assert_close(alone_scored.log_probs[0], scored.log_probs[row])


@pytest.mark.spec("C10")
@pytest.mark.parametrize("initial_state_only", [True, False])
@pytest.mark.parametrize(
    "combination", ["concatenation", *({"kind": kind, "sentinel": False} for kind in ("flat", "hierarchical"))]
)
def test_a_sentence_without_anything_to_look_at_has_probabilities(
    combination: Any, initial_state_only: bool, golden: Golden
) -> None:
    """Where nothing is left but what starts the decoder, or nothing at all, all weights are 0."""
    other: dict[str, Any] = {"initial_state_only": ["image"]} if initial_state_only else {}
    missing = part(BATCH.sources[0], ...)
    missing = missing._replace(mask=missing.mask.clone())
    missing.mask[1] = False
    images = FeatureBatch(
        IMAGES.values, IMAGES.mask if initial_state_only else IMAGES.mask & (torch.arange(3) != 1).unsqueeze(1)
    )
    if initial_state_only and combination != "concatenation":
        with pytest.raises(UserError) as raised:
            make(attended=False, combination=combination, **other)
        golden(str(raised.value))
        return
    model = make(attended=not initial_state_only, combination=combination, **other)
    read = Batch((missing, images), BATCH.target, BATCH.rows)
    scored = model.score(read)
    assert scored.log_probs.isfinite().all()
    assert not any(part[1].any() for part in scored.attention)
    (-scored.log_probs.sum()).backward()
    assert all(parameter.grad is None or parameter.grad.isfinite().all() for parameter in model.parameters())
    torch.testing.assert_close(scored.log_probs[[0, 2]], model.score(batch(images)).log_probs[[0, 2]])


@pytest.mark.spec("C10")
def test_sums_need_equal_sizes(golden: Golden) -> None:
    with pytest.raises(UserError, match=r"^model\.combination:") as raised:
        make(combination="sum")
    golden(str(raised.value))
    make(combination="sum", features={"kind": "projection", "size": 4}).score(batch())


@pytest.mark.spec("C10")
@pytest.mark.parametrize(
    "features",
    [
        {"kind": "projection", "size": 3},
        {"kind": "rnn", "size": 3},
        {"kind": "self_attention", "size": 4, "heads": 2},
        {"kind": "convolutional", "size": 3},
    ],
    ids=lambda options: options["kind"],
)
def test_regions_are_read_by_any_encoder(features: dict[str, Any]) -> None:
    model = make(features=features, bridge="mean")
    model(batch()).features.sum().backward()
    assert all(parameter.grad is not None for parameter in model.source_encoders[1].parameters())


@pytest.mark.spec("C10")
def test_a_missing_image_leaves_nothing() -> None:
    """What would be there does not matter, and it is not attended to."""
    model = make(combination="hierarchical", features={"kind": "projection", "size": 5})
    there = MASK & torch.tensor([True, False, True]).unsqueeze(1)
    one = model.score(batch(FeatureBatch(IMAGES.values, there)))
    other = model.score(batch(FeatureBatch(IMAGES.values.masked_fill(~there.unsqueeze(2), 7.0), there)))
    torch.testing.assert_close(one.log_probs, other.log_probs)
    assert not one.attention[1][1].any()
    assert one.attention[0][1].sum(1).tolist() == pytest.approx([1.0] * one.attention[0].size(1))


@pytest.mark.spec("C12")
def test_an_image_that_only_starts_the_decoder() -> None:
    """`s_0 = tanh(W [h^f; W_i v + b_i] + b)` (Calixto and Liu 2017), and attention is to the text alone."""
    model = make(attended=False, features={"kind": "projection", "size": 5})
    vectors = FeatureBatch(noise(3, 1, NUMBERS, seed=6), torch.ones(3, 1, dtype=torch.bool))
    text, _ = memories = model.encode(batch(vectors).sources)
    p = loops.numbers(model)
    state = model.start(memories)
    for row in range(3):
        v = loops.array(vectors.values[row, 0])
        projected = loops.times(p["source_encoders.1.encoder.map.weight"], v) + p["source_encoders.1.encoder.map.bias"]
        z = loops.join(loops.array(text.final[-1][0][row]), projected)
        start = loops.tanh(loops.times(p["bridge.projections.0.weight"], z) + p["bridge.projections.0.bias"])
        np.testing.assert_allclose(loops.array(state.step_state.decoder.layers[0][0][row]), start, atol=1e-12)
    scored = model.score(batch(vectors))
    assert [part.shape[2] for part in scored.attention] == [4, 0]
    plain = model.decoder.start((text,), model.bridge(memories))
    read = model.embed_targets(BATCH.target.ids, state)
    torch.testing.assert_close(model.unroll(state, BATCH.target.ids), model.decoder.unroll(read, plain))
    other = model.score(batch(FeatureBatch(vectors.values + 1, vectors.mask)))
    assert not torch.allclose(scored.log_probs, other.log_probs)


@pytest.mark.parametrize("attended", [True, False])
@pytest.mark.parametrize("search", [Greedy(), Beam(size=3, coverage_penalty=0.2)], ids=["greedy", "beam"])
def test_searches_find_the_attention_of_every_source(search: Greedy | Beam, attended: bool) -> None:
    model = make(attended=attended, combination={"kind": "hierarchical", "sentinel": True})
    for row, (best, *_) in enumerate(search(model, batch().sources)):
        words = int(BATCH.sources[0].mask[row].sum())
        steps = len(best.symbols) + 1
        regions = COUNTS[row] if attended else 0
        assert [part.shape for part in best.attention] == [(steps, words), (steps, regions), (steps, 1)]
        np.testing.assert_allclose(sum(part.sum(1) for part in best.attention), np.ones(steps), rtol=1e-6)


def test_many_regions_make_no_long_translations() -> None:
    many = FeatureBatch(torch.zeros(3, 500, 1), torch.tensor([True, True, False]).unsqueeze(1).expand(3, 500))
    limit = LengthLimit(2.0, 10)
    assert limit.max_steps((*BATCH.sources, many)) == [70, 70, 16]
    assert limit.max_steps((many,)) == [70, 70, 10]


@pytest.mark.spec("C10")
def test_a_picture_alone_is_captioned() -> None:
    torch.manual_seed(0)
    model = shaken(build.build(configured(features={"kind": "projection", "size": 4}), (Regions(NUMBERS),), SYMBOLS))
    scored = model.eval().score(Batch((IMAGES,), BATCH.target, BATCH.rows))
    assert scored.attention[0].shape == (*BATCH.target.ids.shape, 3)


REFUSED: list[tuple[dict[str, Any], tuple[str | int, ...], str]] = [
    ({"features": {"kind": "projection", "sise": 3}}, ("features", "sise"), "did you mean 'size'"),
    ({"features": "projektion"}, ("features", "kind"), "did you mean 'projection'"),
    (
        {"attention": {"terms": ["coverage_embedding"]}},
        ("attention", "terms", 0),
        "'coverage_embedding' requires a text source",
    ),
    ({"attention": {"terms": ["wait"]}, "bridge": "zero"}, ("attention", "terms", 0), "'wait' requires a text source"),
    ({"attention": {"sentences": "."}}, ("attention", "sentences"), "require a text source"),
    (
        {"initial_state_only": ["image"], "bridge": "zero"},
        ("initial_state_only",),
        "a decoder with an initial state (model.bridge: zero)",
    ),
    ({"combination": "sum", "features": {"kind": "projection", "size": 3}}, ("combination",), "sizes 4, 3"),
    ({"decoder": {"kind": "self_attention", "heads": 2}, "bridge": "none"}, ("decoder",), "supports a single source"),
    ({"score": "dot", "features": {"kind": "projection", "size": 3}}, ("attention", "score"), "encoder states (3)"),
    ({"features": {"kind": "self_attention", "size": 4, "heads": 2}}, ("bridge",), "use 'mean'"),
]


def with_image(model: ModelConfig) -> Config:
    """A complete configuration around that section, with an image beside the text."""
    plain = whole(model)
    data = plain.data.model_copy(update={"source": ("en", "image"), "features": ("image",)})
    return plain.model_copy(update={"data": data})


@pytest.mark.parametrize(("options", "path", "message"), REFUSED)
def test_what_does_not_fit_is_refused_before_there_are_data(
    options: dict[str, Any], path: tuple[str | int, ...], message: str
) -> None:
    errors = model_problems(with_image(configured(**options)))
    assert [problem.path for problem in errors if message in problem.message] == [("model", *path)], errors


def test_arrays_of_any_size_fit_where_a_size_is_not_known() -> None:
    assert build.find_problems(with_image(configured(combination="sum"))) == []

"""`dragoman.nn`: parts of models that are built and trained without the rest of the package."""

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import Module, functional

from dragoman import nn
from dragoman.model.attention.normalizers import NORMALIZERS
from dragoman.model.attention.scores import SCORES
from dragoman.model.attention.terms.table import TERMS
from dragoman.model.attention.windows import WINDOWS, Window
from dragoman.model.decoder.table import DECODERS
from dragoman.model.encoder.table import FEATURE_ENCODERS
from dragoman.model.readout import READOUTS
from dragoman.model.recurrent import CELLS
from tools import reference

SYMBOLS, SIZE = 12, 24


def test_every_part_that_needs_no_vocabulary_has_a_name() -> None:
    tables: list[Mapping[str, Any]] = [SCORES, NORMALIZERS, TERMS, DECODERS, FEATURE_ENCODERS, READOUTS, CELLS]
    parts = {part.__name__ for table in tables for part in table.values()}
    parts |= {window.__name__ for window in WINDOWS.values() if issubclass(window, Window)}
    assert len(parts) >= 37
    assert parts <= {*nn.__all__}
    assert nn.__all__ == sorted(nn.__all__)
    assert all(hasattr(nn, name) for name in nn.__all__)


def test_every_name_is_documented(tmp_path: Path) -> None:
    reference.write(tmp_path)
    page = (tmp_path / "modules.md").read_text("utf-8")
    assert re.findall(r"^\.\. auto\w+:: dragoman\.nn\.(\w+)$", page, re.MULTILINE) == nn.__all__
    assert [name for name in nn.__all__ if not getattr(nn, name).__doc__] == []
    modules = [part for name in nn.__all__ if inspect.isclass(part := getattr(nn, name)) and issubclass(part, Module)]
    own = [module for module in modules if module.forward is not Module.forward]
    assert [module for module in own if inspect.getdoc(module.forward) == inspect.getdoc(Module.forward)] == []


def test_it_is_imported_when_it_is_used() -> None:
    code = "import sys, dragoman; before = 'torch' in sys.modules; print(before, dragoman.nn.Softmax.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False Softmax\n"


class OwnModel(torch.nn.Module):
    """A sequence-to-sequence model of such parts, with an embedding of PyTorch."""

    def __init__(self, encoder: Any, decoder: Any, bridge: Any) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(SYMBOLS, SIZE)
        self.encoder, self.decoder, self.bridge = encoder, decoder, bridge
        self.output = nn.SoftmaxOutput(decoder.features_size, SYMBOLS)

    def start(self, source: Tensor) -> nn.DecoderState:
        memories = (self.encoder(self.embedding(source), source != 0),)
        state: nn.DecoderState = self.decoder.start(memories, self.bridge(memories) if self.bridge else ())
        return state

    def forward(self, source: Tensor, target: Tensor) -> nn.Loss:
        """Return the loss of the real symbols."""
        previous = functional.pad(target[:, :-1], (1, 0), value=1)
        unrolled = self.decoder.unroll(self.embedding(previous), self.start(source))
        real = target != 0
        return self.output.loss(nn.Readout(unrolled.features[real]), target[real])


def additive(query: int, states: tuple[int, ...]) -> nn.GlobalAttention:
    return nn.GlobalAttention(nn.AdditiveScore(query, *states), nn.Softmax())


def scaled(query: int, states: tuple[int, ...]) -> nn.GlobalAttention:
    return nn.GlobalAttention(nn.ScaledDotScore(query, *states), nn.Softmax())


def covered(query: int, states: tuple[int, ...]) -> nn.GlobalAttention:
    term = nn.CoverageTerm(nn.TermSizes(query, *states))
    return nn.GlobalAttention(nn.AdditiveScore(query, states[0], term.features), nn.Entmax(), [term])


def recurrent(attention: Callable[..., nn.GlobalAttention], cell: str) -> OwnModel:
    encoder = nn.RnnEncoder(SIZE, cell=cell, size=SIZE)
    decoder = nn.RnnDecoder(SIZE, (encoder.size,), attention, cell=cell, size=SIZE)
    return OwnModel(encoder, decoder, nn.FinalStateBridge((encoder.state_shape,), decoder.state_shape))


def transformer() -> OwnModel:
    options: dict[str, Any] = {"size": SIZE, "heads": 2, "layers": 1}
    encoder = nn.SelfAttentionEncoder(SIZE, **options)
    return OwnModel(encoder, nn.SelfAttentionDecoder(SIZE, (encoder.size,), scaled, **options), None)


MODELS: dict[str, Callable[[], OwnModel]] = {
    "gru": lambda: recurrent(additive, "gru"),
    "lstm with coverage": lambda: recurrent(covered, "lstm"),
    "transformer": transformer,
}


def batches(count: int) -> Iterator[Tensor]:
    for _ in range(count):
        numbers = torch.randint(2, SYMBOLS, (32, 5))
        yield numbers.masked_fill(torch.arange(5) >= torch.randint(2, 6, (32, 1)), 0)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_these_parts_learns_to_copy(name: str) -> None:
    torch.manual_seed(1)
    model = MODELS[name]()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for numbers in batches(60):
        loss = model(numbers, numbers)
        optimizer.zero_grad()
        (loss.total / loss.symbols).backward()
        optimizer.step()
        losses.append(float(loss.total.detach()) / loss.symbols)
    assert losses[0] > 2
    assert sum(losses[-5:]) / 5 < 0.5 * losses[0]


@pytest.mark.parametrize("name", MODELS)
def test_padding_changes_nothing(name: str) -> None:
    torch.manual_seed(1)
    model = MODELS[name]().double().eval()
    numbers = next(batches(1))[:4]
    padded = functional.pad(numbers, (0, 3))
    torch.testing.assert_close(model(padded, padded).total, model(numbers, numbers).total, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_steps_are_those_of_the_unrolling(name: str) -> None:
    torch.manual_seed(1)
    model = MODELS[name]().double().eval()
    numbers = next(batches(1))[:4]
    embedded, state = model.embedding(numbers), model.start(numbers)
    unrolled = model.decoder.unroll(embedded, state)
    for position in range(numbers.size(1)):
        step = model.decoder.step(embedded[:, position], state)
        state = step.state
        torch.testing.assert_close(step.features, unrolled.features[:, position], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("score", SCORES)
def test_the_gradients_of_attention_are_right(score: str, normalizer: str) -> None:
    torch.manual_seed(1)
    attention = nn.GlobalAttention(SCORES[score](3, 3), NORMALIZERS[normalizer]()).double().eval()
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    queries = torch.randn(2, 3, 3, dtype=torch.float64, requires_grad=True)
    states = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)

    def attend(queries: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        weights, read = attention.attend(queries, attention.prepare(nn.Memory(states, mask)))
        return weights, read.context

    assert torch.autograd.gradcheck(attend, (queries, states), check_batched_grad=False)
    weights, _ = attend(queries, states)
    assert not weights[1, :, 2:].any()


def test_a_window_and_single_steps_of_cells_need_no_more() -> None:
    states, mask = torch.randn(2, 6, 8), torch.ones(2, 6, dtype=torch.bool)
    local = nn.LocalAttention(nn.GlobalAttention(nn.DotScore(8, 8), nn.Softmax()), nn.Monotonic(8, width=1))
    source = local.prepare(nn.Memory(states, mask))
    output = local(torch.randn(2, 8), torch.randn(2, 4), source, local.start(source))
    assert output.context.shape == (2, 8)
    assert (output.history.weights > 0).sum(1).tolist() == [2, 2]
    for cell in (nn.TanhRnn(8, 5), nn.Lstm(8, 5), nn.Gru(8, 5), nn.GruAn(8, 5)):
        outputs, final = nn.run_cell(cell, states, mask)
        torch.testing.assert_close(outputs[:, -1], final[0])


def test_sizes_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"requires equal sizes of decoder state \(3\) and encoder states \(4\)"):
        nn.DotScore(3, 4)


def test_the_examples_of_the_page_run_as_printed(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (repository / "docs" / "modules.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    values: dict[str, Any] = {}
    exec("\n".join(blocks), values)
    first, last = map(float, capsys.readouterr().out.split(" to "))
    assert first > 2 > 0.5 > last
    assert values["context"].shape == (5, 64)
    assert values["loss"].symbols == 20

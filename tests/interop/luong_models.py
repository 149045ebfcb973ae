"""Attentional models with torch's own cells, one sentence at a time: random weights, log P, and the files of OpenNMT-py
and fairseq that hold them.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

WORDS = ["the", "cat", "no", "1e3", "~", "is", "'s", '"']
FAIRSEQ = ["<s>", "<pad>", "</s>", "<unk>", *WORDS]
OPENNMT = ["<unk>", "<blank>", "<s>", "</s>", *WORDS]
EMBEDDING = 8
SENTENCES = [("the cat", "no 1e3 ~"), ("is 's unheard \"", "the"), ("~ ~ ~ ~", "cat the cat"), ("no", "")]


@dataclass(frozen=True)
class Shape:
    """The options of a model."""

    cell: str = "lstm"
    encoder: int = 3  # of a direction
    decoder: int = 6
    layers: int = 1
    bidirectional: bool = True
    feeds: bool = True
    score: str = "general"
    last: int | None = None  # the size of a second map before the output
    tied: bool = False
    bridge: bool = False  # OpenNMT-py's, with relu


class Luong(nn.Module):
    """`tanh(W [c; s])`, and for the score `mlp` the same with a bias and without tanh."""

    def __init__(self, shape: Shape, symbols: tuple[int, int]) -> None:
        super().__init__()
        self.shape, size = shape, shape.decoder
        states = shape.encoder * (2 if shape.bidirectional else 1)
        kinds: Any = {"lstm": (nn.LSTM, nn.LSTMCell), "gru": (nn.GRU, nn.GRUCell)}[shape.cell]
        self.source, self.target = (nn.Embedding(count, EMBEDDING) for count in symbols)
        self.encoder = kinds[0](EMBEDDING, shape.encoder, shape.layers, bidirectional=shape.bidirectional)
        widths = [EMBEDDING + (size if shape.feeds else 0), *[size] * (shape.layers - 1)]
        self.cells: Any = nn.ModuleList(kinds[1](width, size) for width in widths)
        self.mixture = nn.Linear(states + size, size, bias=shape.score == "mlp")
        self.query = nn.Linear(size, size if shape.score == "mlp" else states, bias=shape.score == "mlp")
        self.key, self.vector = nn.Linear(states, size, bias=False), nn.Linear(size, 1, bias=False)
        self.bridges: Any = None
        self.mixing: Any = None
        if shape.bridge:
            width = shape.encoder * shape.layers
            self.mixing = nn.ModuleList(nn.Linear(width, width) for _ in range(2 if shape.cell == "lstm" else 1))
        if states != size:
            self.bridges = nn.ModuleList(nn.Linear(states, size) for _ in range(2))
        self.second = nn.Linear(size, shape.last) if shape.last else None
        self.output = nn.Linear(shape.last or size, symbols[1])
        torch.manual_seed(0)
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.5)
            parameter.data.copy_(parameter.data.float())
        if shape.tied:
            self.output.weight, self.output.bias = self.target.weight, nn.Parameter(torch.zeros(symbols[1]))
        self.double()

    def energies(self, query: Tensor, states: Tensor) -> Tensor:
        if self.shape.score == "mlp":
            energies: Tensor = self.vector(torch.tanh(self.query(query) + self.key(states)))[:, 0]
            return energies
        return states @ (query if self.shape.score == "dot" else self.query(query))

    def starts(self, final: Any) -> list[Any]:
        """The first state of each layer: the states of both directions of the same layer of the encoder."""
        parts = final if isinstance(final, tuple) else (final,)
        if self.mixing:  # rows of all states of a sentence, as wide as those of one direction of all layers
            parts = tuple(
                torch.relu(mix(part.reshape(-1, self.shape.encoder * self.shape.layers)))
                for mix, part in zip(self.mixing, parts, strict=True)
            )
        by_layer = [part.reshape(self.shape.layers, -1) for part in parts]
        if self.bridges:
            by_layer = [bridge(part) for bridge, part in zip(self.bridges, by_layer, strict=True)]
        layers = [tuple(part[number : number + 1] for part in by_layer) for number in range(self.shape.layers)]
        return layers if isinstance(final, tuple) else [state for (state,) in layers]

    @torch.no_grad()
    def log_probs(self, source: list[int], target: list[int], start: int) -> list[float]:
        states, final = self.encoder(self.source(torch.tensor(source)))
        layers, fed, logs = self.starts(final), torch.zeros(1, self.shape.decoder).double(), []
        for read, symbol in zip([start, *target[:-1]], target, strict=True):
            x = self.target(torch.tensor([read]))
            x = torch.cat([x, fed], 1) if self.shape.feeds else x
            for number, cell in enumerate(self.cells):
                layers[number] = cell(x, layers[number])
                x = layers[number][0] if isinstance(layers[number], tuple) else layers[number]
            context = torch.softmax(self.energies(x[0], states), 0) @ states
            mixed = self.mixture(torch.cat([context, x[0]]))
            mixed = mixed if self.shape.score == "mlp" else torch.tanh(mixed)
            fed = mixed[None]
            features = self.second(mixed) if self.second else mixed
            logs.append(torch.log_softmax(self.output(features), 0)[symbol].item())
        return logs


def renamed(prefix: str, module: nn.Module, rename: Callable[[str], str] = str) -> dict[str, Tensor]:
    return {f"{prefix}{rename(name)}": tensor.float() for name, tensor in module.state_dict().items()}


def fairseq_state(model: Luong) -> dict[str, Tensor]:
    """The tensors with the names of fairseq."""
    state = renamed("encoder.embed_tokens.", model.source) | renamed("decoder.embed_tokens.", model.target)
    state |= renamed("encoder.lstm.", model.encoder) | renamed("decoder.layers.", model.cells)
    state |= renamed("decoder.attention.output_proj.", model.mixture)
    state |= renamed("decoder.attention.input_proj.", model.query)
    for part, bridge in zip(("hidden", "cell"), model.bridges or (), strict=False):
        state |= renamed(f"decoder.encoder_{part}_proj.", bridge)
    if model.second:
        state |= renamed("decoder.additional_fc.", model.second)
    return state if model.shape.tied else state | renamed("decoder.fc_out.", model.output)


def write_fairseq(folder: Path, model: Luong, *, old: bool = False, **options: Any) -> Path:
    """A folder as fairseq 0.12 writes it, or an older version."""
    folder.mkdir(exist_ok=True)
    for language in ("en", "de"):
        lines = [f"{word} {number + 1}\n" for number, word in enumerate(WORDS)]
        (folder / f"dict.{language}.txt").write_text("".join(lines), "utf-8")
    values = {"arch": "lstm", "source_lang": "en", "target_lang": "de", **options}
    arguments = argparse.Namespace(**values)
    config: dict[str, Any] = {"args": arguments} if old else {"args": None, "cfg": {"model": arguments}}
    state = fairseq_state(model) | {"decoder.version": torch.tensor([3.0])}
    checkpoint: dict[str, Any] = {**config, "model": state, "optimizer_history": []}
    torch.save(checkpoint, folder / "checkpoint_best.pt", _use_new_zipfile_serialization=not old)
    return folder


class TextMultiField:
    """As that of version 1 and 2: fields by name."""

    def __init__(self, name: str, symbols: list[str]) -> None:
        self.fields = [(name, Field(symbols))]


class Field:
    """As that of torchtext."""

    def __init__(self, symbols: list[str]) -> None:
        self.vocab = Vocab(symbols)


class Vocab:
    """As that of torchtext."""

    def __init__(self, symbols: list[str]) -> None:
        self.itos = symbols


def source_symbols(version: int) -> list[str]:
    """Before version 3, a source had no start and no end symbol."""
    return OPENNMT if version == 3 else [symbol for symbol in OPENNMT if symbol not in ("<s>", "</s>")]


def write_opennmt(path: Path, model: Luong, version: int, **options: Any) -> Path:
    """A file as a version of OpenNMT-py writes it."""
    state = renamed("encoder.embeddings.make_embedding.emb_luts.0.", model.source)
    state |= renamed("decoder.embeddings.make_embedding.emb_luts.0.", model.target)
    state |= renamed("encoder.rnn.", model.encoder) | renamed("decoder.attn.linear_out.", model.mixture)
    for number, cell in enumerate(model.cells):
        prefix, suffix = (f"decoder.rnn.layers.{number}.", "") if model.shape.feeds else ("decoder.rnn.", f"_l{number}")
        state |= renamed(prefix, cell, lambda name, end=suffix: f"{name}{end}")  # type: ignore[misc]
    if model.mixing:
        state |= renamed("encoder.bridge.", model.mixing)
    if model.shape.score == "mlp":
        state |= renamed("decoder.attn.linear_query.", model.query) | renamed("decoder.attn.v.", model.vector)
        state |= renamed("decoder.attn.linear_context.", model.key)
    elif model.shape.score == "general":
        state |= renamed("decoder.attn.linear_in.", model.query)
    symbols = {"src": source_symbols(version), "tgt": OPENNMT}
    vocabularies: Any = {
        0: [(side, Vocab(listed)) for side, listed in symbols.items()],
        1: {side: TextMultiField(side, listed) for side, listed in symbols.items()},
        3: {**symbols, "data_task": "seq2seq", "decoder_start_token": "<s>"},
    }[version]
    values = {"encoder_type": "brnn" if model.shape.bidirectional else "rnn", "decoder_type": "rnn", **options}
    generator = renamed("" if version == 3 else "0.", model.output)
    checkpoint = {"model": state, "generator": generator, "vocab": vocabularies, "opt": argparse.Namespace(**values)}
    torch.save(checkpoint, path, _use_new_zipfile_serialization=version > 0)
    return path

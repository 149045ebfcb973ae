"""JoeyNMT's models with torch's own layers, one sentence at a time: random weights under its names, and log P."""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

SYMBOLS = ["<unk>", "<pad>", "<s>", "</s>", "the", "cat", "no", "1e3", "~", "is", "'s", '"']
BOS, EOS = 2, 3
ACTIVATIONS = {"relu": torch.relu, "gelu": functional.gelu, "swish": functional.silu}
EMBEDDING = 8


def parts(**modules: nn.Module) -> nn.ModuleDict:
    return nn.ModuleDict(modules)


class Joey(nn.Module):
    """What models of both types share."""

    decoder: Any

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__()
        self.options, self.source, self.target = options, options["encoder"], options["decoder"]
        self.src_embed, self.trg_embed = (parts(lut=nn.Embedding(len(SYMBOLS), EMBEDDING)) for _ in range(2))
        if options.get("tied_embeddings"):
            self.trg_embed = self.src_embed

    def draw(self) -> "Joey":
        """Draw weights, and tie those that are tied."""
        torch.manual_seed(0)
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.5)
        if self.options.get("tied_softmax"):
            self.decoder["output_layer"].weight = self.trg_embed["lut"].weight
        return self.double()

    def embed(self, side: str, ids: list[int]) -> Tensor:
        scale = self.options[{"src": "encoder", "trg": "decoder"}[side]]["embeddings"].get("scale")
        table: Any = getattr(self, f"{side}_embed")["lut"]
        vectors: Tensor = table(torch.tensor(ids))
        return vectors * math.sqrt(EMBEDDING) if scale else vectors

    def features(self, source: list[int], target: list[int]) -> Tensor:
        raise NotImplementedError

    @torch.no_grad()
    def log_probs(self, source: list[int], target: list[int]) -> list[float]:
        """log P of each target symbol; both sentences end in the end symbol."""
        features = self.features(source, [BOS, *target[:-1]])
        logs = torch.log_softmax(self.decoder["output_layer"](features), 1)
        picked: list[float] = logs[torch.arange(len(target)), torch.tensor(target)].tolist()
        return picked


class Recurrent(Joey):
    """A bidirectional encoder, and a decoder with Luong's attentional vector."""

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        kind = nn.GRU if self.source["rnn_type"] == "gru" else nn.LSTM
        own, states = self.target["hidden_size"], 2 * self.source["hidden_size"]
        self.encoder: Any = parts(
            rnn=kind(EMBEDDING, self.source["hidden_size"], self.source["num_layers"], bidirectional=True)
        )
        self.feeds = self.target.get("input_feeding", True)
        inputs = EMBEDDING + (own if self.feeds else 0)
        self.decoder = parts(
            rnn=kind(inputs, own, self.target["num_layers"]),
            att_vector_layer=nn.Linear(own + states, own),
            output_layer=nn.Linear(own, len(SYMBOLS), bias=False),
            attention=parts(key_layer=nn.Linear(states, own, bias=False)),
        )
        if self.target["attention"] == "bahdanau":
            self.decoder["attention"]["query_layer"] = nn.Linear(own, own, bias=False)
            self.decoder["attention"]["energy_layer"] = nn.Linear(own, 1, bias=False)
        if self.target.get("init_hidden", "bridge") == "bridge":
            self.decoder["bridge_layer"] = nn.Linear(states, own)

    def energies(self, query: Tensor, keys: Tensor) -> Tensor:
        attention: Any = self.decoder["attention"]
        if self.target["attention"] == "luong":
            return keys @ query
        energies: Tensor = attention["energy_layer"](torch.tanh(attention["query_layer"](query) + keys))[:, 0]
        return energies

    def features(self, source: list[int], target: list[int]) -> Tensor:
        states, final = self.encoder["rnn"](self.embed("src", source))
        hidden = final[0] if isinstance(final, tuple) else final
        last = torch.cat([hidden[-2], hidden[-1]])
        own, count = self.target["hidden_size"], self.target["num_layers"]
        start = torch.zeros(own).double()
        if "bridge_layer" in self.decoder:
            start = torch.tanh(self.decoder["bridge_layer"](last))
        if self.target.get("init_hidden") == "last":
            start = last[:own]
        state: Any = start.repeat(count, 1)
        state = (state, state) if isinstance(final, tuple) else state
        keys = self.decoder["attention"]["key_layer"](states)
        vector, vectors = torch.zeros(own).double(), []
        for embedded in self.embed("trg", target):
            read = torch.cat([embedded, vector]) if self.feeds else embedded
            output, state = self.decoder["rnn"](read[None], state)
            context = torch.softmax(self.energies(output[0], keys), 0) @ states
            vector = torch.tanh(self.decoder["att_vector_layer"](torch.cat([output[0], context])))
            vectors.append(vector)
        return torch.stack(vectors)


class Transformer(Joey):
    """Layers with norms before or after."""

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        self.encoder: Any = parts(
            layers=nn.ModuleList(self.layer(self.source) for _ in range(self.source["num_layers"]))
        )
        layers = nn.ModuleList(self.layer(self.target, decodes=True) for _ in range(self.target["num_layers"]))
        self.decoder = parts(layers=layers, output_layer=nn.Linear(EMBEDDING, len(SYMBOLS), bias=False))
        for side, part in ((self.source, self.encoder), (self.target, self.decoder)):
            if side["layer_norm"] == "pre":
                part["layer_norm"] = nn.LayerNorm(EMBEDDING, eps=1e-6)

    def layer(self, side: dict[str, Any], *, decodes: bool = False) -> nn.Module:
        def attention() -> nn.Module:
            return parts(**{f"{name}_layer": nn.Linear(EMBEDDING, EMBEDDING) for name in ("k", "v", "q", "output")})

        names = ("x_layer_norm", "dec_layer_norm") if decodes else ("layer_norm",)
        network = nn.Sequential(
            nn.Linear(EMBEDDING, side["ff_size"]), nn.Identity(), nn.Identity(), nn.Linear(side["ff_size"], EMBEDDING)
        )
        forward = parts(pwff_layer=network, layer_norm=nn.LayerNorm(EMBEDDING, eps=1e-6))
        blocks = ("trg_trg_att", "src_trg_att") if decodes else ("src_src_att",)
        norms = {name: nn.LayerNorm(EMBEDDING, eps=1e-6) for name in names}
        return parts(feed_forward=forward, **{name: attention() for name in blocks}, **norms)

    def attend(self, block: Any, states: Tensor | None, heads: int, queries: Tensor, *, causal: bool = False) -> Tensor:
        """Attend to the states, or to the queries themselves."""
        read = queries if states is None else states
        q, k, v = (
            block[f"{name}_layer"](x).view(len(x), heads, -1).transpose(0, 1)
            for name, x in (("q", queries), ("k", read), ("v", read))
        )
        values = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        mixed: Tensor = block["output_layer"](values.transpose(0, 1).reshape(len(queries), -1))
        return mixed

    def residual(self, side: dict[str, Any], norm: Any, x: Tensor, function: Any) -> Tensor:
        after: Tensor = x + function(norm(x)) if side["layer_norm"] == "pre" else norm(x + function(x))
        return after

    def forward_block(self, side: dict[str, Any], block: Any, x: Tensor) -> Tensor:
        first, _, _, second = block["pwff_layer"]
        act = ACTIVATIONS[side.get("activation", "relu")]
        return self.residual(side, block["layer_norm"], x, lambda read: second(act(first(read))))

    def positioned(self, vectors: Tensor) -> Tensor:
        steps = torch.arange(len(vectors)).double()[:, None]
        angles = steps * 10000.0 ** (-torch.arange(0, EMBEDDING, 2).double() / EMBEDDING)
        return vectors + torch.stack([torch.sin(angles), torch.cos(angles)], 2).flatten(1)

    def features(self, source: list[int], target: list[int]) -> Tensor:
        states = self.positioned(self.embed("src", source))
        for layer in self.encoder["layers"]:
            block, heads = layer["src_src_att"], self.source["num_heads"]
            states = self.residual(self.source, layer["layer_norm"], states, partial(self.attend, block, None, heads))
            states = self.forward_block(self.source, layer["feed_forward"], states)
        states = self.encoder["layer_norm"](states) if "layer_norm" in self.encoder else states
        x, heads = self.positioned(self.embed("trg", target)), self.target["num_heads"]
        for layer in self.decoder["layers"]:
            own, cross = layer["trg_trg_att"], layer["src_trg_att"]
            x = self.residual(
                self.target, layer["x_layer_norm"], x, partial(self.attend, own, None, heads, causal=True)
            )
            x = self.residual(self.target, layer["dec_layer_norm"], x, partial(self.attend, cross, states, heads))
            x = self.forward_block(self.target, layer["feed_forward"], x)
        features: Tensor = self.decoder["layer_norm"](x) if "layer_norm" in self.decoder else x
        return features


def write(
    folder: Path, model: Joey, config: dict[str, Any] | None = None, state: dict[str, Tensor] | None = None
) -> Path:
    """A folder as JoeyNMT writes it."""
    folder.mkdir(exist_ok=True)
    values = {"data": {}, "testing": {"beam_size": 3, "beam_alpha": 0.7}, "model": model.options, **(config or {})}
    (folder / "config.yaml").write_text(json.dumps(values), "utf-8")
    for side in ("src", "trg"):
        (folder / f"{side}_vocab.txt").write_text("".join(f"{symbol}\n" for symbol in SYMBOLS), "utf-8")
    tensors = {name: tensor.float() for name, tensor in model.state_dict().items()}
    torch.save({"steps": 7, "model_state": {**tensors, **(state or {})}, "optimizer_state": {}}, folder / "best.ckpt")
    return folder


def build(options: dict[str, Any]) -> Joey:
    """A model with random weights, which a file holds exactly."""
    kind = {"recurrent": Recurrent, "transformer": Transformer}[options["encoder"]["type"]]
    model = kind(options).draw()
    for parameter in model.parameters():
        parameter.data.copy_(parameter.data.float())
    return model

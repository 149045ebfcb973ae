"""A Transformer as a specification of CTranslate2: its options and tensors, position table included."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from dragoman.data.vocabulary import BOS, EOS, PAD, SPECIALS, Vocabulary
from dragoman.model.attention.attention import GlobalAttention
from dragoman.model.attention.normalizers import Softmax
from dragoman.model.attention.scores import ScaledDotScore
from dragoman.model.decoder.transformer_decoder import SelfAttentionDecoder
from dragoman.model.embedding import Embedding, LookupEmbedding
from dragoman.model.encoder.transformer_encoder import SelfAttentionEncoder
from dragoman.model.linear import Linear
from dragoman.model.output.softmax import SoftmaxOutput
from dragoman.model.positions import RelativeBias
from dragoman.model.self_attention import SelfAttention
from dragoman.model.seq2seq import Seq2Seq
from dragoman.model.transformer_layer import GatedUnit, Gelu, GeluSigmoid, GeluTanh, RmsNorm, TransformerEmbedding

POSITIONS: Final = 2048  # rows of the position table: longer texts cannot be read or written
NEVER: Final = -1e4  # the logit of a symbol that is never written
ACTIVATIONS: Final[dict[type[nn.Module], str]] = {
    nn.ReLU: "RELU",
    nn.SiLU: "SWISH",
    Gelu: "GELU",
    GeluTanh: "GELUTanh",
    GeluSigmoid: "GELUSigmoid",
}

UNKNOWN_PARTS: Final = (RelativeBias, RmsNorm, GatedUnit)

Half: TypeAlias = SelfAttentionEncoder | SelfAttentionDecoder
Array: TypeAlias = npt.NDArray[np.float32]


def unknown_part(model: Seq2Seq) -> str:
    """Name a part of a model that CTranslate2 does not have; empty if it has all."""
    encoder, decoder = model.source_encoders[0].encoder, model.decoder
    if not isinstance(encoder, SelfAttentionEncoder):
        return f"the encoder {type(encoder).__name__}"
    if not isinstance(decoder, SelfAttentionDecoder):
        return f"the decoder {type(decoder).__name__}"
    if not isinstance(model.output, SoftmaxOutput):
        return f"the output {type(model.output).__name__}"
    for layer in decoder.layers:
        attention = layer.cross.attention
        if not isinstance(layer.attention, SelfAttention):
            return f"a decoder of {type(layer.attention).__name__}"
        if not isinstance(attention, GlobalAttention):
            return f"the attention {type(attention).__name__}"
        for part, kind in ((attention.score, ScaledDotScore), (attention.normalizer, Softmax)):
            if not isinstance(part, kind):
                return f"the attention {type(part).__name__}"
        if layer.cross.alignment_head not in (None, 1):
            return f"alignment_head: {layer.cross.alignment_head}"
    if model.read_first or model.start_id not in (BOS, EOS):
        return "a target_prefix"
    embeddings = (model.source_encoders[0].embedding, model.target_embedding)
    if other := next((part for part in embeddings if not isinstance(part, LookupEmbedding)), None):
        return f"the embedding {type(other).__name__}"
    return _unknown_variant(encoder, decoder)


def _unknown_variant(encoder: SelfAttentionEncoder, decoder: SelfAttentionDecoder) -> str:
    """Name an option of the two halves that CTranslate2 does not have."""
    halves: tuple[Half, Half] = (encoder, decoder)
    for part in (part for half in halves for part in half.modules()):
        if isinstance(part, UNKNOWN_PARTS):
            return f"the part {type(part).__name__}"
        if isinstance(part, SelfAttention) and part.out_proj.in_features != part.out_proj.out_features:
            return "a head_size"
    if any(not isinstance(half.entry.project, nn.Identity) for half in halves):
        return "embeddings of another size than its layers"
    if not isinstance(decoder.features, nn.Identity) or decoder.second_readout is not None:
        return "a readout"
    if any(not norms_first(half) and isinstance(half.norm, nn.LayerNorm) for half in halves):
        return "a final norm after layers with norm: after"
    if norms_first(encoder) != norms_first(decoder):
        return "different norms in encoder and decoder"
    if len({norm.eps for half in halves for norm in half.modules() if isinstance(norm, nn.LayerNorm)}) > 1:
        return "different norm_epsilon in encoder and decoder"
    if encoder.entry.positions.relates != decoder.entry.positions.relates:
        return "rotary positions on one side"
    return ""


def norms_first(half: Half) -> bool:
    """Whether sublayers read normalized states."""
    return next(iter(half.layers)).norm_first


def specification(model: Seq2Seq, source: Vocabulary, target: Vocabulary) -> Any:
    """The model as a `TransformerSpec` of CTranslate2, with its vocabularies. Symbols have our ids."""
    from ctranslate2 import specs

    encoder, decoder = model.source_encoders[0].encoder, model.decoder
    assert isinstance(encoder, SelfAttentionEncoder)
    assert isinstance(decoder, SelfAttentionDecoder)
    # The reported attention is the mean of all heads (0) of a layer, or that of the first (1), as ours.
    heads = decoder.layers[-1].cross.alignment_head or 0
    alignment = {"alignment_layer": decoder.alignment_layer - 1, "alignment_heads": heads}
    halves = (
        specs.TransformerEncoderSpec(**_options(encoder)),
        specs.TransformerDecoderSpec(**_options(decoder) | alignment),
    )
    spec = specs.TransformerSpec(*halves)
    _fill_half(spec.encoder, encoder, spec.encoder.embeddings[0], model.source_encoders[0].embedding)
    _fill_half(spec.decoder, decoder, spec.decoder.embeddings, model.target_embedding)
    for layer_spec, layer in zip(spec.decoder.layer, decoder.layers, strict=True):
        cross = layer.cross
        _fill_attention(
            layer_spec.attention, [[cross.query], [cross.keys, cross.values], [cross.out_proj]], layer.norms[1]
        )
    assert isinstance(model.output, SoftmaxOutput)
    bias = _array(model.output.bias)
    bias[[PAD, BOS]] = NEVER
    spec.decoder.projection.weight, spec.decoder.projection.bias = _array(model.output.weight), bias
    spec.decoder.start_from_zero_embedding = model.inputs.zero_start
    spec.register_source_vocabulary(names_of(source))
    spec.register_target_vocabulary(names_of(target))
    spec.config.decoder_start_token = SPECIALS[model.start_id]
    spec.config.layer_norm_epsilon = decoder.layers[0].norms[0].eps
    return spec


def names_of(vocabulary: Vocabulary) -> list[str]:
    """The names of all symbols, each once: a symbol with the name of another one has its number beside it."""
    names: dict[str, None] = {}
    for number, name in enumerate(vocabulary.symbols(range(len(vocabulary)))):
        names[name if name not in names else f"{name} {number}"] = None
    return list(names)


def _options(half: Half) -> dict[str, Any]:
    """The options of an encoder or decoder of CTranslate2."""
    from ctranslate2 import specs

    layers: list[Any] = list(half.layers)
    first = layers[0]
    return {
        "num_layers": len(layers),
        "num_heads": first.attention.heads,
        "pre_norm": first.norm_first,
        "no_final_norm": isinstance(half.norm, nn.Identity),
        "activation": specs.Activation[ACTIVATIONS[type(first.feed_forward[1])]],
        "layernorm_embedding": isinstance(half.entry.norm, nn.LayerNorm),
        **({"rotary_dim": 0} if half.entry.positions.relates else {}),
    }


def _fill_half(spec: Any, half: Half, embeddings: Any, embedding: Embedding | None) -> None:
    """Set all tensors of an encoder, or those that a decoder has, too."""
    assert isinstance(embedding, LookupEmbedding)
    embeddings.weight = _array(embedding.table)
    spec.scale_embeddings = np.float32(half.entry.scale)
    if not half.entry.positions.relates:
        spec.position_encodings.encodings = _positions(half.entry, embedding.size)
    for norm_spec, norm in (("layernorm_embedding", half.entry.norm), ("layer_norm", half.norm)):
        if isinstance(norm, nn.LayerNorm):
            _fill_norm(getattr(spec, norm_spec), norm)
    layers: list[Any] = list(half.layers)
    for layer_spec, layer in zip(spec.layer, layers, strict=True):
        attention = layer.attention
        _fill_attention(layer_spec.self_attention, [[attention.project], [attention.out_proj]], layer.norms[0])
        _fill_norm(layer_spec.ffn.layer_norm, layer.norms[-1])
        _fill_linear(layer_spec.ffn.linear_0, [layer.feed_forward[0]])
        _fill_linear(layer_spec.ffn.linear_1, [layer.feed_forward[2]])


def _positions(entry: TransformerEmbedding, size: int) -> Array:
    """The vectors that are added to embeddings, whatever computes them."""
    places = torch.arange(POSITIONS)
    return _array(entry.positions.place(torch.zeros(1, POSITIONS, size), places)[0])


def _fill_attention(spec: Any, linears: Sequence[Sequence[Linear]], norm: Any) -> None:
    _fill_norm(spec.layer_norm, norm)
    for linear_spec, parts in zip(spec.linear, linears, strict=True):
        _fill_linear(linear_spec, parts)


def _fill_linear(spec: Any, parts: Sequence[Any]) -> None:
    """One linear map from those that have the same input."""
    spec.weight = np.concatenate([_array(part.weight) for part in parts])
    if parts[0].bias is not None:
        spec.bias = np.concatenate([_array(part.bias) for part in parts])


def _fill_norm(spec: Any, norm: Any) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(tensor: Any) -> Array:
    """A copy in float32."""
    array: Array = tensor.detach().float().numpy().copy()
    return array

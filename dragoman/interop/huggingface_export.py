"""A run as a MarianMT folder of Hugging Face Transformers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import save_file

from dragoman.data.vocabulary import SPECIALS
from dragoman.errors import UserError
from dragoman.interop.foreign_model import Array
from dragoman.interop.foreign_text import NEVER
from dragoman.interop.huggingface import ARCHITECTURES, MARIAN_IN_TRANSFORMERS
from dragoman.interop.huggingface_file import CONFIG, HuggingFaceOptions
from dragoman.interop.huggingface_layers import ACTIVATIONS, EncoderDecoder
from dragoman.interop.huggingface_text import PADDING, ModelFolder, read_marian
from dragoman.interop.imported_run import new_folder
from dragoman.interop.inverse_map import TensorRecorder, check_model, invert
from dragoman.interop.text_files import FIRST, TextFiles
from dragoman.model.positions import POSITIONS, HeadSizes
from dragoman.model.weights import read_tensors
from dragoman.run.run import Run

KIND: Final = "marian"
LONGEST: Final = 1024  # rows of the position tables
TIES: Final = {"all": (True, True), "languages": (True, False), "output": (False, True), "none": (False, False)}


def write(run: Run, folder: Path, weights: str | None = None) -> Path:
    """Write the files to a folder that does not exist yet, or is empty, and return it.

    UserError names what MarianMT does not have.
    """
    text = _text(run)
    with new_folder(folder) as place:
        _write_json(place / "vocab.json", {symbol: number for number, symbol in enumerate(_symbols(text))})
        for name in ("source.spm", "target.spm"):
            side = text[0] if name == "source.spm" else text[1]
            (place / name).write_bytes(side.model or b"")
        config = _config(run, len(_symbols(text)))
        _write_json(place / CONFIG, config)
        _write_json(place / "generation_config.json", _generation(run, config))
        _write_json(place / "tokenizer_config.json", _tokenizer(run))
        tensors = _tensors(run, place, weights)
        save_file({name: torch.from_numpy(array) for name, array in tensors.items()}, place / "model.safetensors")
    return folder


def _text(run: Run) -> tuple[TextFiles, TextFiles]:
    """The text of both sides. UserError unless they have one vocabulary, and sentencepiece models."""
    source, target = (TextFiles.of(run, language) for language in (run.source, run.target))
    if source.symbols != target.symbols:
        raise UserError(f"{run.folder.path}: MarianMT has one vocabulary, this run one for each side")
    if source.model is None or target.model is None:
        raise UserError(f"{run.folder.path}: MarianMT expects the tokenizer sentencepiece, this run has word")
    return source, target


def _symbols(text: tuple[TextFiles, TextFiles]) -> list[str]:
    return [*FIRST, *text[0].symbols, PADDING]


def _tensors(run: Run, folder: Path, weights: str | None) -> dict[str, Array]:
    """The tensors of the model, by the map of the importer. Transformers computes other positions than Marian, and
    takes those that are in the file.
    """
    positions = run.config.model.encoder.options.get("positions")
    is_theirs = positions == MARIAN_IN_TRANSFORMERS.positions
    architecture = MARIAN_IN_TRANSFORMERS if is_theirs else ARCHITECTURES[KIND]
    options = HuggingFaceOptions(folder / CONFIG)
    text = read_marian(ModelFolder(folder, options, (), ("", "")))
    recorder = TensorRecorder()
    mapped = EncoderDecoder(options, recorder, architecture)
    own_start = run.config.model.start_symbol
    start = "none" if own_start == "none" else text.start_symbol
    check_model(run, {**mapped.configuration(shared=text.shared), "start_symbol": start}, architecture.program)
    mapped.parameters()
    mapped.tables(text.rows, text.sizes, text.start)
    parameters = {name: tensor.numpy() for name, tensor in read_tensors(run.weights(weights))[0].items()}
    tensors = invert(recorder, parameters, run.folder.path)
    pad = text.sizes[1] - 1
    tensors["final_logits_bias"][0, pad] = NEVER
    if start == "none":
        for name, tensor in tensors.items():
            if name.endswith(("shared.weight", "embed_tokens.weight")):
                tensor[pad] = 0
    if not is_theirs:
        size = options.number("d_model")
        table = POSITIONS[architecture.positions](size, HeadSizes(size)).place(
            torch.zeros(1, LONGEST, size), torch.arange(LONGEST)
        )
        tensors |= {f"model.{side}.embed_positions.weight": table[0].numpy().copy() for side in ("encoder", "decoder")}
    return tensors


def _config(run: Run, size: int) -> dict[str, Any]:
    """The keys of `config.json`. UserError for a model that is no Transformer."""
    model = run.config.model
    encoder, decoder = model.encoder.options, model.decoder.options
    if "norm_epsilon" not in encoder or "norm_epsilon" not in decoder:
        kinds = f"{model.encoder.kind} and {model.decoder.kind}"
        raise UserError(f"{run.folder.path}: MarianMT is a Transformer; this run has an encoder and a decoder {kinds}")
    shared, tied = TIES[model.embedding.tie]
    names = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}
    sides = {
        f"{side}_{name}": value
        for side, options in (("encoder", encoder), ("decoder", decoder))
        for name, value in (
            ("layers", options["layers"]),
            ("attention_heads", options["heads"]),
            ("ffn_dim", options["hidden"] or 4 * options["size"]),
        )
    }
    return {
        "architectures": ["MarianMTModel"],
        "model_type": KIND,
        "is_encoder_decoder": True,
        "d_model": encoder["size"],
        **sides,
        "activation_function": names.get(encoder["activation"], "relu"),
        "scale_embedding": encoder["scale"],
        "static_position_embeddings": True,
        "max_position_embeddings": LONGEST,
        "share_encoder_decoder_embeddings": shared,
        "tie_word_embeddings": tied,
        "vocab_size": size,
        "decoder_vocab_size": size,
        "dtype": "float32",
        **_ids(size),
    }


def _ids(size: int) -> dict[str, int]:
    pad = size - 1
    return {"eos_token_id": 0, "forced_eos_token_id": 0, "pad_token_id": pad, "decoder_start_token_id": pad}


def _generation(run: Run, config: Mapping[str, Any]) -> dict[str, Any]:
    """The beam of the run, as `generation_config.json` has it."""
    search, size = run.config.search.options, config["vocab_size"]
    return {
        "num_beams": search.get("size", 1),
        "length_penalty": search.get("alpha", 1.0) if search.get("normalization") == "length" else 0.0,
        "max_length": LONGEST // 2,
        "bad_words_ids": [[size - 1]],
        **_ids(size),
    }


def _tokenizer(run: Run) -> dict[str, Any]:
    return {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": run.source.name,
        "target_lang": run.target.name,
        "model_max_length": LONGEST // 2,
        "separate_vocabs": False,
        "unk_token": SPECIALS[0],
        "eos_token": SPECIALS[3],
        "pad_token": PADDING,
    }


def _write_json(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

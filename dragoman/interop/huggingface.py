"""Folders of Hugging Face Transformers: MarianMT (OPUS-MT), M2M100, NLLB, mBART, BART, T5 and mT5.

`config.json` names the type of the model. Other types are refused by name.
"""

import re
from pathlib import Path
from typing import Any, Final

from dragoman.interop.foreign_model import ForeignModel, ReaderOptions, TensorMap
from dragoman.interop.huggingface_file import CONFIG, HuggingFaceOptions, find_weights, read_optional_json, read_weights
from dragoman.interop.huggingface_layers import Architecture, EncoderDecoder
from dragoman.interop.huggingface_t5 import T5Layers
from dragoman.interop.huggingface_text import TEXTS, FolderText, ModelFolder

COMPUTED: Final = {"static_position_embeddings": False}
ARCHITECTURES: Final = {
    "marian": Architecture("MarianMT", "marian", "after", 1e-6, scale=True),
    "m2m_100": Architecture("M2M100", "fairseq", "before", output_bias=False, scale=True),
    "mbart": Architecture(
        "mBART",
        "learned",
        "before",
        embedding_norm=True,
        expected={"normalize_before": True, "normalize_embedding": True, "add_final_layer_norm": True, **COMPUTED},
    ),
    "bart": Architecture(
        "BART",
        "learned",
        "after",
        embedding_norm=True,
        expected={"normalize_before": False, "normalize_embedding": True, "add_final_layer_norm": False, **COMPUTED},
    ),
}
T5_PROGRAMS: Final = {"t5": "T5", "mt5": "mT5"}
# As Hugging Face computes models that Marian trained: with other positions, and another epsilon in norms
MARIAN_IN_TRANSFORMERS: Final = Architecture("MarianMT", "sinusoidal_halves", "after", scale=True)
COMPUTED_THERE: Final = {"marian": MARIAN_IN_TRANSFORMERS}  # unlike by the program that trained the models

# In the card of a MarianMT model, that guided alignment trained the first head of its last decoder layer
GUIDED: Final = re.compile(r"^[*-]\s+model:\s+transformer\S*-align\b", re.MULTILINE)

find_model = find_weights


def read(path: Path, reader_options: ReaderOptions) -> ForeignModel:
    """Read the model of a folder, given its file of weights. The languages choose codes of source and target. UserError
    names file, tensor or key, and what was expected.
    """
    options = HuggingFaceOptions(path.parent / CONFIG)
    kind = options.choice("model_type", (*ARCHITECTURES, *T5_PROGRAMS))
    computed_there = COMPUTED_THERE if reader_options.positions == "huggingface" else {}
    architecture = {**ARCHITECTURES, **computed_there}.get(kind)
    text = TEXTS[kind](ModelFolder(path.parent, options, reader_options.vocabularies, reader_options.languages))
    arrays, files = read_weights(path)
    tensors = TensorMap(path, arrays)
    mapped = EncoderDecoder(options, tensors, architecture) if architecture else T5Layers(options, tensors)
    mapped.parameters()
    starts_from_zero = mapped.tables(text.rows, text.sizes, text.start)
    model = {
        **mapped.configuration(shared=text.shared),
        "start_symbol": "none" if starts_from_zero else text.start_symbol,
        "target_prefix": text.target_prefix,
    }
    if architecture and architecture.program == "MarianMT" and _is_guided(path.parent / "README.md"):
        model["decoder"]["alignment_head"] = 1
    used = (*files, path.parent / CONFIG, *text.files)
    program = f"Hugging Face {architecture.program if architecture else T5_PROGRAMS[kind]}"
    return ForeignModel(program, used, model, _search(path.parent, text), *text.sides, tensors.finish())


def _is_guided(card: Path) -> bool:
    """Whether the card of a model, if it is there, says that guided alignment trained it."""
    return card.is_file() and bool(GUIDED.search(card.read_text("utf-8", "replace")))


def _search(folder: Path, text: FolderText) -> dict[str, Any]:
    """Beam search with the settings of `generation_config.json`, if they are there."""
    values = read_optional_json(folder / "generation_config.json")
    size, alpha = values.get("num_beams"), values.get("length_penalty")
    size = size if type(size) is int and 1 <= size <= 1000 else 6
    alpha = float(alpha) if isinstance(alpha, int | float) and 0 <= alpha <= 10 else 1.0
    # Transformers counts a code of a language after the start symbol as a symbol of the translation.
    counted = {"normalization": "prefixed"} if text.target_prefix and text.start_symbol != "prefix" else {}
    return {"kind": "beam", "size": size, "alpha": alpha, **counted}

"""Writes a checkpoint of another program as a run, on which every command works."""

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from dragoman.configuration import config_file, sections
from dragoman.configuration.config import Config
from dragoman.data.language import Language
from dragoman.data.vocabulary import Vocabulary
from dragoman.errors import UserError
from dragoman.files.reading import compute_sha256
from dragoman.files.writing import write_atomically
from dragoman.interop.foreign_model import ForeignModel, Side
from dragoman.model import build
from dragoman.model.weights import load_weights, weights, write_tensors
from dragoman.run.folder import FORM, PROGRAM, RunFolder
from dragoman.search import shortlist as shortlists
from dragoman.training.checks import complete
from dragoman.version import __version__

# Options that `train --finetune` takes from an imported run (docs/import.md has the measurements). Batches have 1,000
# tokens with padding, with which a model of 74 million parameters takes less than 3 GB in float32.
BATCH = {"size": 1_000, "type": "tokens"}
# Small corpora overfit within a few epochs.
DROPOUT = LABEL_SMOOTHING = 0.1
# The learning rate of Adam falls as models get wider (Yang et al. 2022, "Tensor programs V").
RATE, WIDTH = 0.001, 256


def write(foreign: ForeignModel, path: Path, languages: tuple[str, str], license_name: str) -> None:
    """Write the run to a folder that does not exist yet, or is empty; all of it or nothing. UserError otherwise."""
    config = _checked(_configuration(foreign, path, languages))
    source, target = (
        _language(name, side) for name, side in zip(languages, (foreign.source, foreign.target), strict=True)
    )
    model = build.build_empty_model(config, (source,), target)
    tensors = {name: torch.from_numpy(foreign.tensors[name]) for name in weights(model)}
    load_weights(model, tensors, foreign.files[0])
    files = dict.fromkeys((*foreign.files, *foreign.source.files, *foreign.target.files))
    origin = {
        "program": foreign.program,
        "files": {file.name: compute_sha256(file) for file in files},
        "license": license_name,
    }
    with new_folder(path) as place:
        folder = RunFolder(place)
        proof = {"program": PROGRAM, "version": __version__, "form": FORM, "imported": origin}
        _write(folder.mark, json.dumps(proof) + "\n")
        _write(folder.config, config_file.dump(config))
        source.save(place, "source")
        target.save(place, "target")
        write_tensors(folder.weights(), weights(model), {"imported from": foreign.program})
        if foreign.shortlist:
            shortlists.write(foreign.shortlist.lexicon, place / shortlists.FILE)
        _write(folder.card, _card(foreign, config, origin, sum(tensor.numel() for tensor in tensors.values()), path))


def _configuration(foreign: ForeignModel, path: Path, languages: tuple[str, str]) -> dict[str, Any]:
    text = {name: dict(side.text.spec) for name, side in (("source", foreign.source), ("target", foreign.target))}
    shared = foreign.source.symbols == foreign.target.symbols
    return {
        "run": str(path),
        "data": {"source": [languages[0]], "target": languages[1]},
        "text": {"shared_vocabulary": shared, **text},
        "model": _add_regularization(foreign.model),
        "training": choose_training_options(foreign),
        "search": dict(foreign.search),
        # As other programs: of what the vocabulary does not have, nothing is written.
        "constraints": ["no_unknown"],
        "replace_unk": False,
    }


def choose_training_options(foreign: ForeignModel) -> dict[str, Any]:
    """Return the section `training` for fine-tuning; the learning rate is inversely proportional to the width above
    256.
    """
    rate = RATE * min(1.0, WIDTH / foreign.model["embedding"]["size"])
    return {"batch": BATCH, "optimizer": {"kind": "adam", "learning_rate": rate}}


def _add_regularization(model: Mapping[str, Any]) -> dict[str, Any]:
    """Return the model with dropout and label smoothing, which are used only in training."""
    parts = {side: {**model[side], "dropout": DROPOUT} for side in ("encoder", "decoder")}
    return {**model, **parts, "output": {"kind": "softmax", "label_smoothing": LABEL_SMOOTHING}}


def _checked(values: dict[str, Any]) -> Config:
    """The complete configuration. UserError for what could not be read as that of a run, such as a missing language."""
    config, problems, _ = sections.validate(Config, values)
    if config is None:
        raise UserError("; ".join(map(str, problems)))
    config_file.check(config, [], of_run=True)
    return complete(config)


def _language(name: str, side: Side) -> Language:
    try:
        vocabulary = Vocabulary(side.symbols, around=side.text.frame)
    except ValueError as error:
        raise UserError(f"vocabulary of {name}: {error}") from error
    return Language(name, side.text, vocabulary, (0,) * len(vocabulary))


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder beside the new one, which takes its place when all is written."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UserError(f"{path}: exists already; choose another folder")
    place = path.parent / f".{path.name}-{secrets.token_hex(4)}"
    try:
        place.mkdir(parents=True)
    except OSError as error:
        raise UserError(f"{path}: cannot write ({error.strerror or error})") from error
    try:
        yield place
        if path.is_dir():
            path.rmdir()
        os.replace(place, path)
    except OSError as error:
        raise UserError(f"{path}: cannot write ({error.strerror or error})") from error
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _write(path: Path, text: str) -> None:
    with write_atomically(path) as file:
        file.write(text)


def _card(foreign: ForeignModel, config: Config, origin: dict[str, Any], parameters: int, path: Path) -> str:
    sizes = (len(foreign.source.symbols), len(foreign.target.symbols))
    files = [f"| {name} | SHA-256 `{digest}` |" for name, digest in origin["files"].items()]
    lines = [
        f"# {config.data.languages}",
        "",
        f"A model of {foreign.program}, imported with dragoman. Use it with `dragoman translate {path}`.",
        "",
        "| | |",
        "|---|---|",
        f"| trained by | {foreign.program} |",
        f"| license | {origin['license'] or 'unknown: ask whoever published the model'} |",
        *files,
        f"| vocabularies | {' and '.join(f'{size:,}' for size in sizes)} symbols |",
        f"| model | {config.model.encoder}; attention {config.model.attention.score}; {config.model.decoder} |",
        f"| parameters | {parameters:,} |",
        *([f"| shortlist | `{foreign.shortlist_option}` |"] if foreign.shortlist else []),
        "",
    ]
    return "\n".join(lines)

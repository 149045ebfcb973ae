"""Training and development pairs from memory: the files in which a run keeps them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from dragoman.configuration import arguments
from dragoman.configuration.config import Config
from dragoman.errors import UserError
from dragoman.files.writing import write_atomically
from dragoman.run.folder import data_folder
from dragoman.training.checks import load_config
from dragoman.training.starting import own_folder

Pairs: TypeAlias = Iterable[Sequence[str]]


def configure(config: Config | str | Path, parts: Mapping[str, Pairs | None]) -> Config:
    """Return the configuration, read if it is a path, with the pairs of these `parts` (train, dev) in place of files.

    They are written to files in the folder `RUN-data` beside that of the run, since a training that is resumed reads
    them again. UserError if that folder has other pairs, or the configuration needs more than pairs.
    """
    texts = {part: pairs for part, pairs in parts.items() if pairs is not None}
    rows = {part: list(arguments.checked(pairs, part, Iterable)) for part, pairs in texts.items()}
    if not isinstance(config, Config):
        named = {f"data.{part}": f"{part}.jsonl" for part in rows}
        # A configuration without data.train is valid if the pairs come with the call.
        config = load_config(config, named, files=not rows)  # those of the pairs are not there yet
    if not rows:
        return config
    data = config.data
    if data.pairs or data.features or data.alignments:
        raise UserError("train: pairs in memory cannot be combined with data.pairs, data.features or data.alignments")
    names = (*data.source, data.target)
    for part in rows:
        for number, row in enumerate(rows[part]):
            _check(row, f"{part}[{number}]", names)
    folder = data_folder(config.run)
    with own_folder(folder, [f"{part}.jsonl" for part in rows], "pairs") as new_folder:
        for part in rows:
            with write_atomically(new_folder / f"{part}.jsonl") as file:
                for row in rows[part]:
                    file.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n")
    update: dict[str, Any] = {part: str(folder / f"{part}.jsonl") for part in rows}
    if "train" in update:
        update["train"] = (update["train"],)
    return config.model_copy(update={"data": data.model_copy(update=update)})


def _check(row: Sequence[str], name: str, names: Sequence[str]) -> None:
    """Raise TypeError or UserError unless a row has a text for each of these names."""
    arguments.checked(row, name, list, tuple)
    if len(row) != len(names):
        raise UserError(f"{name}: expected {len(names)} texts ({', '.join(names)}), found {len(row)}")
    for text in row:
        arguments.checked(text, name, str)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            half = f"U+{ord(text[error.start]):04X}"
            raise UserError(f"{name}: half of a surrogate pair ({half}), which UTF-8 cannot encode") from None

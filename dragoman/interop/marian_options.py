"""The options that Marian keeps in a model file, and what all its types of models share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from dragoman.errors import UserError
from dragoman.interop.foreign_model import TensorMap
from dragoman.interop.foreign_text import RowOrder

# Options of every type that change the model, with the values that are supported.
SUPPORTED: Final[Mapping[str, tuple[Any, ...]]] = {
    "ulr": (False,),
    "lemma-dim-emb": (0,),
    "factors-dim-emb": (0,),
    "input-types": ([],),
    "right-left": (False,),
}


class MarianOptions(NamedTuple):
    """Options by name; one that a version of Marian did not have yet has its default."""

    path: Path
    values: Mapping[str, Any]

    def check(self, supported: Mapping[str, tuple[Any, ...]]) -> None:
        """UserError names the first option with a value that is not supported."""
        for name, values in supported.items():
            value = self.values.get(name, values[0])
            if not any(type(value) is type(one) and value == one for one in values):
                wanted = " or ".join(dict.fromkeys(str(one) or "''" for one in values))
                shown = str(value)[:60] or "''"
                raise UserError(f"{self.path}: option {name}: expected {wanted}, found {shown}")

    def number(self, name: str) -> int:
        """A positive number."""
        value = self.values.get(name)
        if type(value) is not int or not 0 < value < 1_000_000:
            raise UserError(f"{self.path}: option {name}: expected a positive number, found {str(value)[:60]}")
        return value

    def flag(self, name: str) -> bool:
        value = self.values.get(name, False)
        if not isinstance(value, bool):
            raise UserError(f"{self.path}: option {name}: expected true or false, found {str(value)[:60]}")
        return value

    def text(self, name: str) -> str:
        value = self.values.get(name, "")
        if not isinstance(value, str):
            raise UserError(f"{self.path}: option {name}: expected text, found {str(value)[:60]}")
        return value

    @property
    def vocabularies(self) -> tuple[int, int]:
        """The numbers of symbols of the source and the target."""
        match self.values.get("dim-vocabs"):
            case [int(source), int(target)] if source > 1 and target > 1:
                return source, target
            case value:
                raise UserError(
                    f"{self.path}: option dim-vocabs: expected the sizes of two vocabularies, found {str(value)[:60]}"
                )

    @property
    def tie(self) -> str:
        """Which tables are one, as `model.embedding.tie` names it."""
        of_all = self.flag("tied-embeddings-all")
        languages, output = of_all or self.flag("tied-embeddings-src"), of_all or self.flag("tied-embeddings")
        return {(True, True): "all", (True, False): "languages", (False, True): "output"}.get(
            (languages, output), "none"
        )

    def put_tables(self, tensors: TensorMap, rows: tuple[RowOrder, RowOrder], output: str) -> None:
        """Put the embeddings of both sides and the output layer, whose names begin with `output`."""
        size, (of_source, of_target) = self.number("dim-emb"), self.vocabularies
        shared = self.tie in ("all", "languages")
        names = ("Wemb", "Wemb") if shared else ("encoder_Wemb", "decoder_Wemb")
        embeddings = ("source_encoders.0.embedding.table", "inputs.embedding.table")
        tables = [tensors.take(name, (count, size)) for name, count in zip(names, (of_source, of_target), strict=True)]
        for ours, table, arrange in zip(embeddings, tables, rows, strict=True):
            tensors.put(ours, arrange(table))
        if self.tie in ("all", "output"):
            weight = tables[1]
        elif f"{output}_W" in tensors.tensors:  # of old versions
            weight = tensors.take(f"{output}_W", (size, of_target)).T
        else:
            weight = tensors.take(f"{output}_Wt", (of_target, size))
        tensors.put("output.weight", rows[1](weight))
        bias = np.zeros(of_target, np.float32)
        if not self.flag("output-omit-bias"):
            bias = tensors.take(f"{output}_b", (1, of_target))[0]
        tensors.put("output.bias", rows[1].bias(bias))

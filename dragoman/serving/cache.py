"""Translations that a model remembers, up to a number of bytes."""

import sys
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from dragoman.translation.translation import Translation

ENTRY = 500  # bytes of an entry beside its key and translation


class TranslationCache:
    """The translations that were used last, by what was asked. `bytes` is an estimate of what they occupy."""

    def __init__(self, most: int) -> None:
        self.bytes = self.hits = self.misses = 0
        self._most = most
        self._entries: OrderedDict[Hashable, tuple[Translation, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> Translation | None:
        """The translation of this, if it is there."""
        entry = self._entries.get(key)
        if entry is None:
            self.misses += 1
            return None
        self.hits += 1
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: Hashable, translation: Translation) -> None:
        """Keep a translation, in the place of those that were not used for longest. One that is larger than all may be
        is not kept.
        """
        if key in self._entries:
            return
        translation = without_model(translation)
        size = ENTRY + size_of((key, translation))
        if size > self._most:
            return
        self._entries[key] = translation, size
        self.bytes += size
        while self.bytes > self._most:
            _, (_, last) = self._entries.popitem(last=False)
            self.bytes -= last


def without_model(translation: Translation) -> Translation:
    """The same without what `explain` needs, which is larger than all else."""
    others = tuple(map(without_model, translation.alternatives))
    return replace(translation, alternatives=others, explainer=None)


def size_of(value: Any) -> int:
    """About how many bytes a value occupies with all that it consists of, each part once."""
    seen, size, waiting = set[int](), 0, [value]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, type):
            continue
        seen.add(id(part))
        size += sys.getsizeof(part)
        if isinstance(part, np.ndarray):
            size += part.nbytes if part.base is not None else 0  # a view counts as what it shows
        elif isinstance(part, Mapping):
            waiting += [*part.keys(), *part.values()]
        elif is_dataclass(part):
            waiting += [getattr(part, field.name) for field in fields(part)]
        elif isinstance(part, Iterable) and not isinstance(part, str | bytes):
            waiting += part
    return size

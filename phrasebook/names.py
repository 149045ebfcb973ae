"""Invented names, without limit, and the split that each belongs to."""

from __future__ import annotations

import random
import zlib

from phrasebook.entries import syllables

DEV, TEST = 2, 3  # of 16 parts


def split_of(text: str) -> str:
    """Return the split that a name or sentence belongs to, by its CRC-32: 1/16 dev, 1/16 test, the rest train."""
    part = zlib.crc32(text.encode()) % 16
    return "dev" if part == DEV else "test" if part == TEST else "train"


def invented(kind: str, generator: random.Random, split: str) -> str:
    """Invent a surname or the name of a town that belongs to the split."""
    parts = syllables()[kind]
    while True:
        name = "".join(generator.choice(part) for part in (parts.first, parts.middle, parts.last))
        if split_of(name) == split:
            return name

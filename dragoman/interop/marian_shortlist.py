"""Binary shortlists of Marian's fork for browsers (`lex.*.s2t.bin`): candidates of the translation of each symbol.

Little-endian: u64 magic, checksum, number of frequent symbols, most candidates of a symbol, number of offsets (one more
than source symbols), number of candidates; the offsets as u64; the candidates as u32. The checksum is that of all
after it, in words of 64 bits.
"""

import struct
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from dragoman.data.lexicon import Lexicon
from dragoman.data.vocabulary import PAD, SPECIALS
from dragoman.errors import UserError
from dragoman.interop.foreign_model import Array, ForeignShortlist
from dragoman.interop.foreign_text import RowOrder

PATTERN: Final = "lex.*.bin"
MAGIC: Final = 0xF11A48D5013417F5
HEADER: Final = struct.Struct("<6Q")
MOST_CANDIDATES = 1000  # of one symbol


class BinaryShortlist(NamedTuple):
    """The number of frequent symbols, which have the lowest ids, and the candidates of each source symbol."""

    path: Path
    frequent: int
    candidates: list[Array]

    def convert(self, rows: tuple[RowOrder, RowOrder], *, shared: bool) -> ForeignShortlist:
        """The shortlist in our ids. With a `shared` vocabulary each source symbol is a candidate itself, too."""
        source_ids, target_ids = (order.own_ids for order in rows)
        lists = [
            np.union1d(ids, [number] if shared else []).astype(np.int64) for number, ids in enumerate(self.candidates)
        ]
        width = max(1, *map(len, lists))
        size = len(SPECIALS) + len(rows[0].numbers)
        translations, probabilities = np.full((size, width), PAD, np.int32), np.zeros((size, width), np.float32)
        for number, ids in enumerate(lists):
            row = source_ids[number]
            translations[row, : len(ids)], probabilities[row, : len(ids)] = target_ids[ids], 1 / max(1, len(ids))
        ordered = target_ids[target_ids >= len(SPECIALS)].astype(np.int32)  # by their ids
        frequent = int((target_ids[: self.frequent] >= len(SPECIALS)).sum())  # specials are always candidates
        return ForeignShortlist(Lexicon(ordered, translations, probabilities), frequent, width)


def find(folder: Path) -> Path | None:
    """The shortlist of a folder, if there is one. UserError if there are several."""
    paths = sorted(folder.glob(PATTERN))
    if len(paths) > 1:
        raise UserError(f"{folder}: expected one shortlist, found {', '.join(path.name for path in paths)}")
    return paths[0] if paths else None


def read(path: Path, symbols: tuple[int, int]) -> BinaryShortlist:
    """Read a shortlist for vocabularies of these sizes. UserError names what was expected."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot read ({error.strerror or error})") from error
    if len(data) < HEADER.size or HEADER.unpack_from(data)[0] != MAGIC:
        raise UserError(f"{path}: expected a binary shortlist of Marian; without this file the model can be imported")
    _, checksum, frequent, _, offset_count, candidate_count = HEADER.unpack_from(data)
    if offset_count != symbols[0] + 1:
        raise UserError(f"{path}: expected lists of {symbols[0]:,} source symbols, found {offset_count - 1:,}")
    if (length := HEADER.size + 8 * offset_count + 4 * candidate_count) != len(data):
        raise UserError(f"{path}: expected {length:,} bytes, found {len(data):,}")
    if _checksum(data[16:]) != checksum:
        raise UserError(f"{path}: expected the checksum {checksum:#x}, found {_checksum(data[16:]):#x}: damaged")
    offsets = np.frombuffer(data, "<u8", offset_count, HEADER.size)
    ids = np.frombuffer(data, "<u4", candidate_count, HEADER.size + 8 * offset_count)
    if (offsets[1:] < offsets[:-1]).any() or offsets[-1] != candidate_count:
        raise UserError(f"{path}: expected offsets in ascending order up to {candidate_count:,}")
    if (lengths := np.diff(offsets)).max(initial=0) > MOST_CANDIDATES:
        raise UserError(f"{path}: expected at most {MOST_CANDIDATES:,} candidates of a symbol, found {lengths.max():,}")
    if ids.max(initial=0) >= symbols[1]:
        raise UserError(f"{path}: expected ids of {symbols[1]:,} target symbols, found {ids.max():,}")
    return BinaryShortlist(path, min(frequent, symbols[1]), np.split(ids, offsets[1:-1].astype(np.int64)))


def _checksum(data: bytes) -> int:
    """Marian's `hashMem` of whole words of 64 bits."""
    seed = 0
    for (word,) in struct.iter_unpack("<Q", data[: len(data) // 8 * 8]):
        seed ^= (word + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & 0xFFFFFFFFFFFFFFFF
    return seed

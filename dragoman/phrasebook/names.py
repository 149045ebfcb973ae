"""Proper names: known first names and towns, and invented ones that never end."""

from __future__ import annotations

import random
import zlib

FIRST_NAMES = {  # the same in the three languages
    "f": ("Anna", "Clara", "Emma", "Julia", "Laura", "Lena", "Nina", "Sophie", "Marie", "Alice"),
    "m": ("Paul", "Thomas", "Martin", "David", "Robert", "Simon", "Felix", "Victor", "Daniel", "Lucas"),
}
TOWNS = {  # English: French, German
    "London": ("Londres", "London"), "Paris": ("Paris", "Paris"), "Vienna": ("Vienne", "Wien"),
    "Geneva": ("Genève", "Genf"), "Brussels": ("Bruxelles", "Brüssel"), "Cologne": ("Cologne", "Köln"),
    "Munich": ("Munich", "München"), "Venice": ("Venise", "Venedig"), "Lisbon": ("Lisbonne", "Lissabon"),
    "Warsaw": ("Varsovie", "Warschau"), "Prague": ("Prague", "Prag"), "Moscow": ("Moscou", "Moskau"),
    "Berlin": ("Berlin", "Berlin"), "Rome": ("Rome", "Rom"), "Dublin": ("Dublin", "Dublin"),
    "Copenhagen": ("Copenhague", "Kopenhagen"),
}  # fmt: skip
COUNTRIES = {  # English: French with its preposition, German
    "France": ("en France", "Frankreich"), "Germany": ("en Allemagne", "Deutschland"),
    "Italy": ("en Italie", "Italien"), "Spain": ("en Espagne", "Spanien"), "England": ("en Angleterre", "England"),
    "Poland": ("en Pologne", "Polen"), "Sweden": ("en Suède", "Schweden"), "Portugal": ("au Portugal", "Portugal"),
    "Canada": ("au Canada", "Kanada"), "Japan": ("au Japon", "Japan"), "Brazil": ("au Brésil", "Brasilien"),
}  # fmt: skip
SURNAME_PARTS = (
    "Bar Bel Bor Cal Cor Dal Del Fal Fen Gar Gol Kal Ker Lam Lor Mal Mar Mel Mor Nor Pal Per Ral Ros Sal Ser Tal Tor",
    "a e i o da do la lo ma me mi na ne no ra ri ro sa ta ti va vi",
    "bert cott court del din dini don gard land lin lini mann mont nev nic rand rell ret rot ski teau tier ton ward",
)
TOWN_PARTS = (
    "Bal Ber Bran Cas Cler Dor Fel Gal Grim Kirn Lan Lin Mers Mon Nor Pel Ram Rav Sar Stor Tam Ter Val Vel Wes Zel",
    "a e i o en er el in",
    "bach berg bourg burg dal dorf feld ford gard ham heim lac mont mora port stad stein ton val ville wald wick",
)
DEV, TEST = 2, 3  # of 16 parts


def split_of(text: str) -> str:
    """The split that a name or sentence belongs to, by its CRC-32: 1/16 dev, 1/16 test, the rest train."""
    part = zlib.crc32(text.encode()) % 16
    return "dev" if part == DEV else "test" if part == TEST else "train"


def invented(parts: tuple[str, ...], generator: random.Random, split: str) -> str:
    """A name that belongs to the split."""
    syllables = [part.split() for part in parts]
    while True:
        name = "".join(generator.choice(part) for part in syllables)
        if split_of(name) == split:
            return name

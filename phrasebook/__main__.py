"""`python -m phrasebook`: sample the corpus of `dragoman demo` again, and pack it for the package."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_LZMA, ZipFile, ZipInfo

import dragoman
from dragoman import demo
from phrasebook import corpus

PACKAGED = Path(dragoman.__file__).with_name(demo.CORPUS)
SEED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the archive of the corpus. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m phrasebook", description=__doc__)
    parser.add_argument("archive", nargs="?", type=Path, default=PACKAGED, help="default: %(default)s")
    path = parser.parse_args(arguments).archive
    with TemporaryDirectory() as folder:
        corpus.write(Path(folder), demo.SOURCE, demo.TARGET, demo.SIZES, SEED)
        with ZipFile(path, "w") as archive:
            for file in sorted(Path(folder).iterdir()):
                # ZipInfo has a constant date, so that the same corpus is the same archive.
                archive.writestr(ZipInfo(file.name), file.read_bytes(), ZIP_LZMA)
    return 0


if __name__ == "__main__":
    sys.exit(main())

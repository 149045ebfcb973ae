"""A run as a package of Argos Translate, which LibreTranslate installs, too: a zip with a model of CTranslate2."""

import json
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from dragoman.deployment import ctranslate
from dragoman.deployment.ctranslate import Quantization
from dragoman.errors import UserError
from dragoman.files.writing import write_atomically
from dragoman.interop.text_files import TextFiles
from dragoman.run.run import Run

VERSION: Final = "1.0"  # of the package
ARGOS: Final = "1.9.6"  # the version of Argos Translate that it is for, or a later one


def write(run: Run, path: Path, weights: str | None = None, quantization: Quantization | None = None) -> Path:
    """Write the package and return its path. UserError names what Argos Translate or CTranslate2 does not have."""
    source, target = (TextFiles.of(run, language) for language in (run.source, run.target))
    if source.model is None or target.model is None:
        raise UserError(f"{run.folder.path}: Argos Translate expects the tokenizer sentencepiece, this run has word")
    spec = ctranslate.convert(run, weights, quantization)
    spec.config.add_source_eos = True  # which Argos Translate leaves to the model
    codes = run.source.name, run.target.name
    top = f"translate-{'_'.join(codes)}-{VERSION.replace('.', '_')}"
    with tempfile.TemporaryDirectory() as folder, write_atomically(path, "wb") as file:
        spec.save(folder)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
            package.writestr(f"{top}/metadata.json", json.dumps(_metadata(*codes), indent=2))
            package.writestr(f"{top}/sentencepiece.model", source.model)
            if run.folder.card.is_file():
                package.write(run.folder.card, f"{top}/README.md")
            for saved in sorted(Path(folder).iterdir()):
                package.write(saved, f"{top}/model/{saved.name}")
    return path


def _metadata(source: str, target: str) -> dict[str, str]:
    return {
        "type": "translate",
        "package_version": VERSION,
        "argos_version": ARGOS,
        "from_code": source,
        "from_name": source,
        "to_code": target,
        "to_name": target,
    }

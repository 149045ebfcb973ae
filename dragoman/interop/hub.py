"""Models on the Hugging Face hub: the download of a folder to import, and the upload of a run with its card."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from dragoman.configuration.plugins import MissingPartError
from dragoman.errors import UserError, missing_library
from dragoman.interop.imported_run import new_folder
from dragoman.run.folder import RunFolder
from dragoman.run.run import Run

NAME: Final = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)
# Files that an importer may read; there is no code among them but that of a run's plug-ins, which is not executed.
SUFFIXES: Final = (
    ".json .safetensors .bin .npz .spm .model .yml .yaml .txt .md .ckpt .pt .keras .pkl .tokenizer .vocabulary .counts "
    ".characters .languages .gz .tsv"
).split()
CODE: Final = "code.*.py"
# Files of a run that its users need, in the order in which they are listed
PUBLISHED: Final = (
    "run.json",
    "config.yaml",
    "source*",
    "target*",
    CODE,
    "calibration.json",
    "gate.json",
    "shortlist.safetensors",
    "dictionary.tsv",
    "memory.jsonl.gz",
)
LANGUAGE: Final = re.compile("[a-z]{2,3}")


class HubFolder(NamedTuple):
    """A downloaded folder, and the license that its card names."""

    path: Path
    license: str


def is_name(source: Path) -> bool:
    """Whether this is the name of a model of the hub, such as `Helsinki-NLP/opus-mt-en-de`, and no path that exists."""
    return bool(NAME.fullmatch(source.as_posix())) and not source.exists() and not source.parent.is_dir()


def download(name: str) -> HubFolder:
    """Download the files of a model that an importer may read. UserError if there is no such model, or no network."""
    with _errors(name) as hub:
        api = hub.HfApi()
        info = api.model_info(name)
        names = [file.rfilename for file in info.siblings or ()]
        has_safetensors = any(file.endswith(".safetensors") for file in names)
        wanted = [
            file
            for file in names
            if (PurePosixPath(file).suffix in SUFFIXES or PurePosixPath(file).match(CODE))
            and "/" not in file
            and not (has_safetensors and file.startswith("pytorch_model"))
        ]
        path = Path(api.snapshot_download(name, revision=info.sha, allow_patterns=wanted)) if wanted else None
    if path is None:
        raise UserError(f"{name}: expected a model on the hub, found no file of one")
    card = info.card_data
    return HubFolder(path, str(getattr(card, "license", None) or "") if card else "")


def is_run(folder: Path) -> bool:
    """Whether a folder is a run of dragoman, which needs no import."""
    return bool(RunFolder(folder).proof)


def copy_run(folder: Path, output: Path) -> str:
    """Copy a downloaded run to a folder that does not exist yet, or is empty. Return which parts of plug-ins it lacks,
    and how to give them; empty if none. UserError if it is damaged.
    """
    with new_folder(output) as place:
        for file in folder.iterdir():
            if file.is_file():
                shutil.copyfile(file, place / file.name)
        with suppress(MissingPartError):  # of code that a user reads first
            Run.load(place).model()  # UserError that names what is missing
    try:
        Run.load(output)
    except MissingPartError as error:
        return str(error)
    return ""


def push(path: Path, name: str, *, public: bool = False) -> str:
    """Upload the files of a run that its users need, with its card; return where they are. A new model is private
    unless it is to be `public`.
    """
    if not NAME.fullmatch(name):
        raise UserError(f"{name}: expected a name on the hub, such as me/en-de")
    run = Run.load(path)
    files = published(run)
    with _errors(name) as hub:
        api, add = hub.HfApi(), hub.CommitOperationAdd
        where = str(api.create_repo(name, private=not public, exist_ok=True))
        operations = [
            add(path_in_repo=file, path_or_fileobj=str(content) if isinstance(content, Path) else content)
            for file, content in files.items()
        ]
        api.create_commit(name, operations, commit_message=f"Upload {run.config.data.languages}")
    return where


def published(run: Run) -> dict[str, Path | bytes]:
    """Return the files of a run that its users need, by name: a path, or the content. The weights are those to use, and
    README.md is the card. UserError if the run has no weights yet.
    """
    weights, folder = run.weights(), run.folder.path
    files = [file for pattern in PUBLISHED for file in sorted(folder.glob(pattern)) if file.is_file()]
    return {
        **{file.name: file for file in files},
        "model.safetensors": weights,
        "README.md": describe(run).encode(),
    }


def describe(run: Run) -> str:
    """The card of a run, after what the hub reads of it: languages, license and library."""
    names = dict.fromkeys([*(source.name for source in run.sources), run.target.name])
    languages = [name for name in names if LANGUAGE.fullmatch(name)]
    license_name = str(run.folder.proof.get("imported", {}).get("license", "")).lower()
    front = [
        "library_name: dragoman",
        "pipeline_tag: translation",
        *(["language:", *(f"- {name}" for name in languages)] if languages else []),
        *([f"license: {license_name}"] if re.fullmatch(r"[a-z0-9.-]+", license_name) else []),
    ]
    card = (
        run.folder.card.read_text(encoding="utf-8") if run.folder.card.is_file() else f"# {run.config.data.languages}\n"
    )
    return "\n".join(["---", *front, "---", "", card])


@contextmanager
def _errors(name: str) -> Iterator[Any]:
    """The library of the hub; UserError for what goes wrong there, in one line."""
    try:
        hub = import_module("huggingface_hub")
    except ModuleNotFoundError as error:
        raise missing_library(error.name, "hub") from error
    try:
        yield hub
    except UserError:
        raise
    except (OSError, ValueError, hub.errors.HTTPError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(f"{name}: the hub answered: {first[:200]}") from error

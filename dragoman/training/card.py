"""The model card: a description of the run for later users."""

import hashlib
from pathlib import Path

from dragoman.configuration.config import Config
from dragoman.configuration.messages import figure
from dragoman.corpus.features import FeatureSource
from dragoman.data.dataset import Dataset
from dragoman.data.language import Language
from dragoman.evaluation import baselines
from dragoman.files.writing import write_atomically
from dragoman.model.seq2seq import Seq2Seq
from dragoman.run.folder import RunFolder
from dragoman.training.progress import Progress
from dragoman.training.validation import Validation

SEAL = "\n<!-- written by dragoman train, which writes it again while it is as it was: {} -->\n"


def write(
    folder: RunFolder,
    config: Config,
    data: Dataset,
    model: Seq2Seq,
    progress: Progress,
    validation: Validation,
    weights: str,
) -> bool:
    """Write README.md: data, sizes, training, and the scores of the `weights` to use, with their signatures.

    Returns False, and keeps the existing card, if a user has changed it.
    """
    parameters = sum(parameter.numel() for parameter in model.parameters())
    looks = [*config.model.attention.chosen(), *([config.model.combination] if config.combines else [])]
    attention = "; ".join(map(str, looks))
    values = validation.values
    to = " --to LANGUAGE" if config.data.pairs else ""
    sides = (*data.sources, data.target)
    sizes = [len(side.vocabulary) for side in sides if isinstance(side, Language)]
    regions = [
        f"{source.name}: {source.size:,} numbers" for source in data.sources if isinstance(source, FeatureSource)
    ]
    kept_baselines = baselines.from_json(folder.proof.get("baselines"))
    lowest = kept_baselines.scores if kept_baselines else ()
    minutes = progress.seconds / 60
    lines = [
        f"# {config.data.languages}",
        "",
        f"An attentional encoder-decoder trained with dragoman. Use it with `dragoman translate {folder.path}{to}`.",
        "",
        "| | |",
        "|---|---|",
        f"| training data | {config.data.places('train')}: {data.report} |",
        f"| development data | {config.data.places('dev')}, {len(data.dev):,} pairs |",
        f"| vocabularies | {' and '.join(f'{size:,}' for size in sizes)} symbols |",
        *([f"| regions | {'; '.join(regions)}; {config.model.features} |"] if regions else []),
        f"| model | {config.model.encoder}; attention {attention}; {config.model.decoder} |",
        f"| parameters | {parameters:,} |",
        *([f"| begun with the weights of | {folder.ancestor} |"] if folder.ancestor else []),
        f"| training | {progress.step:,} steps, to epoch {progress.epochs_begun}, {minutes:.1f} minutes |",
        *([f"| memory of the process | {progress.memory / 1e9:.2f} GB at most |"] if progress.memory else []),
        f"| weights | {weights}; chosen on {config.training.metric} of the development data |",
        f"| development perplexity | {figure(values['perplexity'])}, {values['accuracy']:.1f} % of symbols right |",
        "",
        "Scores of the development data, with the search that validation uses (`config.yaml` has every option):",
        "",
        *(f"- {score}" for score in (*validation.scores, *lowest)),  # not in the table: signatures have vertical bars
        "",
    ]
    text = "\n".join(lines)
    # The digest at its end tells whether a user has written something into it.
    if folder.card.is_file() and not _is_ours(folder.card):
        return False
    with write_atomically(folder.card) as file:
        file.write(text + SEAL.format(_digest(text)))
    return True


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _is_ours(card: Path) -> bool:
    """Return whether a card is as training wrote it, unchanged by users."""
    head, _, tail = SEAL.partition("{}")
    text, _, seal = card.read_bytes().decode(errors="replace").rpartition(head)
    return seal == _digest(text) + tail

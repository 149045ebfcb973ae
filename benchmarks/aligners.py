"""Statistical alignment models to compare attention with."""

from typing import Any

import numpy as np

from benchmarks.prepared import Corpus
from dragoman.corpus.pharaoh import read_gold
from dragoman.evaluation.alignment import AlignmentScore, error_rate
from dragoman.files import read_lines


def statistical(prepared: Corpus) -> dict[str, AlignmentScore]:
    """Score the aligners of sil-thot after five iterations each on training and development pairs without their links.
    Empty if it is not installed.
    """
    try:
        from thot import alignment
    except ImportError:
        return {}
    source, target = prepared.overrides["data.source"], prepared.overrides["data.target"]
    parts = [
        [line.split() for part in ("train", "dev") for line in read_lines(prepared.texts / f"{part}.{side}")]
        for side in (source, target)
    ]
    pairs = [([word.lower() for word in s], [word.lower() for word in t]) for s, t in zip(*parts, strict=True)]
    gold = read_gold(prepared.texts / f"dev.{source}-{target}.align")

    def fitted(model: Any) -> Any:
        for pair in pairs:
            model.add_sentence_pair(*pair)
        model.start_training()
        for _ in range(5):
            model.train()
        model.end_training()
        return model

    def agreement(model: Any) -> AlignmentScore:
        matrices = [model.get_best_alignment(*pair)[1].to_numpy() for pair in pairs[-len(gold) :]]
        return error_rate([{(int(s), int(t)) for s, t in np.argwhere(matrix)} for matrix in matrices], gold)

    first = fitted(alignment.Ibm1AlignmentModel())
    return {
        "IBM 1 (sil-thot)": agreement(first),
        "FastAlign (sil-thot)": agreement(fitted(alignment.FastAlignModel())),
        "HMM (sil-thot)": agreement(fitted(alignment.HmmAlignmentModel(first))),
    }

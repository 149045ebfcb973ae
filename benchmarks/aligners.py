"""Statistical alignment models to compare attention with."""

from importlib.util import find_spec

from benchmarks.prepared import Corpus
from dragoman.corpus.aligners import Method, Symmetrization, WordPair, links, lower_words
from dragoman.corpus.examples import read_pairs
from dragoman.corpus.pharaoh import read_gold
from dragoman.evaluation.alignment import AlignmentQuality, error_rate

ALIGNERS = {
    "IBM 1 (sil-thot)": (Method.ibm1, Symmetrization.forward),
    "FastAlign (sil-thot)": (Method.fast_align, Symmetrization.forward),
    "HMM (sil-thot)": (Method.hmm, Symmetrization.forward),
    "HMM, symmetrized (sil-thot)": (Method.hmm, Symmetrization.grow_diag_final_and),
}


def statistical(prepared: Corpus) -> dict[str, AlignmentQuality]:
    """Score the aligners of sil-thot on the development pairs, which they learn from, without links, beside the
    training pairs. Empty if it is not installed.
    """
    if find_spec("thot") is None:
        return {}
    source, target = prepared.overrides["data.source"], prepared.overrides["data.target"]
    words = lower_words("whitespace")
    train, dev = (
        [WordPair(*map(words, pair)) for pair in read_pairs(prepared.texts / part, source, target)]
        for part in ("train", "dev")
    )
    gold = read_gold(prepared.texts / f"dev.{source}-{target}.align")
    return {
        name: error_rate(list(links(dev, train, method=method, symmetrization=symmetrization, processes=2)), gold)
        for name, (method, symmetrization) in ALIGNERS.items()
    }

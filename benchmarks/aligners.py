"""Statistical alignment models to compare attention with."""

from importlib.util import find_spec

from benchmarks.prepared import Corpus
from dragoman.corpus.aligners import Method, Symmetrisation, Words, links, lower_words
from dragoman.corpus.examples import read_pairs
from dragoman.corpus.pharaoh import read_gold
from dragoman.evaluation.alignment import AlignmentScore, error_rate

ALIGNERS = {
    "IBM 1 (sil-thot)": (Method.ibm1, Symmetrisation.forward),
    "FastAlign (sil-thot)": (Method.fast_align, Symmetrisation.forward),
    "HMM (sil-thot)": (Method.hmm, Symmetrisation.forward),
    "HMM, symmetrised (sil-thot)": (Method.hmm, Symmetrisation.grow_diag_final_and),
}


def statistical(prepared: Corpus) -> dict[str, AlignmentScore]:
    """Score the aligners of sil-thot on the development pairs, which they learn from, without links, beside the
    training pairs. Empty if it is not installed.
    """
    if find_spec("thot") is None:
        return {}
    source, target = prepared.overrides["data.source"], prepared.overrides["data.target"]
    words = lower_words("whitespace")
    train, dev = (
        [Words(*map(words, pair)) for pair in read_pairs(prepared.texts / part, source, target)]
        for part in ("train", "dev")
    )
    gold = read_gold(prepared.texts / f"dev.{source}-{target}.align")
    return {
        name: error_rate(list(links(dev, train, method=method, symmetrisation=symmetrisation, processes=2)), gold)
        for name, (method, symmetrisation) in ALIGNERS.items()
    }

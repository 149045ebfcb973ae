"""How explanations are computed: given pairs by their gradients, and again without each word of their sources."""

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch

from dragoman.data.language import Source
from dragoman.model.saliency import compute_saliency
from dragoman.model.seq2seq import Seq2Seq
from dragoman.search.ensemble import Ensemble
from dragoman.text.pipeline import WordsOf
from dragoman.translation.attention_matrix import SourceAttention
from dragoman.translation.attribution.erasure import without_text, without_word
from dragoman.translation.explanation.source_maps import Contrast, Map, Place, SourceContrast, SourceMaps
from dragoman.translation.generator import SequenceGenerator
from dragoman.translation.processor import Processor
from dragoman.translation.sentence import EncodedPair
from dragoman.translation.source_inputs import Encoded
from dragoman.translation.translation import Scored

PAIRS = 256  # that are explained together: each is held again without each of its words
SYMBOLS = 1024  # source symbols in a batch whose graph is kept for a gradient of every step


class Explained(NamedTuple):
    """A pair under the model, with the maps of each source: for every target word, and those of all steps together, the
    end among them (`gradients` and `erasures`, (source words,) for each source).
    """

    scored: Scored
    sources: tuple[SourceMaps, ...]
    gradients: tuple[Map, ...]
    erasures: tuple[Map, ...]


def explained(generator: SequenceGenerator, pairs: Sequence[EncodedPair]) -> list[Explained]:
    """Given pairs with their maps, the same in any batch."""
    portions = (pairs[first : first + PAIRS] for first in range(0, len(pairs), PAIRS))
    return [explanation for portion in portions for explanation in _explained(generator, portion)]


def _explained(generator: SequenceGenerator, pairs: Sequence[EncodedPair]) -> list[Explained]:
    slopes = _gradients(generator, pairs)
    erased = [
        list(_erased(generator, pair, gradients.scored.sources)) for pair, gradients in zip(pairs, slopes, strict=True)
    ]
    log_probs = iter(_log_probs(generator, [*chain.from_iterable(erased)]))
    return [
        _together(generator, pair, gradients, [next(log_probs) for _ in variants])
        for pair, gradients, variants in zip(pairs, slopes, erased, strict=True)
    ]


class _Gradients(NamedTuple):
    """A pair under the model, and gradient times input of every step (T + 1, S) for each sequence that is read."""

    scored: Scored
    maps: tuple[Map, ...]


def _gradients(generator: SequenceGenerator, pairs: Sequence[EncodedPair]) -> list[_Gradients]:
    model = generator.scorer
    members = model.models if isinstance(model, Ensemble) else [model]
    source_encoders = [
        source_encoder for member in members if isinstance(member, Seq2Seq) for source_encoder in member.source_encoders
    ]
    gradients = dict[int, _Gradients]()
    for batch_pairs, batch in generator.processor.batched(pairs, SYMBOLS):
        with generator.threads(len(batch_pairs)):
            scored, maps = compute_saliency(model, source_encoders, batch.to(generator.device.torch_device))
        for row, (number, pair) in enumerate(zip(batch.rows.tolist(), batch_pairs, strict=True)):
            own = tuple(source_map[row, : len(pair.target) + 1].double().cpu().numpy() for source_map in maps)
            gradients[number] = _Gradients(generator.processor.scored(pair, scored, row), own)
    return [gradients[number] for number in range(len(gradients))]


def _log_probs(generator: SequenceGenerator, pairs: Sequence[EncodedPair]) -> list[Map]:
    """log P of every step (T + 1,) of each pair."""
    log_probs = dict[int, Map]()
    with torch.inference_mode():
        for batch_pairs, batch in generator.processor.batched(pairs):
            with generator.threads(len(batch_pairs)):
                scored = generator.scorer.score(batch.to(generator.device.torch_device)).log_probs.double().cpu()
            for row, (number, pair) in enumerate(zip(batch.rows.tolist(), batch_pairs, strict=True)):
                log_probs[number] = scored[row, : len(pair.target) + 1].numpy()
    return [log_probs[number] for number in range(len(log_probs))]


def _erased(
    generator: SequenceGenerator, pair: EncodedPair, sources: Sequence[SourceAttention]
) -> Iterator[EncodedPair]:
    """Yield the pair, then for each source the pair without each of its words, and without the source if it may be
    missing.
    """
    read, edited = generator.processor.model_inputs.encoded_sources, _edited(generator.processor)

    def changed(name: str, change: Callable[[Source, Encoded], Encoded]) -> EncodedPair:
        encoded_sources = zip(read, pair.encoded, strict=True)
        return pair._replace(
            encoded=[change(*entry) if entry[0].name == name else entry[1] for entry in encoded_sources]
        )

    yield pair
    for source in sources:
        for word in range(len(source.words)):
            yield changed(source.name, partial(without_word, word=word, in_place=source.name == edited))
        if _may_lack(source, sources, edited):
            yield changed(source.name, without_text)


def _edited(processor: Processor) -> str | None:
    """The name of the source that the model edits."""
    return None if processor.edited is None else processor.model_inputs.sources[processor.edited].name


def _may_lack(source: SourceAttention, sources: Sequence[SourceAttention], edited: str | None) -> bool:
    """Whether a sentence may lack this source, and does not: it is not what is edited, and another one is left."""
    there = source.words or source.regions  # regions that only start the decoder are not counted as words
    return bool(there) and source.name != edited and any(other.words for other in sources if other.name != source.name)


def _together(
    generator: SequenceGenerator, pair: EncodedPair, gradients_of_pair: _Gradients, log_probs: Sequence[Map]
) -> Explained:
    """All maps of a pair, given log P of the steps of what `_erased` yields."""
    processor, (whole, *erased) = generator.processor, log_probs
    _, words = processor.model_outputs.written(pair.encoded, pair.target)
    counts = np.bincount([word for word in words.word_of if word >= 0], minlength=len(words.words))[:, None]
    model_inputs = processor.model_inputs.summed
    by_word = model_inputs.seen(
        pair.sentence.inputs, pair.encoded, words, tuple(slope[:-1] for slope in gradients_of_pair.maps)
    )[0]
    steps = WordsOf([""], [0] * len(whole), [(0, 0)])  # all as the symbols of one word
    at_all = model_inputs.seen(pair.sentence.inputs, pair.encoded, steps, gradients_of_pair.maps)[0]
    lost, maps, sums = iter(erased), list[SourceMaps](), list[Map]()
    for source, slopes in zip(gradients_of_pair.scored.sources, by_word, strict=True):
        rows = [whole - next(lost) for _ in source.words]
        losses = np.stack(rows, 1) if rows else np.zeros((len(whole), 0))  # (T + 1, S)
        lacking = _may_lack(source, gradients_of_pair.scored.sources, _edited(processor))
        share = _summed((whole - next(lost))[:, None], words)[:, 0] if lacking else None
        gradient = counts * slopes.attention[:, : len(source.words)]
        maps.append(SourceMaps(source.name, gradient, _summed(losses, words), counts[:, 0] * slopes.share, share))
        sums.append(losses.sum(0))
    gradients = tuple(
        len(whole) * slope.attention[0, : len(source.words)]
        for source, slope in zip(gradients_of_pair.scored.sources, at_all, strict=True)
    )
    return Explained(gradients_of_pair.scored, tuple(maps), gradients, tuple(sums))


def _summed(steps: Map, words: WordsOf) -> Map:
    """The values of steps (T + 1, N), the end's last, summed over the symbols of each target word."""
    sums = np.zeros((len(words.words), steps.shape[1]))
    for word, values in zip(words.word_of, steps, strict=False):
        if word >= 0:
            sums[word] += values
    return sums


def contrasted(one: Explained, other: Explained) -> Contrast:
    """Why the one and not the other, of two translations of the same sources."""
    log_probs = [explanations.scored.translation.log_probs for explanations in (one, other)]
    changes = SequenceMatcher(None, one.scored.words, other.scored.words, autojunk=False).get_opcodes()
    places = tuple(
        Place(
            (i, j), (k, m), float(log_probs[0][i:j].sum() - log_probs[1][k:m].sum()), _places(one, other, (i, j, k, m))
        )
        for change, i, j, k, m in changes
        if change != "equal"
    )
    attention = (
        (seen.name, seen.attention.sum(0) - also.attention.sum(0))
        for seen, also in zip(one.scored.sources, other.scored.sources, strict=True)
    )
    maps = [
        [mine - theirs for mine, theirs in zip(*explanations, strict=True)]
        for explanations in ((one.gradients, other.gradients), (one.erasures, other.erasures))
    ]
    whole = tuple(SourceContrast(*named, *rest) for named, *rest in zip(attention, *maps, strict=True))
    return Contrast(
        other.scored.text,
        other.scored.words,
        other.scored.log_prob,
        one.scored.log_prob - other.scored.log_prob,
        whole,
        places,
    )


def _places(one: Explained, other: Explained, place: tuple[int, int, int, int]) -> tuple[SourceContrast, ...]:
    """The maps of some words of the one, less those of some words of the other."""
    i, j, k, m = place

    def less(mine: Map, theirs: Map) -> Map:
        difference: Map = mine[i:j].sum(0) - theirs[k:m].sum(0)
        return difference

    source_maps = zip(one.scored.sources, other.scored.sources, one.sources, other.sources, strict=True)
    return tuple(
        SourceContrast(
            seen.name,
            less(seen.attention, also.attention),
            less(mine.gradient, theirs.gradient),
            less(mine.erasure, theirs.erasure),
        )
        for seen, also, mine, theirs in source_maps
    )

"""Search by CTranslate2, in the place of a predictor and our searches."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple, final

import numpy as np
import numpy.typing as npt

from dragoman.data.batch import TokenBatch
from dragoman.data.vocabulary import EOS, Vocabulary
from dragoman.deployment.ctranslate_spec import POSITIONS, names_of
from dragoman.errors import UserError
from dragoman.search.beam import Beam
from dragoman.search.constraints import Constraint, NoUnknown, NoUnknownInSentences
from dragoman.search.greedy import Greedy
from dragoman.search.hypothesis import Hypothesis
from dragoman.search.limits import refuse_nan
from dragoman.search.search import Search
from dragoman.search.search_engine import SearchEngine, SearchRequest

TOKENS: Final = 2048  # of the sources that the library reads at once, by the width of a beam; larger batches are slower
# The exponent of the length by which log P is divided, given alpha
PENALTIES: Final[dict[str, Callable[[float], float]]] = {"none": lambda alpha: 0.0, "length": lambda alpha: alpha}


class _Sentence(NamedTuple):
    """A sentence of a batch: its number, its symbols and those that its translation begins with, and what holds for its
    translation: the numbers of symbols that it has at least and at most, and whether it has no `<unk>`.
    """

    number: int
    source: list[str]
    prefix: list[str]
    least: int
    most: int
    forbids_unknown: bool


class _Draft(NamedTuple):
    """A hypothesis as the library reports it: its symbols without the end, log P of the whole if no part was left out,
    and its attention (symbols + 1, source) if it was requested.
    """

    sentence: _Sentence
    symbols: tuple[int, ...]
    total: float | None
    attention: tuple[npt.NDArray[np.float32], ...]


@final
class CTranslate2Engine(SearchEngine):
    """Greedy and beam search. The library's beam search ends when as many hypotheses have ended as its beam is wide,
    and forbidden symbols have no part in its probabilities; apart from that, equal searches find the same.

    It reports log P of whole hypotheses only. For log P of symbols, and where it leaves out a part (a prefix, the
    end of a hypothesis that was cut, an end that came too early), hypotheses are scored once more.
    """

    name = "ctranslate2"

    def __init__(self, translator: Any, weights: str, source: Vocabulary, target: Vocabulary) -> None:
        self.weights = weights
        self._translator = translator
        self._source, self._target = names_of(source), names_of(target)
        self._ids = {name: number for number, name in enumerate(self._target)}

    def find(self, request: SearchRequest) -> list[list[Hypothesis]]:
        options = _options(request)
        hypotheses: list[list[Hypothesis]] = [[] for _ in request.prefixes]

        def kind(sentence: _Sentence) -> tuple[int, bool]:
            return sentence.least, sentence.forbids_unknown

        for (least, forbids_unknown), members in groupby(sorted(self._sentences(request), key=kind), kind):
            sentences = list(members)
            limited = {**options, "min_decoding_length": least, "disable_unk": forbids_unknown}
            results = self._search(request, sentences, limited)
            drafts = [
                draft
                for sentence, result in zip(sentences, results, strict=True)
                for draft in self._drafts(request, sentence, result)
            ]
            if request.details and request.search.width > 1 and len(sentences) > 1:
                self._restore_first(sentences, drafts)
            for sentence, hypothesis in self._finish(request.search, drafts):
                hypotheses[sentence.number].append(hypothesis)
        return [sorted(own, key=lambda hypothesis: -hypothesis.score) for own in hypotheses]

    def _sentences(self, request: SearchRequest) -> list[_Sentence]:
        (source,) = request.sources
        assert isinstance(source, TokenBatch)
        limit = request.search.limit
        columns = zip(
            source.ids.tolist(),
            source.mask.sum(1).tolist(),
            request.prefixes,
            limit.min_steps(request.sources),
            limit.max_steps(request.sources),
            _forbids_unknown(request.constraints, len(request.prefixes)),
            strict=True,
        )
        return [
            _Sentence(
                number,
                [self._source[symbol] for symbol in ids[:length]],
                [self._target[symbol] for symbol in prefix],
                least,
                min(max(most, len(prefix)), POSITIONS - 1),
                forbids_unknown,
            )
            for number, (ids, length, prefix, least, most, forbids_unknown) in enumerate(columns)
        ]

    def _search(self, request: SearchRequest, sentences: Sequence[_Sentence], options: dict[str, Any]) -> list[Any]:
        """Return the library's result for each sentence. A call has one limit of length, the largest of its sentences;
        one with a longer hypothesis than its own limit is searched again.
        """
        if request.deadline:
            request.deadline.check()
        most = max(sentence.most for sentence in sentences)
        results: list[Any] = self._translator.translate_batch(
            [sentence.source for sentence in sentences],
            [sentence.prefix for sentence in sentences] if any(sentence.prefix for sentence in sentences) else None,
            max_input_length=0,
            max_batch_size=max(1, TOKENS // request.search.width),
            batch_type="tokens",
            max_decoding_length=most + 1,  # the end counts
            return_scores=True,
            return_end_token=True,
            return_attention=request.details,
            **options,
        )

        def limit(place: int) -> int:
            return sentences[place].most

        longer = [
            place
            for place, result in enumerate(results)
            if limit(place) < most and max(map(len, result.hypotheses)) > limit(place) + 1
        ]
        for _, members in groupby(sorted(longer, key=limit), limit):
            places = list(members)
            again = self._search(request, [sentences[place] for place in places], options)
            for place, result in zip(places, again, strict=True):
                results[place] = result
        return results

    def _drafts(self, request: SearchRequest, sentence: _Sentence, result: Any) -> Iterator[_Draft]:
        """Yield the hypotheses of a sentence."""
        penalty = _length_penalty(request.search)
        for number, (names, score) in enumerate(zip(result.hypotheses, result.scores, strict=True)):
            ids = [self._ids[name] for name in names]
            is_whole = ids[-1] == EOS and not (sentence.prefix or sentence.least or request.details)
            total = refuse_nan(score) * len(ids) ** penalty if is_whole else None
            attention = (np.array(result.attention[number], np.float32),) if request.details else ()
            yield _Draft(sentence, tuple(ids[:-1]), total, attention)  # what was cut has one symbol too many

    def _restore_first(self, sentences: Sequence[_Sentence], drafts: Sequence[_Draft]) -> None:
        """Set the attention of the first step, in place. The beam search of CTranslate2 4.8 takes it from another
        sentence of the batch; it is the same in any search.
        """
        results = self._translator.translate_batch(
            [sentence.source for sentence in sentences],
            max_input_length=0,
            beam_size=1,
            max_decoding_length=1,
            return_end_token=True,
            return_attention=True,
        )
        first = {sentence.number: result.attention[0][0] for sentence, result in zip(sentences, results, strict=True)}
        for draft in drafts:
            draft.attention[0][0] = first[draft.sentence.number]

    def _finish(self, search: Search, drafts: Sequence[_Draft]) -> Iterator[tuple[_Sentence, Hypothesis]]:
        """Yield sentences with their hypotheses."""
        scored = self._score([draft for draft in drafts if draft.total is None])
        for sentence, symbols, total, attention in drafts:
            log_probs = next(scored) if total is None else (math.nan,) * (len(symbols) + 1)
            log_prob = sum(log_probs) if total is None else total
            rank = search.ranking.rank(log_prob, len(log_probs)) if isinstance(search, Beam) else log_prob
            surfaces = (None,) * len(symbols)
            yield sentence, Hypothesis(symbols, rank, log_probs, attention, surfaces, total=total)

    def _score(self, drafts: Sequence[_Draft]) -> Iterator[tuple[float, ...]]:
        """Yield log P of the symbols of each hypothesis, and of its end."""
        if drafts:
            targets = [[self._target[symbol] for symbol in draft.symbols] for draft in drafts]
            sources = [draft.sentence.source for draft in drafts]
            for result in self._translator.score_batch(sources, targets, max_input_length=0):
                yield tuple(map(refuse_nan, result.log_probs))


def _forbids_unknown(constraints: Sequence[Constraint], sentences: int) -> list[bool]:
    """Whether each sentence may not have `<unk>`. UserError for any other constraint."""
    forbids_unknown = [False] * sentences
    for constraint in constraints:
        if isinstance(constraint, NoUnknown):
            forbids_unknown = [True] * sentences
        elif isinstance(constraint, NoUnknownInSentences):
            forbids_unknown = [a or b for a, b in zip(forbids_unknown, constraint.sentences.tolist(), strict=True)]
        else:
            raise UserError(
                f"engine ctranslate2 supports the constraint no_unknown only, found {type(constraint).__name__}"
            )
    return forbids_unknown


def _options(request: SearchRequest) -> dict[str, Any]:
    """The library's options for a search. UserError for a search that it does not have."""
    search = request.search
    search.check_count(request.n_best)
    count = min(request.n_best + request.spare, search.width)
    return {"beam_size": search.width, "num_hypotheses": count, "length_penalty": _length_penalty(search)}


def _length_penalty(search: Search) -> float:
    if isinstance(search, Greedy):
        return 0.0
    if not isinstance(search, Beam):
        raise UserError(f"engine ctranslate2 supports greedy and beam search only, found {type(search).__name__}")
    ranking = search.ranking
    if ranking.normalization not in PENALTIES or ranking.beta:
        wanted = " or ".join(PENALTIES)
        raise UserError(f"engine ctranslate2 supports normalization {wanted} without coverage_penalty only")
    return PENALTIES[ranking.normalization](ranking.alpha)

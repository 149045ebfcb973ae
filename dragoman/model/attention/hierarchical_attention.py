"""Attention to the sentences of a document and to the words in each (Yang et al. 2016)."""

from typing import final

import torch
from torch import Tensor

from dragoman.model.attention.attention import (
    Attention,
    AttentionHistory,
    AttentionOutput,
    GlobalAttention,
    PreparedSource,
    flatten_sentences,
    group_by_sentence,
)
from dragoman.model.attention.normalizers import Softmax, softmax
from dragoman.model.attention.scores import AlignmentScore
from dragoman.model.attention.terms.term import TermOutput
from dragoman.model.memory import Memory
from dragoman.model.shapes import Bool, Float


@final
class HierarchicalAttention(Attention):
    """Attention to words within each sentence, then to sentences; the weight of a word is the product of both.

        beta_tj  = softmax over the words j of a sentence n, of score(s_t, h_j)
        c_tn     = sum over the words j of n, of beta_tj h_j
        gamma_tn = softmax over the sentences n, of score'(s_t, c_tn)
        alpha_tj = gamma_tn beta_tj,   c_t = sum_n gamma_tn c_tn = sum_j alpha_tj h_j

    A document is one source; `mark` is the id of the symbol that ends each sentence but the last, and is a word of the
    sentence that it ends. Terms apply to words; if they hide all words of a sentence, its gamma is 0.
    """

    def __init__(self, words: GlobalAttention, sentence_score: AlignmentScore, mark: int) -> None:
        super().__init__()
        if not isinstance(words.normalizer, Softmax):
            raise ValueError("requires normalizer: softmax")
        self.words = words
        self.sentence_score = sentence_score
        self.mark = mark
        self.size = words.size

    def prepare(self, memory: Memory) -> PreparedSource:
        assert memory.ids is not None
        ends = (memory.ids == self.mark).long()
        return self.words.prepare(memory)._replace(
            sentence_of_word=(ends.cumsum(1) - ends).masked_fill(~memory.mask, -1)
        )

    def start(self, prepared_source: PreparedSource) -> AttentionHistory:
        return self.words.start(prepared_source)

    def forward(
        self,
        query: Float[Tensor, "R Q"],
        embedded: Float[Tensor, "R E"],
        prepared_source: PreparedSource,
        history: AttentionHistory,
    ) -> AttentionOutput:
        terms = self.words.term_outputs(query, embedded, prepared_source, history)
        queries = group_by_sentence(query, prepared_source)  # (B, T, Q)
        there, words = self.within(queries, prepared_source, terms)  # (B, T, N), (B, T, N, S)
        values = prepared_source.values
        contexts = torch.bmm(words.flatten(1, 2).to(values.dtype), values).view(*there.shape, -1)  # (B, T, N, C)
        keys = self.sentence_score.keys(flatten_sentences(contexts), flatten_sentences(there))
        energies = self.sentence_score(query.unsqueeze(1), keys).squeeze(1)  # (R, N)
        sentences = softmax(energies.masked_fill(~flatten_sentences(there), float("-inf"))).unsqueeze(1)
        context = torch.bmm(sentences.to(values.dtype), flatten_sentences(contexts))
        weights = (sentences.transpose(1, 2) * flatten_sentences(words)).sum(
            1
        )  # no matrix product, which autocast would round
        return AttentionOutput(context.squeeze(1), AttentionHistory(weights, terms.carried))

    def within(
        self, query: Float[Tensor, "B T Q"], prepared_source: PreparedSource, terms: TermOutput
    ) -> tuple[Bool[Tensor, "B T N"], Float[Tensor, "B T N S"]]:
        """Return whether each sentence has a visible word, and the weights of its words, 0 at words of other
        sentences.
        """
        numbers = prepared_source.sentence_of_word
        # An exported graph serves any document, with as many sentences as there are words.
        count = numbers.size(1) if torch.compiler.is_exporting() else int(numbers.max()) + 1
        members = numbers.unsqueeze(1) == torch.arange(count, device=numbers.device).unsqueeze(1)  # (B, N, S)
        energies = self.words.energies(query, prepared_source, terms).unsqueeze(2)
        seen = members.unsqueeze(1) & (energies > float("-inf"))
        weights = softmax(energies.masked_fill(~seen, torch.finfo(energies.dtype).min))
        return seen.any(-1), weights.masked_fill(~seen, 0)

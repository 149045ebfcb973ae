"""Encoders of sources."""

import pytest
import torch

from dragoman.data.batch import pad_tokens
from dragoman.data.vocabulary import EOS
from tests.builders import build_model


@pytest.mark.spec("J14")
@pytest.mark.parametrize("encoder", [{"layers": 2}, {"kind": "self_attention", "heads": 2, "positions": "sinusoidal"}])
def test_an_end_that_is_not_read_is_like_padding(encoder: dict[str, object]) -> None:
    """The states of words are those of a text without an end; an empty text is read as its end."""
    model = build_model(encoder=encoder, bridge="mean").double().eval()
    (source_encoder,) = model.source_encoders
    source_encoder.reads_end = False
    with_end = source_encoder(pad_tokens([[4, 5, 6, EOS], [5, EOS], [EOS]]))
    assert with_end.mask.tolist() == [[True, True, True, False], [True] + [False] * 3, [True] + [False] * 3]
    source_encoder.reads_end = True
    for row, words in enumerate(([4, 5, 6], [5], [EOS])):
        alone = source_encoder(pad_tokens([words]))
        torch.testing.assert_close(with_end.states[row, : len(words)], alone.states[0], rtol=0, atol=1e-9)

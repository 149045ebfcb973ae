"""Letter case of texts."""

LEAST_CAPITALS = 4  # letters of a text that is taken for one in capitals, and no acronym


def mostly_capitals(text: str) -> bool:
    """Whether a text has at least LEAST_CAPITALS capitals, and no more letters in lower case than those."""
    capitals = sum(map(str.isupper, text))
    return capitals >= LEAST_CAPITALS and capitals >= sum(map(str.islower, text))

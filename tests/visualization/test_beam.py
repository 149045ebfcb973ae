"""Trees of hypotheses in a terminal."""

from rich.console import Console

from dragoman.visualization.explained import BeamNode, draw_search, summarize_search

NODES = [
    BeamNode(None, "▁Le", "Le", -0.1, -0.1, 1, "continued"),
    BeamNode(None, "▁La", "La", -2.0, -2.0, 1, "pruned"),
    BeamNode(0, "▁chat", " chat", -0.2, -0.3, 2, "continued"),
    BeamNode(2, "▁dort", " dort", -0.3, -0.6, 3, "continued"),
    BeamNode(2, "\x1b[2J", " \x1b[2J", -1.0, -1.3, 3, "open"),
    BeamNode(3, "</s>", "", -0.1, -0.7, 4, "finished", -0.175),
]


def drawn(nodes: list[BeamNode]) -> list[str]:
    console = Console(width=90, color_system=None)
    with console.capture() as capture:
        console.print(draw_search(nodes))
    return capture.get().splitlines()


def test_what_hypotheses_share_stands_once() -> None:
    assert drawn(NODES) == [
        "6 hypotheses, up to 2 at a time, 1 finished, 1 pruned, 1 open",
        "├── Le chat",
        "│   ├── dort ✔ -0.17",
        "│   └── ␛[2J … -1.30",
        "└── La ✗ -2.00",
    ]


def test_a_search_without_hypotheses() -> None:
    assert drawn([]) == [summarize_search([])] == ["0 hypotheses, up to 0 at a time"]


def test_a_long_hypothesis_is_one_line() -> None:
    """However many symbols it has."""
    long = [BeamNode(n - 1 if n else None, "a", " a", -0.1, -0.1, n + 1, "continued") for n in range(3000)]
    assert len(drawn(long)) == 2

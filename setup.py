"""What pyproject.toml cannot say: the description is README.md, with the text alone of links into the repository."""

import re
from pathlib import Path

from setuptools import setup

README = Path(__file__).resolve().parent / "README.md"

setup(
    long_description=re.sub(r"\[([^]]*)\]\((?!https?://)[^)]*\)", r"\1", README.read_text("utf-8")),
    long_description_content_type="text/markdown",
)

"""What pyproject.toml cannot say: the description is README.md without the images of the repository, and with the text
alone of links into it.
"""

import re
from pathlib import Path

from setuptools import setup

README = Path(__file__).resolve().parent / "README.md"
HERE = r"\[([^]]*)\]\((?!https?://)[^)]*\)"  # a link into the repository

setup(
    long_description=re.sub(HERE, r"\1", re.sub(rf"!{HERE}\n*", "", README.read_text("utf-8"))),
    long_description_content_type="text/markdown",
)

"""What each option of each command changes."""

from collections.abc import Mapping, Sequence

from tests.system.options import of_evaluating, of_preparing, of_serving, of_translating
from tests.system.options.effects import Effects, Watch

TABLE: dict[str, Effects] = {**of_preparing.TABLE, **of_translating.TABLE, **of_evaluating.TABLE, **of_serving.TABLE}
WATCHED: Mapping[str, Sequence[Watch]] = {**of_preparing.WATCHED, **of_translating.WATCHED, **of_serving.WATCHED}

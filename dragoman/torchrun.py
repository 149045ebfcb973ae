"""What torchrun tells every process that it starts. A process that it has not started is the only one."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Process:
    """This process among those that work together: its number among all of them, and among those of its machine."""

    rank: int
    count: int
    local_rank: int
    local_count: int

    @property
    def leads(self) -> bool:
        """It is the first of all."""
        return self.rank == 0


def process() -> Process:
    """This process."""
    names = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    return Process(*(int(os.environ.get(name, alone)) for name, alone in names.items()))

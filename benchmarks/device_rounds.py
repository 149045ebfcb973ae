"""Rounds on a device. Interpreters of other toolkits import this module too: it needs nothing but torch."""

import torch

from benchmarks.rounds import Rounds, peak_memory


class DeviceRounds(Rounds):
    """Rounds that end when the device has finished, and measure its memory if it has its own."""

    def __init__(self, device: str) -> None:
        self._cuda = device == "cuda"
        super().__init__(torch.cuda.max_memory_allocated if self._cuda else peak_memory)

    def end(self) -> None:
        if self._cuda:
            torch.cuda.synchronize()
        super().end()

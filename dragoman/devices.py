"""Device, threads and precision: what this machine does the work with, decided in one place."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import NamedTuple

import torch

from dragoman import threads
from dragoman.configuration.config import DeviceConfig
from dragoman.errors import UserError
from dragoman.torch_internals import capabilities

# Batches have many shapes. oneDNN keeps what it compiled for each of the last 1,024 of them, which are hundreds of
# megabytes after an hour; making it anew takes less time than can be measured.
CACHES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}

# Multiplications of a step that one thread does alone. A step is some twenty operations one after the other; at ten
# million multiplications each is done in a fifth of a millisecond, and waking another thread takes as long, or, where
# that has to wait for a core, ten times longer.
SMALL = 200_000_000


class Device(NamedTuple):
    """Where and how numbers are computed."""

    torch_device: torch.device
    threads: int
    precision: torch.dtype

    def autocast(self) -> AbstractContextManager[object]:
        """Training's matrix products in the chosen precision; weights and losses stay in float32."""
        if self.precision is torch.float32:
            return nullcontext()
        return torch.autocast(self.torch_device.type, self.precision)

    def threads_for(self, multiplications: int) -> AbstractContextManager[None]:
        """One thread for steps that are SMALL, as many as there are for others."""
        return one_thread() if multiplications < SMALL else nullcontext()

    def __str__(self) -> str:
        place = self.torch_device
        name = torch.cuda.get_device_name(place) if place.type == "cuda" else f"cpu ({processor()})"
        return f"{name}, {self.threads} threads, {str(self.precision).removeprefix('torch.')}"


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread, and afterwards with as many as before."""
    before = torch.get_num_threads()
    if before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def choose(config: DeviceConfig) -> Device:
    """The device that the configuration asks for, or the best one; sets this process's threads and caches."""
    for variable, size in CACHES.items():
        os.environ.setdefault(variable, size)
    name = config.name
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("device.name: cuda was asked for, but torch finds no CUDA device; use auto or cpu")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    place = torch.device("cuda", threads.process().local_rank) if name == "cuda" else torch.device("cpu")
    precision = {"float32": torch.float32, "bfloat16": torch.bfloat16}.get(config.precision) or fastest(place)
    return Device(place, use_threads(config), precision)


def use_threads(config: DeviceConfig) -> int:
    """Compute with as many threads as `threads.py` finds; those between operations (torch's inter-op pool) have no work
    here, and wait asleep.
    """
    count = threads.decide(config.threads, threads.process().local_count)
    torch.set_num_threads(count)
    return count


def fastest(place: torch.device) -> torch.dtype:
    """The precision of the fastest products: bfloat16 where the device has instructions for it, else float32."""
    if place.type == "cuda":
        with torch.cuda.device(place):
            found = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        found = any(capabilities().get(name) for name in ("amx_bf16", "avx512_bf16"))
    return torch.bfloat16 if found else torch.float32


def release_memory() -> None:
    """Hand what was freed back to the system: glibc keeps most of it, in pieces too small for the next batch."""
    with suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def processor() -> str:
    """What matters about this processor, in words: its vectors, and which products it has instructions for."""
    products = {"amx_bf16": "AMX", "avx512_bf16": "bf16", "avx512_vnni": "VNNI"}
    found = [name for key, name in products.items() if capabilities().get(key)]
    return " ".join([torch.backends.cpu.get_cpu_capability(), *found])

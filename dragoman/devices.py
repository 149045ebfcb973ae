"""Choose the device, the number of threads and the precision of computations."""

import ctypes
import os
import platform
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

import torch

from dragoman import threads
from dragoman.configuration import arguments, sections
from dragoman.configuration.config import DeviceConfig
from dragoman.configuration.config_file import ConfigError
from dragoman.errors import UserError
from dragoman.torch_internals import capabilities

# Batches have many shapes. By default, oneDNN caches compiled kernels for the last 1,024 of them, which is hundreds of
# megabytes after an hour; compiling them again takes no measurable time.
CACHES = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64", "LRU_CACHE_CAPACITY": "64"}

# What torch says of a GPU that is as it should be: cuDNN copies the weights of a recurrent encoder into one piece, and
# the nodes of a recorded pass belong to the stream on which it was recorded.
EXPECTED = (
    "RNN module weights are not part of single contiguous chunk",
    "The AccumulateGrad node's stream does not match",
)

# Steps with fewer multiplications than this use one thread. A step is about twenty operations in sequence; with ten
# million multiplications, each takes a fifth of a millisecond. Waking another thread takes as long, and ten times
# longer if it has to wait for a core.
SMALL = 200_000_000

# Parameters from which a model trains faster in bfloat16 on a GPU. A smaller one loses more time on converting numbers
# than it saves by multiplying them: on an H100, 9 million parameters were 3 % slower, 90 million 1.7 times as fast.
LARGE = 30_000_000

# Bytes by which a training may grow before freed memory is returned to the system.
GROWN = 3 << 28  # three quarters of a gigabyte

# Parameters of glibc's `mallopt` and their values in bytes: M_MMAP_THRESHOLD (-3), the size up to which blocks come
# from the heap, at its maximum; M_TRIM_THRESHOLD (-1), the free memory that is kept at the end of the heap. By default,
# glibc returns the blocks of a large batch after each operation; mapping them again took up to an eighth of the time of
# translating.
MALLOC_OPTIONS = {-3: 32 << 20, -1: 256 << 20}

# Environment variables by which a user sets these parameters.
MALLOC_VARIABLES = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")

# Bytes of addresses that are reserved for a heap in huge pages.
RESERVED = 1 << 30

# Options of such a heap: it grows by 64 MB at least (M_TOP_PAD, -2), and shrinks only where `Heap` says so.
HEAP_OPTIONS = MALLOC_OPTIONS | {-2: 64 << 20, -1: (1 << 31) - 1}

MADV_HUGEPAGE = 14  # of Linux's `madvise`

X86 = ("x86_64", "AMD64", "i686")
KIND_VARIABLE = "DRAGOMAN_PROCESSOR"  # environment variable that sets the kind of processor


class Switches(NamedTuple):
    """The choices for a kind of processor, and the instructions that it is recognized by, one of which is enough."""

    instructions: tuple[str, ...]  # as torch names them
    bfloat16: bool  # train with matrix products in bfloat16
    unsigned_int8: bool  # ONNX Runtime makes 8-bit weights unsigned
    int8_bits: int  # bits of the weights of the engine int8


# All that depends on the kind of processor; the first kind whose instructions are there counts. x86 processors without
# VNNI add pairs of 8-bit products in 16 bits, where sums of large signed weights saturate. Unsigned weights and weights
# of 7 bits do not, but ONNX Runtime does not use AMX for unsigned ones, which halves the speed of batches.
PROCESSORS = {
    "amx": Switches(("amx_bf16", "amx_int8"), bfloat16=True, unsigned_int8=False, int8_bits=8),
    "avx512_bf16": Switches(("avx512_bf16",), bfloat16=True, unsigned_int8=False, int8_bits=8),
    "vnni": Switches(("avx512_vnni", "avx_vnni"), bfloat16=False, unsigned_int8=False, int8_bits=8),
    "avx2": Switches((), bfloat16=False, unsigned_int8=True, int8_bits=7),  # every other x86 processor
    "arm": Switches((), bfloat16=False, unsigned_int8=False, int8_bits=8),  # every processor that is not x86
}


class Device(NamedTuple):
    """The device, its number of threads and the precision of training. `tf32`: products in float32 read 10 bits of
    mantissas on a GPU, several times as fast.
    """

    torch_device: torch.device
    threads: int
    precision: torch.dtype
    tf32: bool = False

    def for_model(self, config: DeviceConfig, parameters: int) -> "Device":
        """This device with the precision for training a model of so many parameters, if the configuration leaves it
        open: bfloat16 for a LARGE one on a GPU that has instructions for it.
        """
        is_open = config.precision == "auto" and self.torch_device.type == "cuda"
        if not (is_open and parameters >= LARGE and has_bfloat16(self.torch_device)):
            return self
        return self._replace(precision=torch.bfloat16)

    def autocast(self) -> AbstractContextManager[object]:
        """A context in which matrix products have the chosen precision; weights and losses stay in float32."""
        if self.precision is torch.float32:
            return nullcontext()
        return torch.autocast(self.torch_device.type, self.precision)

    @contextmanager
    def training(self) -> Iterator[None]:
        """A context in which products in float32 are TF32 if that is chosen, in backward passes, too."""
        matmul = torch.backends.cuda.matmul
        before = matmul.allow_tf32
        matmul.allow_tf32 = self.tf32
        try:
            yield
        finally:
            matmul.allow_tf32 = before

    def threads_for(self, multiplications: int) -> AbstractContextManager[None]:
        """A context with one thread for steps below SMALL, and with all threads for others, whatever number the calling
        thread has: torch gives a new one that of the last block, which may have been for small steps elsewhere.
        """
        return computing_with(1 if multiplications < SMALL else self.threads)

    def __str__(self) -> str:
        place = self.torch_device
        name = torch.cuda.get_device_name(place) if place.type == "cuda" else f"cpu ({processor()})"
        slow = " (slow here: precision auto is float32)" if self.emulated else ""
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        precision = "tf32" if self.tf32 else str(self.precision).removeprefix("torch.")
        return f"{name}, {threads}, {precision}{slow}"

    @property
    def emulated(self) -> bool:
        """Whether this is bfloat16 without instructions for it, which is many times slower than float32."""
        return self.precision is torch.bfloat16 and not has_bfloat16(self.torch_device)


@contextmanager
def computing_with(count: int) -> Iterator[None]:
    """Compute with so many threads inside the block, and with as many as before after it."""
    before = torch.get_num_threads()
    if before == count:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def choose_config(device: str | DeviceConfig, own: DeviceConfig) -> DeviceConfig:
    """The device that a program asks for: a name, `auto`, `cpu` or `cuda`, takes the place of that of its `own` one.
    ConfigError for another name, TypeError for anything else.
    """
    if not isinstance(device, str):
        return arguments.checked(device, "device", str, DeviceConfig)
    _, problems, _ = sections.validate(DeviceConfig, {"name": device})
    if problems:
        raise ConfigError("; ".join(f"device.{problem}" for problem in problems))
    return own.model_copy(update={"name": device})


def choose(config: DeviceConfig) -> Device:
    """Return the device of the configuration, or with `auto` the best one; set this process's threads and caches.
    UserError if cuda is requested and there is none, or if DRAGOMAN_PROCESSOR names no kind of processor.
    """
    kind_of_processor()  # an unknown one is refused before anything is computed
    for variable, size in CACHES.items():
        os.environ.setdefault(variable, size)
    name = config.name
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("device.name: cuda is not available to torch; use auto or cpu")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda":
        for begin in EXPECTED:
            warnings.filterwarnings("ignore", begin)
    place = torch.device("cuda", threads.process().local_rank) if name == "cuda" else torch.device("cpu")
    tf32 = config.precision == "tf32" and name == "cuda"
    kinds = {"float32": torch.float32, "tf32": torch.float32, "bfloat16": torch.bfloat16}
    return Device(place, use_threads(config), kinds.get(config.precision) or fastest(place), tf32)


def use_threads(config: DeviceConfig) -> int:
    """Compute with as many threads as `threads.decide` returns. torch's inter-op threads stay as they are: they have no
    work here and sleep.
    """
    count = threads.decide(config.threads, threads.process().local_count)
    torch.set_num_threads(count)
    return count


def fastest(place: torch.device) -> torch.dtype:
    """The precision in which models of any size train fastest: bfloat16 on a processor that has instructions for it,
    otherwise float32. On a GPU, `Device.for_model` decides by size.
    """
    return torch.bfloat16 if place.type == "cpu" and has_bfloat16(place) else torch.float32


def has_bfloat16(place: torch.device) -> bool:
    """Whether the device has instructions for products in bfloat16."""
    if place.type == "cuda":
        with torch.cuda.device(place):
            return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return switches().bfloat16


def switches() -> Switches:
    """Return the choices for this processor."""
    return PROCESSORS[kind_of_processor()]


def kind_of_processor() -> str:
    """Return the key of PROCESSORS for this processor: the value of DRAGOMAN_PROCESSOR, or else by its instructions.
    UserError if the variable has another value.
    """
    if kind := os.environ.get(KIND_VARIABLE):
        if kind not in PROCESSORS:
            raise UserError(f'{KIND_VARIABLE}: expected one of {", ".join(PROCESSORS)}, found "{kind:.60}"')
        return kind
    if platform.machine() not in X86:
        return "arm"
    features = capabilities()
    kinds = (kind for kind, row in PROCESSORS.items() if any(features.get(name) for name in row.instructions))
    return next(kinds, "avx2")


class Heap:
    """The memory of a training, which glibc keeps between steps, if it is glibc and the user has not set what it keeps.

    It is in huge pages (2 MB), which Linux gives to programs that ask. The tensors of a step do not fit in any cache,
    and with pages of 4 KB the processor spends up to a quarter of the time on finding them, above all in a virtual
    machine. `release` returns freed memory, mostly pieces too small for the next batch, to the system once the process
    has grown by GROWN bytes since the last time. Asking for the size takes microseconds, and a training whose batches
    have similar sizes hardly ever releases.
    """

    def __init__(self) -> None:
        self._start = heap_start()
        self._reserve()
        self._released = resident_memory()  # bytes of the process after the last release

    def release(self) -> None:
        """Return freed memory if the process has grown. Call this after each step."""
        if resident_memory() - self._released > GROWN:
            trim_heap()
            self._reserve()
            self._released = resident_memory()

    def _reserve(self) -> None:
        """Let the heap grow by RESERVED bytes of addresses, and ask for huge pages there before they are used."""
        if not self._start:
            return
        with suppress(AttributeError, OSError, TypeError):  # not glibc
            library = ctypes.CDLL(None)
            library.malloc.restype = library.sbrk.restype = ctypes.c_void_p
            set_malloc_options({**HEAP_OPTIONS, -2: RESERVED})
            # The largest block that comes from the heap; it is too large for what is free there.
            library.free(ctypes.c_void_p(library.malloc(ctypes.c_size_t(MALLOC_OPTIONS[-3] - 4096))))
            set_malloc_options(HEAP_OPTIONS)
            size = library.sbrk(ctypes.c_ssize_t(0)) - self._start
            library.madvise(ctypes.c_void_p(self._start), ctypes.c_size_t(size), MADV_HUGEPAGE)


def heap_start() -> int:
    """Return the address of the heap; 0 if it has none, and where a user has set what glibc keeps."""
    if any(name in os.environ for name in MALLOC_VARIABLES):
        return 0
    with suppress(OSError):  # not Linux
        for line in Path("/proc/self/maps").read_text("utf-8").splitlines():
            if line.endswith("[heap]"):
                return int(line.split("-")[0], 16)
    return 0


def resident_memory() -> int:
    """Return the memory of this process in bytes, or 0 on systems other than Linux."""
    try:
        pages = int(Path("/proc/self/statm").read_text("utf-8").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def keep_freed_memory() -> None:
    """Keep freed memory for the next operation, if the C library is glibc and the user has not set what it keeps."""
    if not any(name in os.environ for name in MALLOC_VARIABLES):
        set_malloc_options(MALLOC_OPTIONS)


def set_malloc_options(options: Mapping[int, int]) -> None:
    """Set parameters of `mallopt`, if the C library is glibc."""
    with suppress(AttributeError, OSError, TypeError):  # not glibc
        mallopt = ctypes.CDLL(None).mallopt
        for parameter, size in options.items():
            mallopt(parameter, size)


def trim_heap() -> None:
    """Return all freed memory to the system, if the C library is glibc."""
    with suppress(AttributeError, OSError, TypeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)


def processor() -> str:
    """The features of this processor that matter for speed: its vector extension, and instructions for products; and
    the kind that DRAGOMAN_PROCESSOR sets instead.
    """
    products = {"amx_bf16": "AMX", "avx512_bf16": "bf16", "avx512_vnni": "VNNI"}
    extensions = [name for key, name in products.items() if capabilities().get(key)]
    features = " ".join([torch.backends.cpu.get_cpu_capability(), *extensions])
    return f"{features}, as {kind_of_processor()}" if os.environ.get(KIND_VARIABLE) else features

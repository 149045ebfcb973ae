"""Device, threads and precision."""

import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from dragoman import devices
from dragoman.configuration.config import DeviceConfig
from dragoman.configuration.config_file import ConfigError
from dragoman.devices import EXPECTED, KIND_VARIABLE, PROCESSORS, Device, Switches, choose, choose_config
from dragoman.errors import UserError
from tests.golden import Golden

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The number of threads as it was, and the kind of processor as it is."""
    monkeypatch.delenv(KIND_VARIABLE, raising=False)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def _gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with one that multiplies in bfloat16 (torch asks the GPU itself)."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    monkeypatch.setattr(torch.cuda, "device", nullcontext)


@pytest.mark.usefixtures("_gpu")
def test_auto_is_the_gpu_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose(DeviceConfig()).torch_device == torch.device("cuda", 0)
    assert choose(DeviceConfig(name="cpu")).torch_device == CPU
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose(DeviceConfig()).torch_device == CPU


@pytest.mark.usefixtures("_gpu")
def test_each_worker_of_a_machine_has_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert choose(DeviceConfig(name="cuda")).torch_device == torch.device("cuda", 3)


def test_a_gpu_is_asked_only_for_what_is_left_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)  # there is none: asking it would fail
    assert choose(DeviceConfig(precision="float32")).precision is torch.float32


def test_a_gpu_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match=r"device\.name:") as raised:
        choose(DeviceConfig(name="cuda"))
    golden(str(raised.value))


def test_a_name_takes_the_place_of_that_of_the_run() -> None:
    own = DeviceConfig(name="cuda", threads=3, precision="float32")
    assert choose_config("cpu", own) == DeviceConfig(name="cpu", threads=3, precision="float32")
    assert choose_config(DeviceConfig(threads=1), own) == DeviceConfig(threads=1)
    with pytest.raises(ConfigError, match=r'^device\.name: expected one of auto, cpu, cuda, found "tpu"'):
        choose_config("tpu", own)


def test_takes_the_threads_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert choose(DeviceConfig(name="cpu")).threads == torch.get_num_threads() == 5
    assert choose(DeviceConfig(name="cpu", threads=3)).threads == 3
    assert torch.get_num_threads() == 3
    assert choose(DeviceConfig(name="cpu", threads=1024)).threads == 1024


def test_small_steps_are_done_by_one_thread() -> None:
    device = choose(DeviceConfig(name="cpu", threads=3))
    for multiplications, threads in ((0, 1), (devices.SMALL - 1, 1), (devices.SMALL, 3)):
        with device.threads_for(multiplications):
            assert torch.get_num_threads() == threads
        assert torch.get_num_threads() == 3
    with pytest.raises(UserError), device.threads_for(0):
        raise UserError("in the middle")
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize("count", [1, 2])
def test_small_steps_leave_the_number_of_threads_that_somebody_else_has_set(count: int) -> None:
    device = choose(DeviceConfig(name="cpu", threads=3))
    torch.set_num_threads(count)
    with device.threads_for(0):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == count


def test_large_steps_have_all_threads_where_a_thread_began_during_small_steps_of_another() -> None:
    """As the thread of a model of a service does, whose first number of threads is what torch had last."""
    device = choose(DeviceConfig(name="cpu", threads=3))

    def large() -> int:
        with device.threads_for(devices.SMALL):
            return torch.get_num_threads()

    with ThreadPoolExecutor(1) as pool:
        with device.threads_for(0):
            assert pool.submit(torch.get_num_threads).result() == 1
        assert pool.submit(large).result() == 3
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize(("precision", "kind"), [("float32", torch.float32), ("bfloat16", torch.bfloat16)])
def test_products_are_in_the_chosen_precision_and_sums_in_float32(precision: str, kind: torch.dtype) -> None:
    device = choose(DeviceConfig.model_validate({"name": "cpu", "threads": 1, "precision": precision}))
    with device.autocast():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is kind
        assert torch.nn.functional.cross_entropy(torch.ones(2, 2), torch.zeros(2).long()).dtype is torch.float32
    assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32


@pytest.mark.parametrize(
    ("instructions", "kind"),
    [
        ({"avx512_bf16": True, "amx_bf16": False}, torch.bfloat16),
        ({"avx512_bf16": False, "amx_bf16": True}, torch.bfloat16),
        ({"avx512_f": True, "avx512_bf16": False}, torch.float32),
        ({}, torch.float32),
    ],
)
def test_products_are_in_bfloat16_where_the_processor_has_instructions_for_it(
    instructions: dict[str, object], kind: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: instructions, raising=False)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert choose(DeviceConfig(name="cpu")).precision is kind
    assert choose(DeviceConfig(name="cpu", precision="float32")).precision is torch.float32
    assert choose(DeviceConfig(name="cpu", threads=2, precision="bfloat16")).precision is torch.bfloat16


@pytest.mark.parametrize(
    ("machine", "features", "kind"),
    [
        ("x86_64", {"avx2": True}, "avx2"),
        ("x86_64", {"avx512_f": True, "avx512_vnni": False}, "avx2"),
        ("x86_64", {"avx2": True, "avx_vnni": True}, "vnni"),
        ("AMD64", {"avx512_f": True, "avx512_vnni": True}, "vnni"),
        ("x86_64", {"avx512_vnni": True, "avx512_bf16": True, "amx_bf16": False}, "avx512_bf16"),
        ("x86_64", {"avx512_vnni": True, "avx512_bf16": True, "amx_bf16": True, "amx_int8": True}, "amx"),
        ("AMD64", {}, "avx2"),
        ("aarch64", {}, "arm"),
        ("arm64", {}, "arm"),
    ],
)
def test_a_kind_of_processor_is_recognized_by_its_instructions(
    machine: str, features: dict[str, object], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AVX2, Skylake-X, Alder Lake, Ice Lake, Zen 4, Sapphire Rapids, one unknown to torch, Arm."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: features, raising=False)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert devices.kind_of_processor() == kind
    assert devices.switches() is PROCESSORS[kind]
    monkeypatch.setenv(KIND_VARIABLE, "")
    assert devices.kind_of_processor() == kind


@pytest.mark.parametrize("kind", PROCESSORS)
def test_a_kind_of_processor_can_be_set(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On any processor, the choices are those of the table."""
    monkeypatch.setenv(KIND_VARIABLE, kind)
    device = choose(DeviceConfig(name="cpu"))
    assert device.precision is (torch.bfloat16 if kind in ("amx", "avx512_bf16") else torch.float32)
    assert devices.switches().unsigned_int8 is (kind == "avx2")
    assert devices.switches().int8_bits == (7 if kind == "avx2" else 8)
    assert f", as {kind}), " in str(device)
    assert not device.emulated
    with device.autocast():
        assert torch.equal(torch.ones(2, 2) @ torch.ones(2, 2), torch.full((2, 2), 2.0, dtype=device.precision))


def test_an_unknown_kind_of_processor_is_refused(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setenv(KIND_VARIABLE, "tpu")
    with pytest.raises(UserError, match=f"^{KIND_VARIABLE}: ") as raised:
        choose(DeviceConfig(name="cpu", precision="float32"))
    golden(str(raised.value))


def test_the_documentation_has_the_table_of_processors(repository: Path) -> None:
    section = (
        (repository / "docs" / "speed.md").read_text("utf-8").split("## Kinds of processors\n")[1].split("\n## ")[0]
    )
    _, _, *rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    documented = {kind.strip(" `"): [choice.strip() for choice in choices] for kind, _, *choices in rows}
    assert documented == {kind: _documented(row) for kind, row in PROCESSORS.items()}


def _documented(row: Switches) -> list[str]:
    """The columns for training, the engine int8 and ONNX Runtime."""
    return [
        "bfloat16" if row.bfloat16 else "float32",
        str(row.int8_bits),
        "unsigned" if row.unsigned_int8 else "signed",
    ]


@pytest.mark.usefixtures("_gpu")
@pytest.mark.parametrize("allowed", [True, False])
def test_a_gpu_multiplies_in_float32_unless_told_otherwise(allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: allowed or including_emulation)
    assert choose(DeviceConfig()).precision is torch.float32
    assert choose(DeviceConfig(precision="bfloat16")).emulated is not allowed


@pytest.mark.parametrize(
    ("kind", "config", "parameters", "precision"),
    [
        ("cuda", DeviceConfig(), devices.LARGE, torch.bfloat16),
        ("cuda", DeviceConfig(), devices.LARGE - 1, torch.float32),
        ("cuda", DeviceConfig(precision="float32"), devices.LARGE, torch.float32),
        ("cpu", DeviceConfig(), devices.LARGE, torch.float32),
    ],
)
def test_large_models_train_in_bfloat16_on_a_gpu(
    kind: str, config: DeviceConfig, parameters: int, precision: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "has_bfloat16", lambda place: True)
    device = Device(torch.device(kind), 1, torch.float32)
    assert device.for_model(config, parameters).precision is precision


@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_products_on_a_gpu_are_tf32_in_training_if_that_is_chosen(
    precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    device = choose(DeviceConfig.model_validate({"name": "cuda", "precision": precision}))
    assert device.for_model(DeviceConfig(), 1) == device
    matmul = torch.backends.cuda.matmul
    assert not matmul.allow_tf32
    with device.training():
        assert matmul.allow_tf32 == (precision == "tf32")
        assert device.precision is torch.float32
    assert not matmul.allow_tf32


def test_a_processor_has_no_tf32() -> None:
    """A run that was trained with it is loaded all the same."""
    device = choose(DeviceConfig(name="cpu", precision="tf32"))
    assert (device.precision, device.tf32) == (torch.float32, False)


def test_a_gpu_without_bfloat16_trains_large_models_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "has_bfloat16", lambda place: False)
    device = Device(torch.device("cuda"), 1, torch.float32)
    assert device.for_model(DeviceConfig(), devices.LARGE) == device


@pytest.mark.usefixtures("_gpu")
def test_what_torch_says_of_a_gpu_that_is_as_it_should_be_is_not_repeated() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        choose(DeviceConfig())
        for warning in (*EXPECTED, "something else"):
            warnings.warn(f"{warning} of memory.", stacklevel=1)
    assert [str(warning.message) for warning in caught] == ["something else of memory."]


def test_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(Device(CPU, 2, torch.float32)) == f"cpu ({devices.processor()}), 2 threads, float32"


def test_a_processor_is_told_by_its_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    instructions = {"amx_bf16": False, "avx512_bf16": True, "avx512_vnni": True}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: instructions, raising=False)
    assert devices.processor() == "AVX512 bf16 VNNI"
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False, raising=False)
    assert devices.processor() == "AVX512 bf16"
    monkeypatch.delattr(torch.cpu, "_is_avx512_bf16_supported")
    monkeypatch.delattr(torch.cpu, "_is_amx_tile_supported")
    assert devices.processor() == "AVX512"
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"GPU number {device.index}")
    assert str(Device(torch.device("cuda", 1), 1, torch.float32)) == "GPU number 1, 1 thread, float32"


def test_caches_are_small_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", raising=False)
    monkeypatch.setenv("LRU_CACHE_CAPACITY", "7")
    choose(DeviceConfig(name="cpu"))
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == devices.CACHES["ONEDNN_PRIMITIVE_CACHE_CAPACITY"]
    assert os.environ["LRU_CACHE_CAPACITY"] == "7"


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps freed memory")
def test_freed_memory_goes_back_to_the_system() -> None:
    code = """
from dragoman.devices import trim_heap
from tests.golden import Golden
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20
blocks = [bytearray(100_000) for _ in range(1000)]
kept = blocks[::10]  # between the freed ones, so that none of those is at the end of the heap
del blocks
before = resident()
trim_heap()
print(before - resident())
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(process.stdout) > 50


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps freed memory")
@pytest.mark.parametrize("kept", [True, False])
def test_freed_memory_is_kept_for_the_next_batch(kept: bool) -> None:
    """Pages of blocks that are used again are not mapped again, unless the user wants it otherwise."""
    code = """
import resource
from dragoman.devices import keep_freed_memory
keep_freed_memory()
def use():
    blocks = [bytearray(16 << 20) for _ in range(6)]  # several at a time, as the operations of a decoder need them
    for block in blocks:
        block[:: 4096] = bytes(len(block) // 4096)
use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    variables = {name: value for name, value in os.environ.items() if name not in devices.MALLOC_VARIABLES}
    users = {} if kept else {"MALLOC_TRIM_THRESHOLD_": "100000"}
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**variables, **users}
    )
    pages = 5 * 6 * (16 << 20) // os.sysconf("SC_PAGE_SIZE")
    assert (int(process.stdout) < pages / 10) == kept


def _huge_pages_on_request() -> bool:
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return platform.libc_ver()[0] == "glibc" and setting.is_file() and "[madvise]" in setting.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.skipif(not _huge_pages_on_request(), reason="huge pages are given to all programs or to none")
@pytest.mark.parametrize("users", [{}, {"MALLOC_TRIM_THRESHOLD_": "100000"}])
def test_a_training_has_huge_pages(users: dict[str, str]) -> None:
    """Also after memory was returned, unless the user has set what glibc keeps."""
    code = """
from pathlib import Path
from dragoman import devices
def huge():
    blocks = [bytearray(b"x" * (10 << 20)) for _ in range(10)]
    return int(Path("/proc/self/smaps_rollup").read_text().split("AnonHugePages:")[1].split()[0]) >> 10
heap = devices.Heap()
print(huge())
devices.GROWN = -1
heap.release()
print(huge())
"""
    variables = {name: value for name, value in os.environ.items() if name not in devices.MALLOC_VARIABLES}
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**variables, **users}
    )
    assert [int(megabytes) > 50 for megabytes in process.stdout.split()] == [not users] * 2


def test_freed_memory_is_returned_whenever_the_process_has_grown_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [100, 100 + devices.GROWN, 101 + devices.GROWN, 300, 300 + devices.GROWN, 301 + devices.GROWN, 200]
    trimmed = list[int]()
    monkeypatch.setattr(devices, "resident_memory", lambda: sizes.pop(0))
    monkeypatch.setattr(devices, "trim_heap", lambda: trimmed.append(len(sizes)))
    monkeypatch.setattr(devices, "heap_start", lambda: 0)
    heap = devices.Heap()
    for _ in range(4):
        heap.release()
    assert trimmed == [4, 1]  # after the second and the fourth growth, which are larger than the limit
    assert not sizes


@pytest.mark.skipif(platform.system() != "Linux", reason="only Linux tells the memory of a process in /proc")
def test_the_memory_of_the_process_is_known() -> None:
    before = devices.resident_memory()
    held = bytearray(b"x" * 50_000_000)
    assert devices.resident_memory() - before > 0.8 * len(held)


@pytest.mark.parametrize(
    ("instructions", "message"),
    [({}, "bfloat16 (slow here: precision auto is float32)"), ({"avx512_bf16": True}, "bfloat16")],
)
def test_bfloat16_that_a_processor_has_to_emulate_is_told(
    monkeypatch: pytest.MonkeyPatch, instructions: dict[str, bool], message: str
) -> None:
    monkeypatch.setattr(devices, "capabilities", lambda: instructions)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert str(choose(DeviceConfig(name="cpu", threads=2, precision="bfloat16"))).endswith(f" threads, {message}")
    assert str(choose(DeviceConfig(name="cpu", threads=2, precision="float32"))).endswith(" threads, float32")

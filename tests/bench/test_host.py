"""What files of the kernel say."""

from __future__ import annotations

import pytest

from llmcalc.bench import host

FILES = {
    "/proc/cpuinfo": "model name\t: AMD EPYC\ncpu MHz\t\t: 2596.120\nmodel name\t: AMD EPYC\n"
    "cpu MHz\t\t: 3100.5\n",
    "/proc/meminfo": "MemTotal:       24683652 kB\nMemAvailable:   22000000 kB\n",
    "/sys/fs/cgroup/memory.max": "8589934592\n",
    "/sys/fs/cgroup/memory.current": "589934592\n",
}


@pytest.fixture(autouse=True)
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """These files and no others."""
    monkeypatch.setattr(host, "_text", lambda path: FILES.get(path, ""))


def test_names_sizes_and_clocks_are_read() -> None:
    assert host.processor() == "AMD EPYC"
    assert host.all_memory() == 24683652 * 1024
    assert host.clock_mhz() == 3100.5


def test_the_limit_of_a_container_counts() -> None:
    assert host.free_memory() == 8_000_000_000


def test_without_a_limit_the_kernel_says_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FILES, "/sys/fs/cgroup/memory.max", "max\n")
    assert host.free_memory() == 22000000 * 1024


def test_a_system_that_tells_nothing_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_text", lambda _: "")
    assert (host.free_memory(), host.all_memory(), host.clock_mhz()) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "bytes"),
    [("32768K\n", 32 * 2**20), ("1M", 2**20), ("2G", 2**31), ("7", 7), ("max", None), ("", None)],
)
def test_sizes_are_as_the_kernel_writes_them(text: str, bytes: int | None) -> None:
    assert host.size(text) == bytes

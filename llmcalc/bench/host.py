"""What the operating system says of the host: its processor, cache and free memory."""

from __future__ import annotations

import glob
import os
import platform
import re
import sys

ASSUMED_CACHE = 32 * 2**20
"""Where the system does not tell; buffers are chosen several times as large."""
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def processor() -> str:
    """The processor's name."""
    found = re.search(r"^model name\s*:\s*(.+)$", _text("/proc/cpuinfo"), re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()


def system() -> str:
    """Operating system and architecture."""
    return f"{platform.system()} {platform.release()} {platform.machine()}"


def last_cache() -> int | None:
    """Bytes of the largest cache that a core reads through; None where the system hides it."""
    paths = glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size")
    return max(filter(None, (size(_text(path)) for path in paths)), default=None)


def free_memory() -> int | None:
    """Bytes that may still be taken, within the limit of the container."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", _text("/proc/meminfo"), re.MULTILINE)
    free = int(found[1]) * 1024 if found else None
    limit, used = (size(_text(f"/sys/fs/cgroup/memory.{name}")) for name in ("max", "current"))
    rest = [one for one in (free, limit - used if limit and used else None) if one is not None]
    return min(rest, default=None)


def all_memory() -> int | None:
    """Bytes of main memory."""
    found = re.search(r"^MemTotal:\s+(\d+) kB", _text("/proc/meminfo"), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def clock_mhz() -> float | None:
    """The highest clock that a core runs at now."""
    found = re.findall(r"^cpu MHz\s*:\s*([\d.]+)$", _text("/proc/cpuinfo"), re.MULTILINE)
    return max(map(float, found), default=None)


def size(text: str) -> int | None:
    """Bytes as the kernel writes them: `32768K`; None for `max` and for nothing."""
    found = re.fullmatch(r"(\d+)([KMG]?)", text.strip())
    return int(found[1]) * _UNITS[found[2]] if found else None


def load() -> float | None:
    """Processes that ran or waited to in the last minute, on average."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def interruptions() -> int:
    """Times that this process had to leave a core to another; 0 where nobody counts it so."""
    if not sys.platform.startswith("linux"):
        return 0
    import resource  # noqa: PLC0415  (not on Windows)

    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""

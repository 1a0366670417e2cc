"""What the numbers were measured on."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

__all__ = ["describe", "machine"]

_PACKAGES = ("numpy", "torch", "mpi4py", "mpich", "ipykernel")


def machine() -> dict[str, Any]:
    """Return cores, memory, system and versions; nothing that names whose computer it is."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
    }


def describe(found: dict[str, Any]) -> str:
    """Put the machine into a sentence."""
    packages = ", ".join(f"{name} {number}" for name, number in found["packages"].items())
    return (
        f"{found['cores']} cores ({found['processor']}), {found['memory_gb']} GB, "
        f"{found['system']}, Python {found['python']}, {packages}"
    )


def _processor() -> str:
    told = Path("/proc/cpuinfo")  # elsewhere, platform knows
    if told.exists():
        for line in told.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or "processor unknown"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None

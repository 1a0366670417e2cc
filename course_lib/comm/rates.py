"""What a message costs here: three numbers that travel with a run, so that all ranks have the same.

In the simulator they are the network's. On real processes they are a fit of this computer, which
``python -m course_lib bench allreduce --keep`` keeps in a file of the user's; until there is one,
they are what is usual. Under torchrun all ranks go by rank 0's.
"""

import json
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.words.plain_file import put, read_plain

__all__ = ["USUAL", "Rates", "keep_rates", "kept_rates"]

_FILE = "rates.json"
_SCHEMA = 1


@dataclass(frozen=True)
class Rates:
    """What a message costs.

    Attributes
    ----------
    alpha_s : float
        Seconds from sending a message's first byte until it arrives.
    beta_s_per_byte : float
        Seconds for each byte.
    gamma_s_per_byte : float
        Seconds to add a byte that has arrived to what is there.
    source : str
        Where they come from.
    """

    alpha_s: float
    beta_s_per_byte: float
    gamma_s_per_byte: float
    source: str

    @property
    def numbers(self) -> tuple[float, float, float]:
        """Alpha, beta and gamma."""
        return self.alpha_s, self.beta_s_per_byte, self.gamma_s_per_byte


USUAL: Mapping[str, Rates] = {
    "processes": Rates(1e-5, 3e-10, 2e-10, "usual for processes on one computer"),
    "torch": Rates(1e-4, 1e-9, 2e-10, "usual for torch.distributed on one computer"),
    "mpi": Rates(1e-4, 1e-9, 2e-10, "usual for MPI on one computer"),
}
"""By backend: medians of computers with 2 to 8 cores, to one digit."""


def kept_rates(backend: str) -> Rates:
    """Read what was kept for a backend.

    Parameters
    ----------
    backend : {"processes", "torch", "mpi"}
        The world whose messages they are of.

    Returns
    -------
    Rates
        The usual ones where nothing has been kept, and, with a warning that names the file, where
        it is damaged.
    """
    try:
        file = _file()
        text = read_plain(file)
    except (OSError, RuntimeError, ValueError):  # RuntimeError: the user has no home
        return USUAL[backend]
    try:
        found = json.loads(text)
        if found["schema"] != _SCHEMA:
            raise ValueError
        numbers = found.get(backend)
        return USUAL[backend] if numbers is None else Rates(*_checked(numbers), f"kept in {file}")
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        warnings.warn(
            f"{file} is damaged; allreduce chooses by usual numbers. To measure this computer "
            "anew: python -m course_lib bench allreduce --keep",
            stacklevel=2,
        )
        return USUAL[backend]


def keep_rates(backend: str, rates: Rates) -> Path:
    """Write rates where ``kept_rates`` finds them, beside those of the other backends.

    Parameters
    ----------
    backend : {"processes", "torch", "mpi"}
        The world whose messages they are of.
    rates : Rates
        What was measured.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    file = _file()
    try:
        kept = json.loads(read_plain(file))
        kept = kept if kept["schema"] == _SCHEMA else {}
    except (OSError, KeyError, TypeError, ValueError, RecursionError):
        kept = {}
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(kept | {"schema": _SCHEMA, backend: rates.numbers}, indent=1) + "\n"
    put(file, text.encode())
    return file


def _file() -> Path:
    return Path.home() / ".course_lib" / _FILE


def _checked(numbers: Any) -> tuple[float, float, float]:
    if type(numbers) is not list or not {int, float} >= set(map(type, numbers)):
        raise TypeError(numbers)
    alpha_s, beta_s_per_byte, gamma_s_per_byte = map(float, numbers)
    if not all(0 <= x < math.inf for x in (alpha_s, beta_s_per_byte, gamma_s_per_byte)):
        raise ValueError(numbers)
    return alpha_s, beta_s_per_byte, gamma_s_per_byte

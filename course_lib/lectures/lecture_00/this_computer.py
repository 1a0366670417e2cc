"""Alpha and beta of the learner's computer: measured in lecture 00, read by later predictions.

They are kept in the learner's workbook, so that nothing is written by a notebook that runs anywhere
else, as the tests' do, and no such notebook depends on the computer.
"""

import json
import math
from dataclasses import replace
from pathlib import Path

from course_lib.comm.rates import USUAL
from course_lib.comm.simulated.network import Network
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.costs.fit import Line
from course_lib.words.units import in_seconds
from course_lib.words.workbook import WORKBOOK, workbook_around

__all__ = ["STATED", "keep", "this_computer"]

_FILE = "this_computer.json"
_NAME = "this computer"

STATED: Network = replace(
    DEFAULT,
    name="a usual computer",
    latency_s=USUAL["processes"].alpha_s,
    bandwidth_bytes_per_s=1 / USUAL["processes"].beta_s_per_byte,
)
"""What predictions go by where nothing has been measured: 10 us and 0.3 ns a byte."""


def keep(line: Line, folder: Path | None = None) -> tuple[Network, str]:
    """Make a network of a fitted line, and keep it for later lectures.

    Parameters
    ----------
    line : Line
        Alpha and beta of messages between processes, from ``fit_line``.
    folder : Path or None, default: None
        Where the notebook lies; None takes the current folder.

    Returns
    -------
    network : Network
        "this computer", with what was measured; the speed of computing is assumed, as in presets.
    said : str
        Both numbers, and where they are kept; or that they are not: outside of a workbook, or where
        nothing can be written.
    """
    network = _network(line.alpha_s, line.beta_s_per_byte)
    workbook = workbook_around(folder)
    if workbook is None:
        said = "not kept: this notebook is not in a workbook"
    else:
        numbers = {"alpha_s": line.alpha_s, "beta_s_per_byte": line.beta_s_per_byte}
        try:
            (workbook / _FILE).write_text(json.dumps(numbers) + "\n", encoding="utf-8")
            said = f"kept in {WORKBOOK}/{_FILE}"
        except OSError as error:
            said = f"not kept: {error.strerror}"
    both = (
        f"α = {in_seconds(network.latency_s)}, 1/β = {network.bandwidth_bytes_per_s / 1e9:.3g} GB/s"
    )
    return network, f"{both}; {said}"


def this_computer(folder: Path | None = None) -> Network:
    """Read what ``keep`` has kept.

    Parameters
    ----------
    folder : Path or None, default: None
        Where the notebook lies; None takes the current folder.

    Returns
    -------
    Network
        What was measured; ``STATED`` outside of a workbook, before lecture 00 has been run there,
        and where the file is damaged.
    """
    workbook = workbook_around(folder)
    if workbook is None:
        return STATED
    try:
        found = json.loads((workbook / _FILE).read_text(encoding="utf-8"))
        alpha_s, beta_s_per_byte = float(found["alpha_s"]), float(found["beta_s_per_byte"])
    except (OSError, ValueError, TypeError, KeyError):
        return STATED
    if not all(0 <= number < math.inf for number in (alpha_s, beta_s_per_byte)):
        return STATED
    return _network(alpha_s, beta_s_per_byte)


def _network(alpha_s: float, beta_s_per_byte: float) -> Network:
    bandwidth = 1 / beta_s_per_byte if beta_s_per_byte else math.inf
    return replace(DEFAULT, name=_NAME, latency_s=alpha_s, bandwidth_bytes_per_s=bandwidth)

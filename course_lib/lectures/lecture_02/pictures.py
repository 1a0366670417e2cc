"""What is read off a landscape, and a picture of many shuffles."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from course_lib.viz import Chart, Landscape, chart

__all__ = ["ends", "shuffles_chart"]


def ends(picture: Landscape) -> dict[str, NDArray[np.float64]]:
    """Say where each run of a landscape stood at last.

    Parameters
    ----------
    picture : Landscape
        With one run, or more; of replicas that differ, the last one counts.

    Returns
    -------
    dict of str to numpy.ndarray, shape (2,)
        The two parameters, by the run's name.
    """
    return {
        walk["name"]: np.array([walk["x"][-1], walk["y"][-1]])
        for walk in picture.landscape["walks"]
    }


def shuffles_chart(above: Mapping[int, Sequence[float]]) -> Chart:
    """Draw over the number of machines how far an averaged model is above the best loss.

    Parameters
    ----------
    above : mapping of int to sequence of float
        By number of machines: percent above the best, one number a shuffle, above 0.

    Returns
    -------
    Chart
        The median of the shuffles over thin curves of each; the vertical axis is logarithmic.
        Below, three medians.
    """
    name = f"median of {len(next(iter(above.values())))} shuffles"
    median = [(float(P), float(np.median(found))) for P, found in above.items()]
    each = [
        [(float(P), value) for P, value in zip(above, one, strict=True)]
        for one in zip(*above.values(), strict=True)
    ]
    return chart(
        {name: median}, spread={name: each}, y_log=True, y_range=(0.01, 9e4), x_ticks=list(above),
        x_label="machines", y_label="loss above the best, in %",
        said="Medians: " + ", ".join(
            f"{float(f'{percent:.2g}'):,g} % with {P:g} machines"
            for P, percent in (median[0], median[len(median) // 2], median[-1])
        ),
    )  # fmt: skip

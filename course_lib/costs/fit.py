"""Find alpha and beta in measured times: a straight line through points of unequal size."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from course_lib.costs.checking import amount, checked, positive

__all__ = ["Line", "fit_line"]

_ROUNDS = 20


@dataclass(frozen=True)
class Line:
    """What messages of n bytes take: ``alpha_s + n * beta_s_per_byte``.

    Attributes
    ----------
    alpha_s : float
        Seconds of a message without content.
    beta_s_per_byte : float
        Seconds for each byte.
    worst_ratio : float
        How far the points are from the line: the largest of measured / line and line / measured.
    """

    alpha_s: float
    beta_s_per_byte: float
    worst_ratio: float

    @checked(n_bytes=amount)
    def time_s(self, n_bytes: float) -> float:
        """Return the seconds of a message of ``n_bytes`` bytes."""
        return self.alpha_s + n_bytes * self.beta_s_per_byte


def fit_line(points: Sequence[tuple[float, float]]) -> Line:
    """Fit alpha and beta to messages of different sizes.

    Least squares on relative errors, so that the microseconds of short messages count as much as
    the milliseconds of long ones. Points that lie far off weigh less the farther they are
    (reweighted until it settles, which comes close to the least sum of errors without squares), so
    that one disturbed measurement moves the line little.

    Parameters
    ----------
    points : sequence of (float, float)
        Bytes of a message, and its seconds, above 0; two different sizes at least.

    Returns
    -------
    Line
        Neither number is below 0.

    Raises
    ------
    ValueError
        If there are not two sizes, a size is below 0, a time is not above 0, or they are so far
        apart that there is no telling.
    TypeError
        If one of them is no number.

    References
    ----------
    R. W. Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2", Parallel
    Computing 20(3), 1994.

    Examples
    --------
    >>> line = fit_line([(0, 1e-5), (1000, 2e-5), (10_000, 1.1e-4)])
    >>> round(line.alpha_s * 1e6, 3), round(line.beta_s_per_byte * 1e9, 3)
    (10.0, 10.0)
    """
    for n_bytes, seconds in points:
        amount("bytes of a point", n_bytes)
        positive("seconds of a point", seconds)
    if len({n_bytes for n_bytes, _ in points}) < 2:
        raise ValueError(f"points must have two different sizes or more, got {list(points)}")
    try:
        line = _fitted(points)
    except (OverflowError, ZeroDivisionError):
        line = None
    if line is None or not all(map(math.isfinite, (line.alpha_s, line.worst_ratio))):
        raise ValueError(f"no line goes through points so far apart as {list(points)}")
    return line


def _fitted(points: Sequence[tuple[float, float]]) -> Line:
    weights = [1.0] * len(points)
    for _ in range(_ROUNDS):
        alpha_s, beta_s_per_byte = _least_squares(points, weights)
        errors = [abs(1 - (alpha_s + n * beta_s_per_byte) / s) for n, s in points]
        small = max(statistics.median(errors), 1e-9)  # keeps exact points from weighing all
        weights = [1 / max(error, small) for error in errors]
    fitted = [alpha_s + n * beta_s_per_byte for n, _ in points]
    ratios = [max(line / s, s / line) for line, (_, s) in zip(fitted, points, strict=True)]
    return Line(alpha_s, beta_s_per_byte, max(ratios))


def _least_squares(
    points: Sequence[tuple[float, float]], weights: Sequence[float]
) -> tuple[float, float]:
    """Minimise the weighted sum of (1 - (alpha + beta n) / s)**2, with alpha, beta >= 0."""
    rows = [(w**0.5 / s, w**0.5 * n / s, w**0.5) for (n, s), w in zip(points, weights, strict=True)]
    aa = sum(a * a for a, _, _ in rows)
    ab = sum(a * b for a, b, _ in rows)
    bb = sum(b * b for _, b, _ in rows)
    ay = sum(a * y for a, _, y in rows)
    by = sum(b * y for _, b, y in rows)
    determinant = aa * bb - ab * ab
    alpha_s = (ay * bb - by * ab) / determinant
    beta_s_per_byte = (by * aa - ay * ab) / determinant
    if alpha_s < 0:
        return 0.0, by / bb
    return (alpha_s, beta_s_per_byte) if beta_s_per_byte >= 0 else (ay / aa, 0.0)

"""Lines of the Python that is installed here, and the question from which package each one is.

Real text that needs no download and no licence, since nothing of it is shipped: every computer with
this course has it. Its words are as unequal as those of news: a few are nearly everywhere.
"""

import re
import zlib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.data.text_like import SparseData, rows_of_length_1
from course_lib.words.whole import whole

__all__ = ["source_lines"]

_WORD = re.compile(r"[A-Za-z_]\w*")
_DISTRIBUTIONS = {"sklearn": "scikit-learn"}


def source_lines(
    n_lines: int = 100_000, n_features: int = 2**20, packages: Sequence[str] = ("scipy", "sklearn"),
    context: int = 4, seed: int = 0,
) -> SparseData:  # fmt: skip
    """Draw lines of two installed packages, as the words in them and around them.

    A row is a line with the ``context`` lines before it: its words and its pairs of neighbouring
    words, each hashed to a column. Lines without a word are left out. It takes seconds, gives the
    same each time in one environment, and writes no file.

    Parameters
    ----------
    n_lines : int, default: 100000
        How many lines, half of each package; of a smaller package there may be fewer.
    n_features : int, default: 2**20
        How many columns words are hashed to. Two words may meet in one.
    packages : sequence of two str, default: ("scipy", "sklearn")
        The packages; a line of the second is of class 1. They are read, not imported.
    context : int, default: 4
        How many lines before a line belong to its row.
    seed : int, default: 0
        Of the choice of lines, and of their order.

    Returns
    -------
    SparseData
        Rows of length 1; ``origin`` says which versions of the packages they are from.

    Raises
    ------
    TypeError, ValueError
        If a number is unusable, there are not two packages, or one is not installed.

    References
    ----------
    K. Weinberger, A. Dasgupta, J. Langford, A. Smola and J. Attenberg, "Feature hashing for large
    scale multitask learning", International Conference on Machine Learning, 2009.
    """
    whole("n_lines", n_lines, least=2)
    whole("n_features", n_features, least=1, most=2**31 - 1)
    whole("context", context, least=0)
    whole("seed", seed, least=0)
    if isinstance(packages, str) or len(packages) != 2:
        raise ValueError(f"packages must be two names, got {packages!r}")
    rng = np.random.default_rng(seed)
    halves = [
        _rows(package, n, n_features, context, rng)
        for package, n in zip(packages, (n_lines - n_lines // 2, n_lines // 2), strict=True)
    ]
    y = np.repeat([0, 1], [len(half) for half in halves])
    order = rng.permutation(len(y))
    rows = [row for half in halves for row in half]
    counts = _counts([rows[i] for i in order], n_features)
    names = " and ".join(f"{package} {_version(package)}" for package in packages)
    origin = f"{len(y):,} lines of the sources of {names}, as they are installed here"
    return SparseData(rows_of_length_1(counts), y[order], origin)


def _rows(
    package: str, n: int, n_features: int, context: int, rng: np.random.Generator
) -> list[list[int]]:
    """Choose lines that have a word; return the columns of each one's words and pairs of words."""
    files = _sources(package)
    ends = np.cumsum([len(lines) for lines in files])
    found: list[list[int]] = []
    for place in rng.permutation(ends[-1]):
        if len(found) == n:
            break
        file = int(np.searchsorted(ends, place, side="right"))
        line = int(place - (ends[file] - len(files[file])))
        if _WORD.search(files[file][line]):
            text = "\n".join(files[file][max(0, line - context) : line + 1])
            words = [zlib.crc32(word.encode()) for word in _WORD.findall(text)]
            pairs = [31 * first + second for first, second in pairwise(words)]
            found.append([number % n_features for number in words + pairs])
    return found


def _counts(rows: list[list[int]], n_features: int) -> Any:
    """Count, for each row, how often it has each column."""
    from scipy.sparse import csr_matrix

    starts = np.cumsum([0, *map(len, rows)])
    columns = np.fromiter(chain.from_iterable(rows), np.int32, starts[-1])
    counts = csr_matrix((np.ones(len(columns)), columns, starts), (len(rows), n_features))
    counts.sum_duplicates()
    return counts


def _version(package: str) -> str:
    try:
        return version(_DISTRIBUTIONS.get(package, package))
    except PackageNotFoundError:
        return "of no known version"


def _sources(package: str) -> list[list[str]]:
    """Read the lines of all files of a package, in the order of their names."""
    found = find_spec(package) if package.isidentifier() else None
    if found is None or not found.submodule_search_locations:
        raise ValueError(f"packages must be installed here, got {package!r}")
    folders = map(Path, found.submodule_search_locations)
    files = sorted(file for folder in folders for file in folder.rglob("*.py"))
    return [file.read_text(encoding="utf-8", errors="replace").splitlines() for file in files]

"""What a resume has not brought back, to the bit."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake

__all__ = ["TASK"]

State = Mapping[str, NDArray[Any]]


class ResumeFaults(LocalTask):
    """Find the bug: arrays that are missing, too many, or not the same to the bit."""

    name = "resume_faults"
    title = "Find the bug: what has a resume not brought back?"
    takes = ("saved", "restored")
    forbidden = ("course_lib.lectures", "course_lib.train")
    enough = "comparing arrays is enough"
    empty_results = True

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with one fault at a time; then some at once that nobody can foresee."""
        yield _case(_LABELS[0], 0, [])
        yield _case("one is missing, one that nobody saved", 0, [1, 7])
        yield _case("a rounded number, a step more", 0, [2, 3])
        for number in _ORDER:
            yield _case(_LABELS[number], 0, [number])
        rng = np.random.default_rng([secret, 123])
        for _ in range(3):
            some = [int(k) for k in rng.permutation(len(_LABELS))[:3]]
            yield _case("several at once", int(rng.integers(1, 1 << 30)), some)

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make both states."""
        return _states(case.settings["seed"], case.settings["faults"])

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Compare bits."""
        return [_faults(*arguments[0])]

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        saved, restored = arguments[0]
        right = _faults(saved, restored)
        both = sorted(saved.keys() & restored.keys())
        alone = sorted(saved.keys() ^ restored.keys())

        def where(differ: Any) -> list[str]:
            return sorted([*alone, *(name for name in both if differ(saved[name], restored[name]))])

        for hint_id, text, names in (
            ("nan-is-itself", "nan == nan is False, but the bits are the same",
             where(lambda a, b: not _alike(a, b) or not np.array_equal(a, b))),
            ("bits-of-nan", "there are many nan: the bits of two may differ (tobytes shows them)",
             where(lambda a, b: not _alike(a, b) or not _same_but_nan(a, b))),
            ("minus-zero", "0.0 == -0.0 is True, but the bits differ (1 / x tells them apart)",
             where(lambda a, b: not _alike(a, b) or not np.array_equal(a, b, equal_nan=True))),
            ("to-the-bit", "nearly equal is not equal: after a thousand steps it is far away",
             where(lambda a, b: not _alike(a, b) or not np.allclose(a, b, equal_nan=True))),
            ("to-the-bit", "nearly equal is not equal, and a nan is itself",
             where(lambda a, b: not _alike(a, b) or not np.allclose(a, b))),
            ("dtype", "the same values in another dtype round otherwise from now on",
             where(lambda a, b: a.shape != b.shape or not np.array_equal(a, b, equal_nan=True))),
            ("dtype", "another dtype is another array",
             where(lambda a, b: a.shape != b.shape or not np.array_equal(a, b))),
            ("shape", "the same bytes in another shape are another array",
             where(lambda a, b: a.dtype != b.dtype or a.tobytes() != b.tobytes())),
            ("bytes-alone", "the same bytes may be another dtype, or another shape",
             where(lambda a, b: a.tobytes() != b.tobytes())),
            ("missing", "what was saved and is not there any more is a fault",
             [name for name in right if name in restored]),
            ("too-many", "what nobody had saved is a fault: where does it come from?",
             [name for name in right if name in saved]),
            ("both-sides", "what is on one side alone is a fault, too",
             [name for name in right if name in both]),
            ("only-both", "compare what is on both sides as well", alone),
            ("order", "sorted by name", right[::-1]),
            ("the-faults", "the names of what is wrong, not of what is right",
             sorted((saved.keys() | restored.keys()) - set(right))),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [names])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice something other than a sorted list."""
        if not isinstance(got[0], list):
            return Hint("a-list", "return a list of names, perhaps an empty one")
        if sorted(map(str, got[0])) == self.expected(case, arguments)[0]:
            return Hint("order", "sorted by name")
        return None


def _alike(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape


def _same_but_nan(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Tell whether two that are alike have the same bits, whatever bits a nan has."""
    same = a.dtype.kind != "f" or bool((np.signbit(a) == np.signbit(b)).all())
    return same and np.array_equal(a, b, equal_nan=True)


def _faults(saved: State, restored: State) -> list[str]:
    """Compare two states to the bit."""
    found = [
        name
        for name in saved.keys() & restored.keys()
        if not _alike(saved[name], restored[name])
        or saved[name].tobytes() != restored[name].tobytes()
    ]
    return sorted([*found, *(saved.keys() ^ restored.keys())])


_LABELS = (
    "all is well", "the velocity is missing", "a rounded number", "a step more",
    "float32 became float64", "a row became a column", "minus zero", "one that nobody saved",
    "the same bits as another dtype", "a nan of other bits", "no numbers, of another dtype",
)  # fmt: skip

_ORDER = (1, 2, 3, 4, 8, 5, 6, 7, 9, 10)
"""In which they are met: a usual mistake first where no other one gives the same."""


def _states(seed: int, faults: Sequence[int]) -> tuple[State, State]:
    """Make what was saved, with a nan in it, and what came back."""
    rng = np.random.default_rng([seed, 12])
    saved: dict[str, NDArray[Any]] = {
        "w": rng.normal(size=6), "velocity": rng.normal(size=6), "moment": rng.random((2, 3)),
        "losses": np.array([1.5, np.nan, 0.25]), "step": np.array([17]),
        "scale": rng.random(4).astype(np.float32), "bias": np.zeros(3), "order": np.arange(5),
        "skipped": np.zeros(0, np.float32),
    }  # fmt: skip
    restored = {name: array.copy() for name, array in saved.items()}
    for fault in faults:
        match fault:
            case 1:
                del restored["velocity"]
            case 2:
                restored["w"] = restored["w"] * (1 + 1e-12)
            case 3:
                restored["step"] = restored["step"] + 1
            case 4:
                restored["scale"] = restored["scale"].astype(np.float64)
            case 5:
                restored["moment"] = restored["moment"].reshape(3, 2)
            case 6:
                restored["bias"] = -restored["bias"]
            case 7:
                restored["generator"] = np.arange(2)
            case 8:
                restored["order"] = restored["order"].view(np.float64)
            case 9:
                restored["losses"].view(np.uint64)[1] ^= 1
            case 10:
                restored["skipped"] = restored["skipped"].astype(np.float64)
    return saved, restored


def _case(label: str, seed: int, faults: list[int]) -> Case:
    return Case(1, label, calls=1, alone=True, settings={"seed": seed, "faults": faults})


TASK = ResumeFaults()

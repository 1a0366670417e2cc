"""Layers to shards: whole layers, and the fullest shard as small as the greedy rule makes it."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from course_lib.checks.comparator import Difference
from course_lib.checks.plain import whole_numbers
from course_lib.checks.shown import show
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake

_TRIED: tuple[tuple[list[int], int], ...] = (
    ([1, 7, 9, 2, 3, 5, 2], 3),
    ([1, 1, 1, 9], 2),
    ([4, 8, 8, 9, 4, 6], 2),
    ([34, 307, 885, 663, 442, 37752, 16781, 4097], 4),
    ([7, 7, 7], 5),
    ([3, 8], 1),
    ([], 3),
)


_ROBIN = (
    "neither as many layers each nor shard after shard: the largest layer first, each to the shard "
    "that has the fewest parameters so far"
)


class AssignLayers(LocalTask):
    """For each layer the number of its shard."""

    name = "assign_layers"
    title = "Share layers out over shards, so that the fullest has no more than it must."
    takes = ("sizes", "n_shards")
    enough = "sorting and adding are enough"

    def cases(self, secret: int) -> Iterator[Case]:
        """Try few layers first, then AlexNet's, then what nobody can foresee."""
        rng = Case(1, "", seed=secret).rng(0, 0)
        tried = [*_TRIED]
        for _ in range(8):
            drawn = rng.integers(1, 1000, size=int(rng.integers(4, 30)))
            tried.append(([int(size) for size in drawn], int(rng.integers(2, 10))))
        for sizes, n_shards in tried:
            words = f"layers of {', '.join(map(str, sizes[:8]))}{', ...' * (len(sizes) > 8)}"
            yield Case(
                1, f"{words if sizes else 'no layers'} on {n_shards} shards", calls=1, alone=True,
                settings={"sizes": sizes, "n_shards": n_shards},
            )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over the sizes, and the number of shards."""
        return list(case.settings["sizes"]), case.settings["n_shards"]

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Give greedy's; ``compare`` takes all others that are as even."""
        return [_greedy(*arguments[0])]

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Look for layers without a shard, and for a shard that is too full."""
        sizes, n_shards = arguments[0]
        right = f"for example {show(self.expected(case, arguments)[0])}"
        homes, says = whole_numbers(got[0]), ""
        if homes is None or len(homes) != len(sizes):
            says = f"expected a list with one shard number for each of {len(sizes)} layers"
        elif any(not 0 <= home < n_shards for home in homes):
            says = f"a layer is on a shard that does not exist: there are 0 to {n_shards - 1}"
        else:
            full, least = _fullest(sizes, homes), _fullest(sizes, _greedy(sizes, n_shards))
            if full > least:
                says = f"the fullest shard has {full:,} parameters, and {least:,} would do"
        return Difference(says, right, show(got[0])) if says else None

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise other rules."""
        sizes, n_shards = arguments[0]
        numbers = range(len(sizes))
        bounds = [sum(sizes) * (s + 1) / n_shards for s in range(n_shards)]
        ends = [*accumulate(sizes)]
        per = max(1, -(-len(sizes) // n_shards))
        by_size = sorted(numbers, key=lambda i: -sizes[i])
        for hint_id, text, homes in (
            ("not-sorted", "a large layer that comes last fills a shard that has much already: "
             "begin with the largest", _greedy(sizes, n_shards, numbers)),
            ("not-sorted", "this begins with the smallest layer: begin with the largest",
             _greedy(sizes, n_shards, sorted(numbers, key=sizes.__getitem__))),
            ("round-robin", _ROBIN,
             [i % n_shards for i in numbers]),
            ("round-robin", _ROBIN,
             [by_size.index(i) % n_shards for i in numbers]),
            ("round-robin", _ROBIN,
             [i // per for i in numbers]),
            ("neighbours-only", "neighbouring layers need not be on one shard",
             [next(s for s, b in enumerate(bounds) if end <= b + 1e-9) for end in ends]),
            ("all-on-one", "one shard has everything", [0] * len(sizes)),
            ("order-of-sizes", "the list is in the order of the layers, not of their sizes",
             [home for _, home in sorted(zip(by_size, _greedy(sizes, n_shards), strict=True))]),
            ("order-of-sizes", "the list is in the order of the layers, not of their sizes",
             [_greedy(sizes, n_shards)[i] for i in by_size]),
            *(("equal-sizes", "two layers of equal size get one place: sizes.index finds the first "
               "of them only; sort the numbers of the layers, not their sizes", homes)
              for homes in _by_size_alone(sizes, n_shards)),
            ("to-the-fullest", "this gives each layer to the fullest shard, or to the last of "
             "several: take the one with least so far", [n_shards - 1] * len(sizes)),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [homes])

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a search through all divisions."""
        if kind not in ("LaunchTimeout", "SimulationError"):
            return None
        return Hint("too-slow", "if all divisions are tried: some 30 layers on 9 shards have too "
                    "many. The largest layer first, each to the emptiest shard, takes one walk"
                    )  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Name the kind of mistake."""
        _, n_shards = arguments[0]
        homes = whole_numbers(got[0])
        if homes is not None and len(homes) == n_shards:
            return Hint("loads", "one number for each layer is asked for, the shard that it is on, "
                        "not one for each shard")  # fmt: skip
        if isinstance(got[0], list) and None in got[0]:
            return Hint("equal-sizes", "a layer has no shard: sizes.index finds the first of equal "
                        "sizes only; sort the numbers of the layers, not their sizes")  # fmt: skip
        if "one shard number" in wrong.says:
            return Hint("wrong-form", "return a list of whole numbers, in the order of sizes")
        if "does not exist" in wrong.says:
            return Hint("outside", "shards are numbered from 0 to n_shards - 1")
        return Hint("too-full", "the largest layer first, each to the shard that has the fewest "
                    "parameters so far")  # fmt: skip


def _greedy(sizes: Sequence[int], n_shards: int, order: Sequence[int] | None = None) -> list[int]:
    """Walk through the layers, the largest first if no order is given, to the emptiest shard."""
    if order is None:
        order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    homes, loads = [0] * len(sizes), [0] * n_shards
    for i in order:
        homes[i] = loads.index(min(loads))
        loads[homes[i]] += sizes[i]
    return homes


def _by_size_alone(sizes: Sequence[int], n_shards: int) -> Iterator[list[int]]:
    """Look layers up by their size, where several may have the same."""
    homes, loads, of_size = [0] * len(sizes), [0] * n_shards, {}
    for size in sorted(sizes, reverse=True):
        shard = loads.index(min(loads))
        loads[shard] += size
        homes[sizes.index(size)] = of_size[size] = shard
    yield homes
    yield [of_size[size] for size in sizes]


def _fullest(sizes: Sequence[int], homes: Sequence[int]) -> int:
    loads: dict[int, int] = {}
    for size, home in zip(sizes, homes, strict=True):
        loads[home] = loads.get(home, 0) + size
    return max(loads.values(), default=0)


TASK = AssignLayers()

"""The mini-batches of an epoch: no example twice, none lost, in a new order each time."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from itertools import pairwise, permutations
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.plain import Unusable
from course_lib.checks.shown import show
from course_lib.checks.task import Case, Given, Hint, Price, Task

_MANY = 300
_LONG, _TIMES = 1000, 32
"""A table that is long enough for its order to be judged, and how often it is shuffled."""


class Minibatches(Task):
    """Two epochs from one generator: each a list of arrays that hold every number once.

    A third comes from a copy of the generator, which must repeat the first, and a fourth from
    another one, which must not: an order that ignores ``rng`` cannot do both. In one case hundreds
    follow: how often an example is in each batch, and two are in the same one, is known.
    """

    name = "minibatches"
    title = "Cut an epoch into mini-batches: no example twice, none lost, in random order."
    talks = False
    fresh = False
    takes = ("n_examples", "batch_size", "rng")
    enough = "rng.permutation and slices are enough"
    forbidden = ("course_lib.data", "course_lib.schemes", "course_lib.training")

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with batches of equal size; then the last is smaller, or the only one."""
        tried = [(60, 12), (50, 8), (41, 40), (30, 100), (1, 4), (25, 1), (64, 64), (0, 3)]
        for number, (n_examples, batch_size) in enumerate(tried):
            yield Case(
                1, f"{n_examples} examples, batches of {batch_size}, two epochs",
                seed=secret + number, calls=1, alone=True,
                settings={"n_examples": n_examples, "batch_size": batch_size, "more": 0},
            )  # fmt: skip
        yield Case(
            1, f"12 examples, batches of 3, {_MANY} epochs", seed=secret + 99, calls=1, alone=True,
            settings={"n_examples": 12, "batch_size": 3, "more": _MANY},
        )  # fmt: skip
        yield Case(
            1, f"{_LONG:,} examples, batches of 250, {_TIMES} epochs", seed=secret + 98, calls=1,
            alone=True, settings={"n_examples": _LONG, "batch_size": 250, "more": _TIMES},
        )  # fmt: skip
        yield Case(
            1, f"3 examples, batches of 2, {_MANY} epochs", seed=secret + 97, calls=1, alone=True,
            settings={"n_examples": 3, "batch_size": 2, "more": _MANY},
        )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Ask for an epoch, with a generator that goes on from one epoch to the next."""
        return case.settings["n_examples"], case.settings["batch_size"], case.rng(rank, call)

    def call(self, fn: Callable[..., Any], comm: Any, arguments: tuple[Any, ...]) -> Any:
        """Call the function twice with the same generator, with its copy, and with another."""
        n_examples, batch_size, rng = arguments
        epochs = [fn(n_examples, batch_size, taken) for taken in _generators(rng)]
        more = {3: _MANY, 12: _MANY, _LONG: _TIMES}.get(n_examples, 0)
        return epochs + [fn(n_examples, batch_size, rng) for _ in range(more)]

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Give one right answer; ``compare`` takes any other order, too."""
        n_examples, batch_size, rng = arguments[0]
        starts = range(0, n_examples, batch_size)
        orders = [taken.permutation(n_examples) for taken in _generators(rng)]
        orders += [rng.permutation(n_examples) for _ in range(case.settings["more"])]
        return [[[order[start : start + batch_size] for start in starts] for order in orders]]

    def price(self, case: Case) -> Price:
        """Send nothing."""
        return Price(0, 0, 0)

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Look for examples that are lost or doubled, for wrong sizes, then for the order."""
        n_examples, batch_size = case.settings["n_examples"], case.settings["batch_size"]
        if not isinstance(got[0], list):
            return Difference("the epochs are far too long", self._right(case), show(got[0]), "", 0)
        for number, epoch in enumerate(got[0]):
            says, shown = _wrong_epoch(epoch, n_examples, batch_size)
            if says:
                return Difference(says, self._right(case), shown, f"epoch {number}", 0)
        says = _wrong_order(got[0], n_examples, batch_size)
        if not says and n_examples == 3:
            says = _missing_orders(got[0][4:])
        elif not says and case.settings["more"] == _MANY:
            says = _wrong_chances(got[0][4:], n_examples, batch_size)
        if not says and case.settings["more"] and n_examples > 3:
            says = _wrong_places(np.array([np.concatenate(epoch) for epoch in got[0][4:]]))
        return Difference(says, self._right(case), _brief(got[0]), "the order", 0) if says else None

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Name the kind of mistake."""
        if isinstance(got[0], list) and any(epoch is None for epoch in got[0]):
            return Hint("returns-none", "does every path through the function end in a return?")
        for clue, hint_id, text in _HINTS:
            if clue in wrong.says:
                return Hint(hint_id, text)
        return None

    def _right(self, case: Case) -> str:
        n_examples, batch_size = case.settings["n_examples"], case.settings["batch_size"]
        whole, rest = divmod(n_examples, batch_size)
        if whole < 2:
            return " and ".join(f"one batch of {n}" for n in [batch_size] * whole + [rest] if n)
        return f"{whole} batches of {batch_size}" + f" and one of {rest}" * bool(rest)


_HINTS = (
    ("a generator", "generator", "yield makes a generator, which is empty after one loop: return a "
     "list of the batches"),
    ("a list of arrays", "not-arrays", "return a list with one array of whole numbers a batch"),
    ("in no batch", "examples-lost", "a last batch that is smaller is a batch as well: slices may "
     "end after the end"),
    ("the last batch is empty", "empty-batch", "when the size divides the number, the last batch "
     "is full, and no other follows"),
    ("several times", "drawn-again", "shuffle once an epoch and cut: whoever draws each batch anew "
     "puts examples back"),
    ("not an example", "outside", "the examples have the numbers 0 to n_examples - 1"),
    ("sizes", "sizes", "every batch has batch_size examples; only the last one may have fewer"),
    ("order of the table", "not-shuffled", "tables are often sorted: shuffle the numbers first"),
    ("ascend", "sorted-again", "leave out the sort: the order inside a batch is random as well"),
    ("neighbours", "blocks-shuffled", "shuffle the examples, not the finished batches: neighbours "
     "in the table must be able to part"),
    ("alike", "same-order", "the second epoch repeats the first: take the order from rng, which "
     "goes on, and make no generator of your own"),
    *((clue, "kept-together", f"{who} part too seldom, or meet too seldom: shuffle all examples "
       "one by one, as rng.permutation(n_examples) does")
      for clue, who in (("in the same batch", "these two"), ("followed by", "neighbours"))),
    *((clue, "partly-shuffled", "every example is to come into every batch equally often: shuffle "
       "all of them, as rng.permutation(n_examples) does")
      for clue in ("is in batch", "most examples stay")),
    *((clue, "not-all-orders", "not all orders are equally likely: a shuffle of your own is rarely "
       "fair (keys that are equal, swaps with any place); rng.permutation(n_examples) is")
      for clue in ("kept their place", "table's order", "one part of the table", "never came")),
    ("not from rng alone", "not-from-rng", "rng is where the order comes from: call "
     "rng.permutation or rng.shuffle, not np.random's or random's, and make no generator of your "
     "own"),
)  # fmt: skip


def _generators(rng: np.random.Generator) -> tuple[np.random.Generator, ...]:
    """Give the generator twice, a copy of what it is now, and one with another seed."""
    other = np.random.default_rng(deepcopy(rng).integers(2**62))
    return rng, rng, deepcopy(rng), other


def _wrong_epoch(epoch: Any, n_examples: int, batch_size: int) -> tuple[str, str]:
    """Say what is wrong with one epoch, and show it; ``""`` where nothing is."""
    if isinstance(epoch, Unusable) and epoch.kind == "generator":
        return "an epoch should be a list of arrays, got a generator", "a generator"
    if not isinstance(epoch, list) or not all(_is_batch(batch) for batch in epoch):
        return "an epoch should be a list of arrays of whole numbers", show(epoch)
    drawn = _drawn(epoch)
    if sorted(drawn) != list(range(n_examples)):
        return _not_each_once(drawn, n_examples), _brief([epoch])
    sizes = [len(batch) for batch in epoch]
    if sizes and sizes[-1] == 0:
        return "the last batch is empty", _brief([epoch])
    right = [min(batch_size, n_examples - s) for s in range(0, n_examples, batch_size)]
    if sizes != right:
        return f"the batches have the sizes {', '.join(map(str, sizes))}", _brief([epoch])
    return "", ""


def _not_each_once(drawn: list[int], n_examples: int) -> str:
    for i in drawn:
        if not 0 <= i < n_examples:
            return f"{i} is not an example: there are {n_examples}"
    counts = np.bincount(np.array(drawn, dtype=int), minlength=n_examples)
    example, lost = int(np.argmax(counts)), int((counts == 0).sum())
    if counts[example] > 1:
        return f"example {example} comes several times: {counts[example]}"
    return f"example {np.argmin(counts)} is in no batch ({lost} are lost)"


def _wrong_order(epochs: Sequence[Any], n_examples: int, batch_size: int) -> str:
    """Say what is not random; by luck it would be so less than once in a million million."""
    if n_examples < 20:
        return ""
    orders = [_drawn(epoch) for epoch in epochs]
    table = list(range(n_examples))
    if all(order in (table, table[::-1]) for order in orders):  # one may be, by blocks shuffled
        return "the examples come in the order of the table"
    if min(batch_size, len(epochs[0])) >= 4 and all(map(_has_neighbours_only, epochs)):
        return "every batch holds neighbours only"
    if batch_size >= 4 and len(epochs[0]) > 1 and all(map(_ascends, epochs)):
        return "the numbers inside every batch ascend"
    if all(sum(i == k for k, i in enumerate(order)) > n_examples / 2 for order in orders):
        return "most examples stay where the table has them"  # two epochs may be alike by chance
    if all(sum(b - a == 1 for a, b in pairwise(order)) > n_examples / 2 for order in orders):
        return "most examples are followed by their neighbour in the table"
    if orders[0] == orders[1]:
        return "both epochs are alike"
    if orders[2] != orders[0]:
        return "two equal generators give different orders: they come not from rng alone"
    if orders[3] in orders[:2]:
        return "another generator gives the same order: it comes not from rng alone"
    return ""


def _wrong_chances(epochs: Sequence[Any], n_examples: int, batch_size: int) -> str:
    """Say what comes too often or too seldom: by 7 standard deviations, by luck once in 10**9."""
    batch_of = np.empty((len(epochs), n_examples), dtype=int)
    for number, epoch in enumerate(epochs):
        for batch, members in enumerate(epoch):
            batch_of[number, members] = batch
    n_batches = n_examples // batch_size
    for example in range(n_examples):
        for batch in range(n_batches):
            times = int((batch_of[:, example] == batch).sum())
            # Unfair orders are strange here, too, but less so: what they are is said below.
            if _is_strange(times, len(epochs), 1 / n_batches, deviations=10):
                return (f"example {example} is in batch {batch} in {times} of {len(epochs)} "
                        f"epochs, not in about {len(epochs) // n_batches}")  # fmt: skip
        for other in range(example):
            times, chance = (
                int((batch_of[:, example] == batch_of[:, other]).sum()),
                (batch_size - 1) / (n_examples - 1),
            )
            if _is_strange(times, len(epochs), chance):
                return (f"examples {other} and {example} are in the same batch in {times} of "
                        f"{len(epochs)} epochs, not about {len(epochs) * chance:.0f}")  # fmt: skip
    return ""


def _missing_orders(epochs: Sequence[Any]) -> str:
    """Say which orders of three never come: by luck less than once in 10**22."""
    came = {tuple(_drawn(epoch)) for epoch in epochs}
    never = [order for order in permutations(range(3)) if order not in came]
    return f"in {len(epochs)} epochs the order {show(list(never[0]))} never came" if never else ""


def _wrong_places(orders: Any) -> str:
    """Say which orders come too often: by luck less than once in 10**9."""
    n_epochs, n = orders.shape
    stay = int((orders == np.arange(n)).sum())
    if abs(stay - n_epochs) > 7 * np.sqrt(n_epochs):
        return f"in {n_epochs} epochs {stay} examples kept their place, not about {n_epochs}"
    climbs = int((orders[:, 1:] > orders[:, :-1]).sum())  # no difference: it may be unsigned
    if abs(climbs - n_epochs * (n - 1) / 2) > 7 * np.sqrt(n_epochs * (n + 1) / 12):
        return (f"{climbs} times the next example has a larger number, not about "
                f"{n_epochs * (n - 1) // 2}: some of them keep the table's order")  # fmt: skip
    quarters = np.zeros((4, 4))
    np.add.at(quarters, (4 * np.arange(n) // n, 4 * orders // n), 1)  # each place, each epoch
    about = n_epochs * n / 16
    if n >= 100 and ((quarters - about) ** 2 / (about * 9 / 16)).sum() > 120:
        return "examples come from one part of the table into another too often or too seldom"
    return ""


def _is_strange(times: int, tries: int, chance: float, deviations: int = 7) -> bool:
    limit = deviations * np.sqrt(tries * chance * (1 - chance))
    return bool(abs(times - tries * chance) > limit)


def _has_neighbours_only(epoch: Sequence[Any]) -> bool:
    return all(np.ptp(batch) == len(batch) - 1 for batch in epoch)


def _ascends(epoch: Sequence[Any]) -> bool:
    return all((np.array(batch)[1:] > np.array(batch)[:-1]).all() for batch in epoch)


def _is_batch(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "iu"


def _drawn(epoch: Sequence[Any]) -> list[int]:
    return [i for batch in epoch for i in batch.tolist()]


def _brief(epochs: Sequence[Any]) -> str:
    sizes = [len(batch) for batch in epochs[0]]
    return f"sizes {sizes}, beginning with {_drawn(epochs[0])[:6]}"


TASK = Minibatches()

"""The capstone: which way to train reaches the least loss within a budget, on two networks."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from course_lib.checks.comparator import Difference, as_list
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake
from course_lib.planning.rounds import Way, round_us

__all__ = ["TASK", "drawn"]

_CLEAR = 1.02
_MENU = (
    Way("serial", 1, 48, 1), Way("server", 4, 48, 1), Way("ring", 4, 48, 1), Way("ring", 8, 96, 1),
    Way("server", 2, 48, 1), Way("local", 4, 48, 4), Way("local", 4, 48, 16),
)  # fmt: skip

_TELLING = (205, 409, 667, 416, 42, 1793, 25, 31, 33)
"""In this order each mistake is met first where no other one chooses alike."""


class Drawn(NamedTuple):
    """What a case asks."""

    ways: tuple[Way, ...]
    losses: tuple[tuple[float, ...], ...]
    n: int
    example_us: int
    networks: tuple[tuple[int, int], ...]
    budget_us: int


class ChooseScheme(LocalTask):
    """The planner runs a round of every way on every network, and looks its loss up."""

    name = "choose_scheme"
    title = "Capstone: choose how to train, for a budget of virtual time and two networks."
    takes = ("ways", "losses", "n", "example_us", "networks", "budget_us")
    forbidden = ("course_lib.lectures", "course_lib.costs", "course_lib.planning",
                 "course_lib.measure")  # fmt: skip
    enough = "formulas are enough"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with those that tell all usual mistakes apart, then some at random."""
        for seed in _TELLING:
            yield _case("two networks", [0, seed])
        yield _case("the best get there with their last update", [0, _TELLING[0]], _late)
        yield _case("a loss that falls and rises again", [0, _TELLING[0]], _with_a_dip)
        for number in range(6):
            yield _case("drawn at random", [secret, 1 + number, 124])

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over plain tuples."""
        given = drawn(*case.settings["seed"])
        ways, *others = case.settings["change"](given)
        return ([tuple(way) for way in ways], *others)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Run a round of each way, and take the least loss."""
        return [_choices(_drawn_of(arguments), _by_run)]

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        given = _drawn_of(arguments)
        right = _choices(given, _by_run)
        for hint_id, text, how in _SLIPS:
            yield Mistake(hint_id, text, [_choices(given, how)])
        yield Mistake("least-loss", "not the most updates count, but the least loss", [
            _choices(given, _by_run, _most_updates)])  # fmt: skip
        yield Mistake("within-the-budget", "the last loss of the list is for those who have the "
                      "time: how many updates are over by then?",
                      [_choices(given, _by_run, _last_loss)])  # fmt: skip
        yield Mistake("updates-not-rounds", "losses are counted by updates, and a round of local "
                      "has several", [_choices(given, _by_run, _by_rounds)])  # fmt: skip
        yield Mistake("whole-rounds", "an update counts when its round is over: before that, "
                      "workers have models of their own",
                      [_choices(given, _by_run, _parts_too)])  # fmt: skip
        yield Mistake("from-the-start", "losses[0] is before the first update: losses[k] after k",
                      [_choices(given, _by_run, _one_before)])  # fmt: skip
        yield Mistake("on-the-way", "the loss counts when the budget is used up, not the least on "
                      "the way", [_choices(given, _by_run, _least_so_far)])  # fmt: skip
        yield Mistake("each-network", "each network has a choice of its own", [[right[0]] * 2])
        yield Mistake("order", "a choice for each network, in their order", [right[::-1]])
        yield Mistake("numbers", "the number of the way in the list, from 0", [
            [number + 1 for number in right]])  # fmt: skip

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Take an array of numbers for the list."""
        return super().compare(case, arguments, [as_list(value) for value in got])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Say how far the choice is from the planner's."""
        given = _drawn_of(arguments)
        chosen = as_list(got[0])
        if not isinstance(chosen, list) or len(chosen) != len(given.networks):
            return Hint("a-list", "return a list with one number for each network")
        if not all(isinstance(k, int) and 0 <= k < len(given.ways) for k in chosen):
            return Hint("numbers", "the number of the way in the list, from 0")
        right = _choices(given, _by_run)
        for network, mine, best in zip(given.networks, chosen, right, strict=True):
            if mine != best:
                losses = [_reached(given, k, network, _by_run) for k in (mine, best)]
                text = f"with latency {network[0]} µs your choice reaches {losses[0]:.3f}"
                return Hint("planner", f"{text}; the planner's, {best}, {losses[1]:.3f}")
        return None


def _drawn_of(arguments: Given) -> Drawn:
    ways, losses, n, example_us, networks, budget_us = arguments[0]
    return Drawn(tuple(Way(*way) for way in ways), losses, n, example_us, networks, budget_us)


def _by_run(way: Way, given: Drawn, network: tuple[int, int]) -> float:
    return round_us(way, given.n, given.example_us, *network)


def _priced(
    way: Way, given: Drawn, network: tuple[int, int], *, latency: float = 1, rate: float = 1,
    whole: bool = False, batch: bool = True, server: bool = True, own: bool = False,
    halves: int = 2, each_update: bool = False, middle: Callable[..., float] | None = None,
) -> float:  # fmt: skip
    """Price a round by formula; every option is a mistake, ``middle`` one of a server's."""
    alpha, beta = latency * network[0], rate / network[1]
    P, n_bytes = way.workers, 4 * given.n
    compute = way.batch // (P if batch else 1) * given.example_us * way.every
    if way.scheme == "serial":
        return compute
    if way.scheme == "server":
        if middle is not None:
            return compute + middle(alpha, n_bytes * beta, P)
        others = P - (not own) if server else 1
        return compute + 2 * alpha + 2 * others * n_bytes * beta
    exchange = halves * (P - 1) * (alpha + (n_bytes if whole else n_bytes / P) * beta)
    return compute + exchange * (way.every if each_update else 1)


def _with(**options: Any) -> Any:
    return lambda way, given, network: _priced(way, given, network, **options)


_BOTH_WAYS = "a server's exchange: a latency and P - 1 vectors in, a latency and P - 1 vectors out"

_SLIPS = (
    ("no-tree", "the server hears all others, not one after another in a tree: P - 1 vectors pass "
     "its NIC each way", _with(middle=lambda a, v, P: 2 * (a + v) * (P.bit_length() - 1))),
    ("latency", "each message has its latency", _with(latency=0)),
    ("bytes", "the bytes take their time, too", _with(rate=0)),
    ("four-bytes", "n parameters are 4 n bytes", _with(rate=0.25)),
    ("chunks", "in a ring each message is one chunk, n / P parameters", _with(whole=True)),
    ("own-part", "a worker computes its part of the batch, batch / workers", _with(batch=False)),
    ("one-nic", "the server's NIC carries what all others send, and all that they get",
     _with(server=False)),
    ("one-nic", "P - 1 vectors pass the server's NIC each way: its own part does not travel",
     _with(own=True)),
    ("both-halves", "a ring has 2 (P - 1) steps", _with(halves=1)),
    ("no-ring", "a server is no ring: whole vectors pass its NIC, not chunks of n / P",
     _with(middle=lambda a, v, P: 2 * (P - 1) * (a + v / P))),
    ("latency-once", f"all send at once, and so does the server: {_BOTH_WAYS}",
     _with(middle=lambda a, v, P: 2 * (P - 1) * (a + v))),
    ("both-ways", _BOTH_WAYS, _with(middle=lambda a, v, P: a + (P - 1) * v)),
    ("both-ways", _BOTH_WAYS, _with(middle=lambda a, v, P: a + 2 * (P - 1) * v)),
    ("once-a-round", "local exchanges once in a round, not in every update",
     _with(each_update=True)),
)  # fmt: skip


def _updates(given: Drawn, k: int, network: tuple[int, int], how: Any) -> int:
    way = given.ways[k]
    return int(given.budget_us / how(way, given, network) + 1e-9) * way.every


def _reached(given: Drawn, k: int, network: tuple[int, int], how: Any) -> float:
    losses = given.losses[k]
    return losses[min(_updates(given, k, network, how), len(losses) - 1)]


def _most_updates(given: Drawn, k: int, network: tuple[int, int], how: Any) -> float:
    return -_updates(given, k, network, how)


def _last_loss(given: Drawn, k: int, *_: Any) -> float:
    return given.losses[k][-1]


def _by_rounds(given: Drawn, k: int, network: tuple[int, int], how: Any) -> float:
    losses = given.losses[k]
    return losses[min(_updates(given, k, network, how) // given.ways[k].every, len(losses) - 1)]


def _least_so_far(given: Drawn, k: int, network: tuple[int, int], how: Any) -> float:
    return min(given.losses[k][: _updates(given, k, network, how) + 1])


def _one_before(given: Drawn, k: int, network: tuple[int, int], how: Any) -> float:
    losses = given.losses[k]
    return losses[max(0, min(_updates(given, k, network, how), len(losses)) - 1)]


def _parts_too(given: Drawn, k: int, network: tuple[int, int], how: Any) -> float:
    way, losses = given.ways[k], given.losses[k]
    updates = int(given.budget_us * way.every / how(way, given, network))
    return losses[min(updates, len(losses) - 1)]


def _choices(given: Drawn, how: Any, loss: Any = _reached) -> list[int]:
    return [
        min(range(len(given.ways)), key=lambda k: loss(given, k, network, how))
        for network in given.networks
    ]


def drawn(*seed: int) -> Drawn:
    """Draw a menu with its losses and two networks, so that the best choice is clear.

    Parameters
    ----------
    *seed : int
        The same ones draw the same.

    Returns
    -------
    Drawn
        The least loss is at least 2 % below the next, and no budget ends near the end of a round.
    """
    rng = np.random.default_rng([*seed, 12])
    while True:
        order = rng.permutation(len(_MENU))
        ways = tuple(_MENU[k] for k in order)
        losses = tuple(_curve(rng, way) for way in ways)
        networks = ((int(rng.integers(1, 30)), int(rng.integers(100, 2000))),
                    (int(rng.integers(200, 3000)), int(rng.integers(5, 100))))  # fmt: skip
        found = Drawn(
            ways, losses, 8 * int(rng.integers(100, 400)), int(rng.integers(5, 40)),
            networks if rng.random() < 0.5 else networks[::-1], int(rng.integers(20_000, 60_000)),
        )  # fmt: skip
        if _is_clear(found):
            return found


def _curve(rng: np.random.Generator, way: Way) -> tuple[float, ...]:
    """Draw a falling loss: larger batches fall a little faster, averages a little slower."""
    scale = float(rng.uniform(30, 60)) * (1 + 0.1 * np.log(way.every)) * (48 / way.batch) ** 0.3
    floor = float(rng.uniform(0.05, 0.3))
    return tuple(round(floor + 2.2 * float(np.exp(-k / scale)), 4) for k in range(161))


def _is_clear(given: Drawn) -> bool:
    formula = _with()
    for network in given.networks:
        reached = [_reached(given, k, network, formula) for k in range(len(given.ways))]
        first, second = sorted(reached)[:2]
        rounds = [given.budget_us / formula(way, given, network) for way in given.ways]
        if second < _CLEAR * first or any(abs(r - round(r)) < 1e-3 for r in rounds):
            return False
    return True


def _late(given: Drawn) -> Drawn:
    """Keep the best choices as far as at the start, until their last update."""
    losses, how = list(given.losses), _with()
    for network, best in zip(given.networks, _choices(given, how), strict=True):
        last = min(_updates(given, best, network, how), len(losses[best]) - 1)
        losses[best] = losses[best][:1] * last + losses[best][last:]
    return given._replace(losses=tuple(losses))


def _with_a_dip(given: Drawn) -> Drawn:
    """Have the one that ends highest be lowest after an update, and as ever after two."""
    losses = list(given.losses)
    dips = max(range(len(losses)), key=lambda k: losses[k][-1])
    losses[dips] = (losses[dips][0], 0.0, *losses[dips][2:])
    return given._replace(losses=tuple(losses))


def _as_drawn(given: Drawn) -> Drawn:
    return given


def _case(label: str, seed: list[int], change: Callable[[Drawn], Drawn] = _as_drawn) -> Case:
    settings = {"seed": tuple(seed), "change": change}
    return Case(1, label, calls=1, alone=True, settings=settings)


TASK = ChooseScheme()

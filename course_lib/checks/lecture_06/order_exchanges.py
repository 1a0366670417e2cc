"""In which order gradients go over the network, so that the next forward pass ends soonest."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import permutations
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.lecture_06.answers import is_in_order
from course_lib.checks.plain import plain_number
from course_lib.checks.prediction import is_number
from course_lib.checks.shown import show
from course_lib.checks.task import Case, Given, Hint, LocalTask

Times = tuple[float, ...]

_CLOSE = 1e-9
_Times = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
_TRIED_MS: tuple[_Times, ...] = (
    ((6, 4, 2), (5, 5, 5), (1, 1, 1)),  # the lecture's: L1 overtakes L2
    ((6, 4, 2), (3, 3, 3), (4, 4, 4)),
    ((5, 4, 3), (2, 2, 9), (6, 6, 1)),  # it pays to wait for the first layer
    ((3,), (4,), (2,)),
    ((8, 6, 4, 2), (1, 4, 4, 6), (2, 2, 2, 2)),
)


class OrderExchanges(LocalTask):
    """An order of the layers with the smallest end, and that end."""

    name = "order_exchanges"
    title = "Choose the order in which gradients are exchanged."
    units: ClassVar[Mapping[str, str]] = {"seconds": "s"}
    fresh = False
    takes = ("ready_s", "exchange_s", "forward_s")
    enough = "itertools.permutations is enough"
    forbidden = ("course_lib.collectives", "course_lib.schemes", "course_lib.lectures")

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with the lecture's three layers; then some that nobody can foresee."""
        rng, tried = np.random.default_rng([secret, 66]), [*_TRIED_MS]
        while len(tried) < len(_TRIED_MS) + 6:
            drawn = _drawn(rng, 3 + len(tried) % 3)
            if _tells_apart(drawn):
                tried.append(drawn)
        for times in tried:
            words = zip(("ready after", "exchange", "forward"), times, strict=True)
            told = "; ".join(f"{word} {', '.join(map(str, ms))}" for word, ms in words)
            yield Case(1, f"in ms, by layer: {told}", calls=1, alone=True,
                       settings={"times": times})  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over seconds."""
        return _seconds(case.settings["times"])

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Try all orders."""
        return [_best(*arguments[0])]

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Take every order that is as good as the best."""
        right, value = _best(*arguments[0]), got[0]
        if not isinstance(value, dict) or set(value) != set(right):
            return Difference("expected a dict with the keys 'order' and 'seconds', got "
                              f"{show(value)}", show(right), show(value), "the keys")  # fmt: skip
        order, n_layers = _python_numbers(value["order"]), len(arguments[0][0])
        if not is_in_order(order, n_layers):
            says = f"each of the layers 0 to {n_layers - 1} should be there once: {show(order)}"
            return Difference(says, show(right), show(value), "order")
        took_s, least_s = _end_s(order, *arguments[0]), right["seconds"]
        if took_s > least_s * (1 + _CLOSE):
            return Difference(
                f"with the order {show(order)} the forward pass ends after {took_s * 1e3:g} ms, "
                f"and {least_s * 1e3:g} ms are possible", show(right), show(value), "order",
            )  # fmt: skip
        if not is_number(value["seconds"], least_s):
            says = (
                f"this order ends after {least_s * 1e3:g} ms; 'seconds' is {show(value['seconds'])}"
            )
            return Difference(says, show(right), show(value), "seconds")
        return None

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice orders that were gone through before."""
        if "list index out of range" in text or "empty" in text.partition("\n")[0]:
            return Hint("used-up", "is the list of the best orders empty? permutations(...) can be "
                        "gone through once only: make a list of it")  # fmt: skip
        return None

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Recognise other orders, and other ends."""
        if wrong.where == "the keys":
            return Hint("wrong-names", "return a dict with the names that the docstring lists")
        if wrong.where == "seconds":
            return _wrong_end(_python_numbers(got[0]["order"]), got[0]["seconds"], arguments[0])
        order = _python_numbers(got[0]["order"])
        if not is_in_order(order, len(arguments[0][0])):
            return Hint("not-an-order", "layers are numbered from 0, and each is exchanged once: "
                        "a list of all numbers, the first to leave first")  # fmt: skip
        places = [order.index(layer) for layer in range(len(order))]
        if places in [list(best) for best in _all_best(*arguments[0])]:
            return Hint("places", f"{show(order)} are the layers' places in the order; list the "
                        "layers themselves, the first to leave first")  # fmt: skip
        seconds = plain_number(got[0]["seconds"])
        own_s = _end_s(order, *arguments[0])
        least_s = _best(*arguments[0])["seconds"]
        known = (own_s, least_s)
        if isinstance(seconds, int | float) and not any(is_number(seconds, s) for s in known):
            told = f"this order ends after {own_s * 1e3:g} ms, and 'seconds' says otherwise: "
            return Hint("own-end", told + _wrong_end(order, seconds, arguments[0]).text)
        slowest_s = max(_end_s(o, *arguments[0]) for o in permutations(range(len(order))))
        if len(order) > 1 and is_number(own_s, slowest_s):
            return Hint("slowest", "this is the slowest of all orders: the smallest end is asked "
                        "for")  # fmt: skip
        for hint_id, text, other in _wrong_orders(*arguments[0]):
            if order == other:
                return Hint(hint_id, text)
        if order[::-1] in [list(best) for best in _all_best(*arguments[0])]:
            return Hint("turned-round", "the order begins with the layer that leaves first")
        return Hint("other-order", "work out the end of this order and of the expected one by "
                    "hand: when does each exchange begin, and when each layer?")  # fmt: skip


def _python_numbers(order: Any) -> Any:
    """Make a list of Python's numbers of whatever holds NumPy's."""
    if isinstance(order, np.ndarray) and order.ndim == 1:
        return order.tolist()
    return [plain_number(item) for item in order] if isinstance(order, list) else order


def _seconds(times_ms: Sequence[Sequence[float]]) -> tuple[Times, ...]:
    return tuple(tuple(ms * 1e-3 for ms in row) for row in times_ms)


def _exchanged_s(order: Sequence[int], ready_s: Times, exchange_s: Times) -> Mapping[int, float]:
    """Work out when each layer's exchange is over: one at a time, none before its gradient."""
    free_s, over_s = 0.0, {}
    for layer in order:
        free_s = over_s[layer] = max(free_s, ready_s[layer]) + exchange_s[layer]
    return over_s


def _end_s(order: Sequence[int], ready_s: Times, exchange_s: Times, forward_s: Times) -> float:
    """Work out when the forward pass ends: a layer waits for the one before, and its exchange."""
    over_s, end_s = _exchanged_s(order, ready_s, exchange_s), max(ready_s)
    for layer, seconds in enumerate(forward_s):
        end_s = max(end_s, over_s[layer]) + seconds
    return end_s


@lru_cache(maxsize=64)
def _all_best(ready_s: Times, exchange_s: Times, forward_s: Times) -> list[tuple[int, ...]]:
    times = ready_s, exchange_s, forward_s
    ends = {order: _end_s(order, *times) for order in permutations(range(len(ready_s)))}
    least = min(ends.values())
    return [order for order, end_s in ends.items() if end_s <= least * (1 + _CLOSE)]


def _best(ready_s: Times, exchange_s: Times, forward_s: Times) -> dict[str, Any]:
    times = ready_s, exchange_s, forward_s
    order = _all_best(*times)[0]
    return {"order": list(order), "seconds": _end_s(order, *times)}


def _by_need(ready_s: Times, exchange_s: Times) -> list[int]:
    """Send, whenever the network is free, the first layer of those that are ready."""
    waiting, order, free_s = set(range(len(ready_s))), [], 0.0
    while waiting:
        free_s = max(free_s, min(ready_s[layer] for layer in waiting))
        order.append(min(layer for layer in waiting if ready_s[layer] <= free_s))
        waiting.remove(order[-1])
        free_s += exchange_s[order[-1]]
    return order


def _wrong_orders(
    ready_s: Times, exchange_s: Times, _: Times
) -> Iterator[tuple[str, str, list[int]]]:
    layers = range(len(ready_s))
    yield ("by-need", "sending what is ready and needed first is a good rule, not the best order: "
           "a long exchange may be in the way when the first layer is ready. Try all orders",
           _by_need(ready_s, exchange_s))  # fmt: skip
    yield ("as-they-come", "this sends the gradients as they come, the last layer first; the "
           "forward pass needs the first layer first", [*reversed(layers)])  # fmt: skip
    yield ("first-layer-first", "the first layer's gradient comes last: whoever waits for it "
           "leaves the network idle, where it could carry others. Were the other orders tried? "
           "permutations gives them all", [*layers])  # fmt: skip
    yield ("shortest-first", "the shortest exchange need not be the one that is needed first",
           sorted(layers, key=exchange_s.__getitem__))  # fmt: skip
    yield ("longest-first", "the longest exchange first lets all others wait for it",
           sorted(layers, key=exchange_s.__getitem__, reverse=True))  # fmt: skip


def _wrong_end(order: Any, seconds: Any, times: tuple[Times, ...]) -> Hint:
    ready_s, exchange_s, forward_s = times
    over_s = _exchanged_s(list(order), ready_s, exchange_s)
    for hint_id, text, wrong_s in (
        ("no-forward", "this is the end of the last exchange; the forward pass goes on after it",
         max(over_s.values())),
        ("waits-for-all", "no layer but the first of all waits for all exchanges: each waits for "
         "its own", max(over_s.values()) + sum(forward_s)),
        ("milliseconds", "in seconds, please", 1e3 * _end_s(order, *times)),
        ("not-ready", "an exchange begins when its gradient is ready, not before",
         _end_s(order, (0.0,) * len(order), exchange_s, forward_s)),
        ("from-the-first-exchange", "count from the start of the backward pass, not from the "
         "first exchange", _end_s(order, *times) - ready_s[order[0]]),
    ):  # fmt: skip
        if is_number(seconds, wrong_s):
            return Hint(hint_id, text)
    return Hint("other-end", "an exchange begins when its gradient is ready and the one before is "
                "over; a layer when its exchange and the layer before are over")  # fmt: skip


def _drawn(rng: np.random.Generator, n_layers: int) -> _Times:
    back = rng.integers(1, 6, size=n_layers)
    ready = np.cumsum(back[::-1])[::-1]
    exchange, forward = rng.integers(1, 12, size=n_layers), rng.integers(1, 5, size=n_layers)
    rows = (tuple(int(ms) for ms in row) for row in (ready, exchange, forward))
    return next(rows), next(rows), next(rows)


def _tells_apart(times_ms: Sequence[Sequence[float]]) -> bool:
    """Tell whether neither the order of arrival nor that of need is among the best."""
    times = _seconds(times_ms)
    best = [list(order) for order in _all_best(*times)]
    wrong = [order for hint_id, _, order in _wrong_orders(*times) if hint_id != "by-need"]
    return all(order not in best for order in wrong)


TASK = OrderExchanges()

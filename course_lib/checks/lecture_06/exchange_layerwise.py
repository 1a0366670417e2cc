"""The layer-wise exchange: every gradient leaves as soon as it is known."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference, difference
from course_lib.checks.lecture_06.steps import add_up, in_turn_s
from course_lib.checks.task import ALL_SIZES, Case, Given, Hint, Mistake, Price, Task
from course_lib.comm.communicator import Communicator
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.trace.trace import Trace

_SPEED = DEFAULT.speeds(1)[0]


_ONCE = Hint(
    "computed-twice", "each layer was computed more than once: call backward(comm) once, and keep "
    "what it yields"
)  # fmt: skip


class ExchangeLayerwise(Task):
    """Every rank returns the layers' sums, after hardly more time than its own computing."""

    name = "exchange_layerwise"
    title = "Add up every layer's gradient while the layers before it are still computed."
    takes = ("backward", "allreduce")
    verbs = ("start", "send", "recv", "sendrecv")
    enough = "comm.start and the allreduce that is handed in are enough"
    rounding_terms = 64
    deadlock_hint = (
        "every rank must call comm.start for the same layers in the same order, and wait for what "
        "it has started"
    )
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-long": "the sums are right, but they travel while nothing is computed: start each "
        "exchange inside the loop, and wait for all of them after it: who waits in the loop keeps "
        "the next layer waiting",
        "too-many-messages": "one allreduce for each layer is enough",
    }

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with three layers of a few round numbers."""
        yield _case(4, 3, "3 layers, layer l of rank r has 10**l * (r + 1)", "round", calls=1)
        for number, size in enumerate(ALL_SIZES):
            for n_layers, dtype in ((3, "float64"), (1, "float32"), (5, "int64")):
                yield _case(size, n_layers, f"{n_layers} layers of random {dtype}", dtype=dtype,
                            seed=secret + number, calls=1 + (n_layers == 5),
                            rendezvous=n_layers == 1, stagger=n_layers == 5)  # fmt: skip
        yield _case(2, 4, "4 layers, the last one's exchange as long as the backward of three",
                    seed=secret, calls=1, heavy=True)  # fmt: skip
        yield _case(3, 4, "4 layers, two of them done at the same instant", seed=secret, calls=1,
                    at_once=True)  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make this rank's gradients, layer 0 first, and the flops of going back through one."""
        n_layers, dtype = case.settings["n_layers"], case.settings["dtype"]
        if dtype == "round":
            gradients = [np.full(_shape(layer), 10.0**layer * (rank + 1)) for layer in range(3)]
        elif dtype == "int64":
            rng = case.rng(rank, call)
            gradients = [rng.integers(-(2**58), 2**58, _shape(k)) for k in range(n_layers)]
        else:
            rng = case.rng(rank, call)
            gradients = [rng.normal(size=shape).astype(dtype) for shape in _shapes(case)]
        flops = [seconds * _SPEED for seconds in _layers_s(case)]
        return gradients, flops

    def call(self, fn: Callable[..., Any], comm: Any, arguments: tuple[Any, ...]) -> Any:
        """Hand out the gradients one by one, and an all-reduce."""
        gradients, flops = arguments
        return fn(comm, partial(_backward, gradients=gradients, flops=flops), add_up)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Add up each layer."""
        return [_totals(arguments)] * case.workers

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest of the added numbers."""
        return max(float(np.abs(grad).max()) for grads, _ in arguments for grad in grads)

    def price(self, case: Case) -> Price:
        """Send each layer's gradient once around."""
        sizes = _n_bytes(case)
        others = case.workers - 1
        exchange_s = [_exchange_s(case, n) for n in sizes]
        return Price(
            len(sizes) * case.workers * others,
            sum(sizes) * case.workers * others,
            sum(sizes) * others,
            in_turn_s(_layers_s(case), exchange_s),
        )

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        totals, size = _totals(arguments), case.workers
        own = [gradients for gradients, _ in arguments]
        yield Mistake("returns-own", "every rank returns its own gradients: what wait() returns is "
                      "the sum", own)  # fmt: skip
        yield Mistake("reversed", "these are the right sums, last layer first; the list begins "
                      "with layer 0", [totals[::-1]] * size)  # fmt: skip
        yield Mistake("mean", "this is the mean over ranks; return the sum",
                      [[total / size for total in totals]] * size)  # fmt: skip
        yield Mistake("summed-twice", "every layer is added up twice: each rank counts P times",
                      [[total * size for total in totals]] * size)  # fmt: skip
        if len(totals) > 1:
            yield Mistake("first-layer-missing", "layer 0 is missing: is the last of what backward "
                          "yields exchanged, too?", [totals[1:]] * size)  # fmt: skip
            yield Mistake("last-layer-missing", "the last layer is missing: it is the first that "
                          "backward yields", [totals[:-1]] * size)  # fmt: skip
            yield Mistake("one-for-all", "the same sum stands for every layer: keep what each "
                          "start returns, and wait for each",
                          [[totals[0]] * len(totals)] * size)  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice what was never waited for, own gradients among sums, and overwritten buffers."""
        if wrong.rank is None:
            return None
        value, own = got[wrong.rank], arguments[wrong.rank][0]
        if not isinstance(value, list):
            return Hint("not-a-list", "return a list with one array for each layer, layer 0 first")
        if any("method" in str(item) for item in value):
            return Hint("method", "an item is a method, named and not called: write p.wait()")
        if any("Started" in str(item) for item in value):
            return Hint("did-not-wait", "comm.start returns at once, with a promise: its wait() "
                        "returns the sum")  # fmt: skip
        if len(value) != len(own):
            return Hint("one-for-each", "return a list with one array for each layer")
        if case.settings["at_once"] and difference(_totals(arguments)[1], value[2]) is None:
            return Hint("late-binding", "a function made in a loop looks up gradient when it runs, "
                        "and by then it is another layer's: comm.start(allreduce, gradient)"
                        )  # fmt: skip
        for item, gradient in zip(value, own, strict=True):
            if case.workers > 1 and difference(gradient, item) is None:
                return Hint("some-own", "a layer's own gradient stands among the sums: was it "
                            "exchanged, and its result kept?")  # fmt: skip
        if _nearly(value, _totals(arguments)):
            return Hint("precision", "right to a few digits: did the numbers go through float32, "
                        "or whole numbers through floats?")  # fmt: skip
        if "should be" in wrong.says and len(own) > 1:
            return Hint("overwritten", "arguments of comm.start are not copied: do not write into "
                        "an array that is on its way, and let every rank start layers in the same "
                        "order")  # fmt: skip
        return None

    def wrong_route(self, case: Case, trace: Trace) -> tuple[str, Hint] | None:
        """Notice a backward pass that was made twice."""
        computed_s = sum(
            c.end_s - c.start_s
            for c in trace.computes
            if c.rank == 0 and c.label.startswith("back ")
        )
        once_s = sum(_layers_s(case)) * case.calls
        if computed_s > 1.5 * once_s:
            times = round(computed_s / once_s)
            return f"rank 0 went back through the layers {times} times", _ONCE
        return None

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice ranks that exchange different layers, or none."""
        if "'function' object is not iterable" in text or "'functools.partial' object is" in text:
            return Hint("call-backward", "backward is a function: for layer, gradient in "
                        "backward(comm)")  # fmt: skip
        if "'int' object has no attribute 'copy'" in text:
            return Hint("other-way-round", "the layer's number was exchanged: backward yields "
                        "(number, gradient), in this order")  # fmt: skip
        if "function that runs on" in text or "that was started uses the" in text:
            return Hint("other-comm", "the function that is started talks by its own first "
                        "argument: comm.start(allreduce, gradient) hands it over")  # fmt: skip
        if "'tuple' object" in text:
            return Hint("a-pair-each", "backward yields two values, the layer's number and its "
                        "gradient: for layer, gradient in backward(comm)")  # fmt: skip
        if "without having started" in text:
            return Hint("all-must-start", "every rank must call comm.start equally often")
        if "broadcast together" in text or kind == "MessageMismatchError":
            return Hint("other-order", "the k-th start of one rank belongs to the k-th start of "
                        "the others: start the layers in the same order on all ranks")  # fmt: skip
        return None


def _nearly(value: Sequence[Any], totals: Sequence[Any]) -> bool:
    return all(
        isinstance(item, np.ndarray) and item.shape == total.shape
        and np.allclose(item, total, rtol=1e-3, atol=1e-5 * float(np.abs(total).max()))
        for item, total in zip(value, totals, strict=True)
    )  # fmt: skip


def _case(
    workers: int, n_layers: int, label: str, dtype: str = "float64", heavy: bool = False,
    at_once: bool = False, **options: Any,
) -> Case:  # fmt: skip
    settings = {"n_layers": n_layers, "dtype": dtype, "heavy": heavy, "at_once": at_once}
    return Case(workers, label, settings=settings, **options)


def _shapes(case: Case) -> list[tuple[int, ...]]:
    shapes = [_shape(layer) for layer in range(case.settings["n_layers"])]
    return [*shapes[:-1], (40_000,)] if case.settings["heavy"] else shapes


def _shape(layer: int) -> tuple[int, ...]:
    """Let layers have different lengths and one or two dimensions."""
    return (40 + 7 * layer,) if layer % 2 else (20 + layer, 30)


def _n_bytes(case: Case) -> list[int]:
    item = 4 if case.settings["dtype"] == "float32" else 8
    return [item * int(np.prod(shape)) for shape in _shapes(case)]


def _exchange_s(case: Case, n_bytes: int) -> float:
    return (case.workers - 1) * (DEFAULT.latency_s + n_bytes * DEFAULT.beta_s_per_byte)


def _layers_s(case: Case) -> list[float]:
    """Say how long each layer's backward takes: mostly, longer than the exchange of any other.

    With one heavy exchange, it takes as long as two and a half of the layers before.
    """
    n_layers, longest_s = case.settings["n_layers"], _exchange_s(case, max(_n_bytes(case)))
    if case.settings["heavy"]:
        return [longest_s / 2.5] * n_layers
    layers_s = [1e-4 + 2 * longest_s] * n_layers
    if case.settings["at_once"]:
        layers_s[1] = 0.0
    return layers_s


def _backward(
    comm: Communicator, gradients: Sequence[Any], flops: Sequence[float]
) -> Iterator[tuple[int, Any]]:
    """Go back through the layers, which takes its time; yield number and gradient of each."""
    for layer in reversed(range(len(gradients))):
        gradient = gradients[layer].copy()
        if flops[layer]:
            with comm.compute(f"back {layer}", flops=flops[layer]):
                pass
        yield layer, gradient


def _totals(arguments: Given) -> list[Any]:
    every = [gradients for gradients, _ in arguments]
    return [np.sum(layer, axis=0, dtype=layer[0].dtype) for layer in zip(*every, strict=True)]


TASK = ExchangeLayerwise()

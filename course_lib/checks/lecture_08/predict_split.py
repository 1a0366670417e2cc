"""What a rank sends for a pair of layers, split in two ways or whole: on paper, and counted."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from course_lib.checks.prediction import Alternative, PredictTask
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.models.chain import Chain
from course_lib.models.deep_mlp import deep_mlp
from course_lib.split import Columns, Rows, Units


class PredictSplit(PredictTask):
    """Bytes by units, as column and row, and data parallel."""

    name = "predict_split"
    title = "Predict what a rank sends for a pair of layers, split by units, in a pair, or whole."
    questions = ("ranks", "examples", "n_in", "hidden", "n_out")
    forbidden = (*PredictTask.forbidden, "course_lib.lectures", "course_lib.split")
    other_number = (
        "write down which array {name} is about and its shape on one rank: 8 bytes for each number "
        "that leaves it"
    )

    def tried(self) -> Sequence[tuple[int, ...]]:
        """Begin where all usual mistakes differ."""
        return ((4, 12, 20, 44, 28), (2, 6, 4, 10, 8), (4, 4, 8, 32, 4), (1, 3, 2, 4, 5),
                (3, 9, 6, 12, 3))  # fmt: skip

    def _unforeseen(self, secret: int) -> Iterator[tuple[int, ...]]:
        rng = np.random.default_rng([secret, 81])
        for _ in range(2):
            P = int(rng.integers(2, 5))
            yield (P, *(P * int(n) for n in rng.integers(1, 9, size=4)))

    def measure(self, *numbers: int) -> dict[str, Any]:
        """Take a pair forward and back in three ways, and count what rank 0 sends."""
        ranks, examples, n_in, hidden, n_out = numbers
        model = deep_mlp(n_in, hidden, n_out)

        def sent(fn: Any) -> int:
            job = model, np.ones((examples, n_in))
            return run(fn, *job, workers=ranks, backend="simulated").trace.bytes_sent()[0]

        forward = sent(_pair_forward)
        return {
            "by_units": sent(_by_units),
            "pair_forward": forward,
            "pair_backward": sent(_pair_there_and_back) - forward,
            "data_parallel": sent(_gradients),
        }

    def alternatives(self, *numbers: int) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        P, m, n_in, hidden, n_out = numbers
        weights, n = n_in * hidden + hidden * n_out, n_in * hidden + hidden + (hidden + 1) * n_out
        once, ring = 8 * (P - 1) / P, 16 * (P - 1) / P
        return {
            "by_units": _of_units(*numbers),
            "pair_forward": _of_outputs(*numbers),
            "pair_backward": [
                ("outputs-back", "on the way back it is the slope in the *inputs* that is added up",
                 ring * m * n_out),
                ("hidden-sent", "hidden units, and their slopes, stay on their rank",
                 ring * m * hidden),
                ("nothing-back", "each rank knows only what its hidden units say of the inputs",
                 0.0),
                ("one-half", "a ring all-reduce has two halves: 2 (P - 1) / P of the array",
                 once * m * n_in),
                ("weights", "gradients of weights stay where the weights are", ring * weights),
            ],
            "data_parallel": [
                ("no-biases", "biases have gradients, too", ring * weights),
                ("activations", "gradients are sent, whatever the number of examples",
                 ring * m * n_out),
                ("examples-count", "gradients are as many as parameters, whatever the number of "
                 "examples", ring * m * n),
                ("one-half", "a ring all-reduce has two halves: 2 (P - 1) / P of the array",
                 once * n),
                ("whole-array", "a rank sends 2 (P - 1) chunks of a P-th, not 2 P", 16.0 * n),
                ("sharded", "every replica has all parameters", ring * n / P),
            ],
        }  # fmt: skip


def _of_units(P: int, m: int, n_in: int, hidden: int, n_out: int) -> list[Alternative]:
    weights, once = n_in * hidden + hidden * n_out, 8 * (P - 1) / P
    return [
        ("no-outputs", "the outputs are put together, too: every rank shall have all",
         once * m * hidden),
        ("no-hidden", "the second layer of every rank needs all hidden units",
         once * m * n_out),
        ("to-one", "its units go to each of the others: P - 1 messages",
         8 * m * (hidden + n_out) / P),
        ("all-units", "a rank sends what it has: a P-th of the units",
         8 * (P - 1) * m * (hidden + n_out)),
        ("inputs-too", "every rank has all inputs already", once * m * (n_in + hidden
         + n_out)),
        ("as-all-reduce", "parts are put side by side, not added up: each is sent once to "
         "each other rank", 2 * once * m * (hidden + n_out)),
        ("weights", "weights stay where they are: activations are sent", once * weights),
        ("numbers", "bytes are asked for: 8 for each number", once * m * (hidden + n_out)
         / 8),
        ("four-bytes", "these numbers have 8 bytes", once / 2 * m * (hidden + n_out)),
        ("one-example", "that is for one example", once * (hidden + n_out)),
    ]  # fmt: skip


def _of_outputs(P: int, m: int, n_in: int, hidden: int, n_out: int) -> list[Alternative]:
    weights, once, ring = n_in * hidden + hidden * n_out, 8 * (P - 1) / P, 16 * (P - 1) / P
    return [
        ("hidden-sent", "hidden units stay on their rank: only outputs are added up",
         ring * m * hidden),
        ("hidden-sent", "hidden units stay on their rank: only outputs are added up",
         ring * m * (hidden + n_out)),
        ("one-half", "a ring all-reduce has two halves: 2 (P - 1) / P of the array",
         once * m * n_out),
        ("whole-array", "a rank sends 2 (P - 1) chunks of a P-th, not 2 P", 16 * m * n_out),
        ("part-of-outputs", "each rank has a part of every output: all m x n_out numbers "
         "are added up", ring * m * n_out / P),
        ("weights", "weights stay where they are: activations are sent", ring * weights),
        ("numbers", "bytes are asked for: 8 for each number", ring * m * n_out / 8),
        ("one-example", "that is for one example", ring * n_out),
    ]  # fmt: skip


def _pair(comm: Communicator, model: Chain) -> tuple[Columns, Rows]:
    first, second = model.parts
    column = Columns(comm, first)  # type: ignore[arg-type]
    return column, Rows(comm, second, column.cut)  # type: ignore[arg-type]


def _pair_forward(comm: Communicator, model: Chain, x: Any) -> None:
    column, row = _pair(comm, model)
    hidden, _ = column.forward(column.share(model.initial_of(0)), x)
    row.forward(row.share(model.initial_of(1)), hidden)


def _pair_there_and_back(comm: Communicator, model: Chain, x: Any) -> None:
    column, row = _pair(comm, model)
    own = column.share(model.initial_of(0)), row.share(model.initial_of(1))
    hidden, kept_first = column.forward(own[0], x)
    y, kept = row.forward(own[1], hidden)
    column.input_gradient(own[0], kept_first, row.input_gradient(own[1], kept, np.ones_like(y)))


def _by_units(comm: Communicator, model: Chain, x: Any) -> None:
    first, second = model.parts
    units = Columns(comm, first)  # type: ignore[arg-type]
    more = Units(comm, second, first.n_out, units.cut, gathers=True)  # type: ignore[arg-type,attr-defined]
    hidden, _ = units.forward(units.share(model.initial_of(0)), x)
    more.forward(more.share(model.initial_of(1)), hidden)


def _gradients(comm: Communicator, model: Chain, x: Any) -> None:
    from course_lib.collectives import allreduce_ring

    del x
    allreduce_ring(comm, np.zeros(model.n_parameters))


TASK = PredictSplit()

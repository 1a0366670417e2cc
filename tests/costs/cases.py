"""What the tests of prices call: every collective with its options, and what a trace counts."""

import importlib
from collections import Counter

import numpy as np

from course_lib.costs.catalogue import PRICES

SIZES = [*range(1, 9), 16]
ITEM_BYTES = 8
CASES = [
    *((name, {}) for name in PRICES),
    *((name, {"root": 1}) for name in ("broadcast_flat", "broadcast_tree", "reduce_flat")),
    *((name, {"root": 1}) for name in ("reduce_tree", "gather", "scatter")),
    *(("allreduce_double_tree", {"segments": n}) for n in (1, 3, None)),
    *(("allreduce_two_level", {"ranks_per_host": n}) for n in (1, 3, 4, 8)),
]


def function(name):
    return getattr(importlib.import_module(f"course_lib.collectives.{name}"), name)


def options_for(options, size):
    """Return the options with a root that exists."""
    return {name: n % size if name == "root" else n for name, n in options.items()}


def call(comm, name, length, options):
    """Call a collective with ones of float64: n is the length on each rank."""
    return function(name)(comm, np.ones(length), **options)


def counted(size, messages):
    """Count messages: in all; bytes sent and received by rank, on the busiest link, in one."""
    sent, received, links = [0] * size, [0] * size, Counter()
    for message in messages:
        sent[message.src] += message.n_bytes
        received[message.dst] += message.n_bytes
        links[message.src, message.dst] += message.n_bytes
    largest = max((message.n_bytes for message in messages), default=0)
    return len(messages), tuple(sent), tuple(received), max(links.values(), default=0), largest


def told(price):
    """Return the same numbers of a price."""
    return (
        price.messages, price.bytes_sent, price.bytes_received, price.link_bytes,
        price.message_bytes,
    )  # fmt: skip

"""``recv_any`` takes what arrives first, whatever was sent first, on links that are not alike."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from course_lib import networks, run
from course_lib.comm.communicator import EAGER_BYTES

STAR = networks.ethernet_1g
SECONDS = st.integers(0, 30).map(lambda n: n * 1e-4)


def collect(comm, pauses, lengths):
    if comm.rank:
        for pause, length in zip(pauses[comm.rank], lengths[comm.rank], strict=True):
            with comm.compute("work", flops=pause * 1e10):
                pass
            comm.isend(np.zeros(length, np.uint8), 0)
        return None
    found = []
    for pause in pauses[0]:
        with comm.compute("work", flops=pause * 1e10):
            pass
        asked_s = comm.clock()
        src, _ = comm.recv_any()
        found.append((src, asked_s, comm.clock()))
    return found


def test_a_message_overtakes_one_that_was_sent_before_it_on_a_slow_link():
    pauses, lengths = [[0.0] * 3, [0.0], [1e-4, 1e-4]], [[], [100], [100, 100]]
    for network, order in [(STAR, [1, 2, 2]), (STAR.with_slow_link(1, 0, 1e4), [2, 2, 1])]:
        result = run(collect, pauses, lengths, workers=3, backend="simulated", network=network)
        assert [src for src, _, _ in result.values[0]] == order
        by_arrival = sorted(result.trace.messages, key=lambda message: message.arrived_s)
        assert [message.src for message in by_arrival] == order
        assert all(message.received_s == message.arrived_s for message in by_arrival)


@given(st.data())
def test_nothing_that_is_received_later_was_there_before(data):
    n_each = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    own = [data.draw(st.lists(SECONDS, min_size=n, max_size=n)) for n in n_each]
    small = st.integers(0, EAGER_BYTES)
    lengths = [[], *(data.draw(st.lists(small, min_size=n, max_size=n)) for n in n_each)]
    total = sum(n_each)
    pauses = [data.draw(st.lists(SECONDS, min_size=total, max_size=total)), *own]
    network = STAR
    for src in range(1, len(n_each) + 1):
        network = network.with_slow_link(src, 0, data.draw(st.sampled_from([1, 2, 50, 1000])))
    result = run(
        collect, pauses, lengths, workers=len(n_each) + 1, backend="simulated", network=network
    )
    arrivals = {src: [] for src in range(1, len(n_each) + 1)}
    for message in sorted(result.trace.messages, key=lambda message: message.posted_s):
        arrivals[message.src].append(message.arrived_s)
    for src, asked_s, received_s in result.values[0]:
        arrived_s = arrivals[src].pop(0)
        assert received_s == max(asked_s, arrived_s)
        assert all(arrived_s <= each[0] for each in arrivals.values() if each)

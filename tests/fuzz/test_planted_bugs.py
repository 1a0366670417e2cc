"""The hunt finds bugs: each is planted in one world, found, and shown in a few steps."""

import numpy as np
import pytest

from tests.fuzz.hunt import hunt, problems_of
from tests.fuzz.perform import perform

pytestmark = pytest.mark.slow

MOST_PROGRAMS = 120
MOST_STEPS = 4


class Planted:
    """A communicator with a bug: it hands on all but what a subclass does wrongly."""

    def __init__(self, comm):
        self._comm = comm

    def __getattr__(self, name):
        return getattr(self._comm, name)

    def split(self, color, key=0):
        group = self._comm.split(color, key)
        return None if group is None else type(self)(group)

    def start(self, fn, *args):
        return self._comm.start(lambda child, *rest: fn(type(self)(child), *rest), *args)


class OneBitIsOther(Planted):
    """Of messages of a whole number of pages."""

    def recv(self, src, out=None, op=None, tag=None):
        array = self._comm.recv(src, out=out, op=op, tag=tag)
        if isinstance(array, np.ndarray) and array.nbytes >= 4096 and array.flags.c_contiguous:
            array.reshape(-1).view("u1")[-1] ^= 1
        return array


class LosesTheDtypesByteOrder(Planted):
    def recv(self, src, out=None, op=None, tag=None):
        array = self._comm.recv(src, out=out, op=op, tag=tag)
        if out is None and isinstance(array, np.ndarray) and not array.dtype.isnative:
            return array.astype(array.dtype.newbyteorder("="))
        return array


class ForgetsTheOperation(Planted):
    """The minimum, where ``out`` is not contiguous."""

    def recv(self, src, out=None, op=None, tag=None):
        if op == "min" and isinstance(out, np.ndarray) and not out.flags.c_contiguous:
            op = "max"
        return self._comm.recv(src, out=out, op=op, tag=tag)


class MixesUpKeys(Planted):
    """Negative ones."""

    def split(self, color, key=0):
        return super().split(color, abs(key))


class LeaksGradMode(Planted):
    """After a barrier."""

    def barrier(self):
        import torch

        self._comm.barrier()
        torch.set_grad_enabled(True)


class CountsAMessageTwice(Planted):
    """One message is sent that the program has not: an empty one, which the next receive drops."""

    def send(self, array, dst, tag=None):
        if array.ndim == 3:
            self._comm.send(np.zeros(0, "u1"), dst, tag="again")
        self._comm.send(array, dst, tag=tag)

    def recv(self, src, out=None, op=None, tag=None):
        return self._comm.recv(src, out=out, op=op, tag=tag)


class SwapsTwoMessages(Planted):
    """What ``recv_any`` has from the highest rank it says is from the lowest."""

    def recv_any(self):
        src, array = self._comm.recv_any()
        return (self._comm.size - 1 - src if self._comm.size > 3 else src), array


class ReceivesWhenItIsWaitedFor(Planted):
    """In the order of waiting, and not of posting."""

    def irecv(self, src, out=None, op=None, tag=None):
        return Later(lambda: self._comm.recv(src, out=out, op=op, tag=tag))


class Later:
    """What a lazy ``irecv`` returns."""

    def __init__(self, receive):
        self._receive = receive
        self._got = []

    def wait(self):
        if not self._got:
            self._got.append(self._receive())
        return self._got[0]

    def test(self):
        return False


SOME = [OneBitIsOther, ForgetsTheOperation, LeaksGradMode, ReceivesWhenItIsWaitedFor]
OTHERS = [LosesTheDtypesByteOrder, MixesUpKeys, CountsAMessageTwice, SwapsTwoMessages]


def playing(bug):
    def play(comm, programs, naps, careful):
        return perform(bug(comm), programs, naps, careful)

    return play


def is_right_without(finding):
    return problems_of([finding.program], ["simulated"]) == []


def check_found(bug):
    findings = hunt(0, MOST_PROGRAMS, ["simulated"], play=playing(bug))
    finding = next((each for each in findings if is_right_without(each)), None)
    assert finding is not None
    print(f"{bug.__name__}: program {finding.number}\n{finding}")
    assert len(list(finding.program.all_steps())) <= MOST_STEPS


@pytest.mark.parametrize("bug", SOME)
def test_a_bug_in_a_world_is_found_and_shown_in_a_few_steps(bug):
    check_found(bug)


@pytest.mark.soak
@pytest.mark.parametrize("bug", OTHERS)
def test_other_bugs_are_found_and_shown_in_a_few_steps(bug):
    check_found(bug)

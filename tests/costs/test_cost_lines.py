"""The Cost line of a docstring is the closed form: its formulas are read and worked out."""

import inspect
import math
import re
from fractions import Fraction

import pytest

from course_lib.costs import price
from course_lib.costs.catalogue import PRICES
from tests.costs.cases import SIZES, function

LENGTH = 840 * 16  # divisible by every size up to 8, and 16
HOST = 2  # ranks_per_host, where nobody says otherwise


def each(by_rank):
    (value,) = set(by_rank)
    return value


def below_q(p, by_rank):
    """Return what the ranks below Q have that took in nobody."""
    size = len(by_rank)
    active = 2 ** int(math.log2(size))
    return each(by_rank[size - active : active])


def power_of_two(size):
    return size & (size - 1) == 0


def full(size):
    return size >= 7 and size & (size + 1) == 0


# By collective: what the line says, with the formula in brackets; what of the price it is; and for
# which sizes it is said.
ROUNDS = (r"(?:^|: )([^;:]+?) rounds?\b", lambda p: p.rounds)
IN_ALL = (r"; ([^;]+?) messages in all", lambda p: p.messages)
EACH_SENDS_MESSAGES = (
    r"; ([^;]+?) messages (?:and|sent)",
    lambda p: p.messages // len(p.bytes_sent),
)
EACH_SENDS = (r"(?:;|and) ([^;a-z]+? n) bytes sent by each rank", lambda p: each(p.bytes_sent))
ROOT_SENDS = (r"the root sends (.+?) bytes", lambda p: p.bytes_sent[0])
ROOT_RECEIVES = (r"the root receives (.+?) bytes", lambda p: p.bytes_received[0])
OTHERS_SEND = (r"every other rank sends (\w+)", lambda p: each(p.bytes_sent[1:]), lambda s: s > 1)
CLAIMS = {
    "broadcast_flat": [ROUNDS, IN_ALL, ROOT_SENDS],
    "broadcast_tree": [ROUNDS, IN_ALL, ROOT_SENDS],
    "reduce_flat": [ROUNDS, IN_ALL, ROOT_RECEIVES, OTHERS_SEND],
    "reduce_tree": [ROUNDS, IN_ALL, ROOT_RECEIVES, OTHERS_SEND],
    "gather": [ROUNDS, IN_ALL, ROOT_RECEIVES, OTHERS_SEND],
    "scatter": [ROUNDS, IN_ALL, ROOT_SENDS],
    "allgather_ring": [ROUNDS, EACH_SENDS_MESSAGES, EACH_SENDS],
    "reduce_scatter_ring": [ROUNDS, EACH_SENDS_MESSAGES, EACH_SENDS],
    "alltoall": [ROUNDS, EACH_SENDS_MESSAGES, EACH_SENDS],
    "allreduce_central": [
        ROUNDS, IN_ALL,
        (r"rank 0 sends and receives (.+?) bytes", lambda p: p.bytes_sent[0]),
        (r"rank 0 sends and receives (.+?) bytes", lambda p: p.bytes_received[0]),
        (r"every other rank (\w+) bytes", lambda p: each(p.bytes_sent[1:]), lambda s: s > 1),
        (r"busy for (.+?) bytes", lambda p: p.serial_bytes),
    ],
    "allreduce_direct": [
        ROUNDS, IN_ALL, EACH_SENDS,
        (r", ([^;]+?) sent by each rank", lambda p: p.messages // len(p.bytes_sent)),
    ],
    "allreduce_tree": [
        ROUNDS, IN_ALL,
        (r"and a parent sends and receives (\w+) bytes", lambda p: p.bytes_sent[1], full),
        (r"the root (\w+),", lambda p: p.bytes_sent[0], full),
        (r"a leaf (\w+)[,.]", lambda p: p.bytes_received[-1], full),
        (r"2n bytes: (.+?) in all", lambda p: p.serial_bytes, full),
    ],
    "allreduce_double_tree": [
        ROUNDS,
        (r"; ([^;]+?) messages in all for each", lambda p: p.messages // 4),  # segments
        (r"(\w+) at most", lambda p: max(p.bytes_sent), lambda s: s >= 4),
    ],
    "allreduce_butterfly": [
        (*ROUNDS, power_of_two), IN_ALL,
        (r"Q sends (.+?) bytes", lambda p: below_q(p, p.bytes_sent)),
    ],
    "allreduce_halving_doubling": [
        (*ROUNDS, power_of_two), IN_ALL,
        (r"; ([^;]+?) bytes sent by each rank below Q", lambda p: below_q(p, p.bytes_sent)),
    ],
    "allreduce_ring": [
        ROUNDS, EACH_SENDS,
        (r"; ([^;]+?) messages sent by each", lambda p: p.messages // len(p.bytes_sent)),
    ],
    "allreduce_two_level": [
        (*ROUNDS, lambda s: s > 1),
        (r"([^;]+?) messages inside", lambda p: p.messages - between_hosts(p)),
        (r"and ([^;]+?) between them", lambda p: between_hosts(p)),
    ],
}  # fmt: skip


def between_hosts(p):
    """Count the messages of the ring between hosts of two ranks: they are what is not a tree's."""
    n_hosts = -(-len(p.bytes_sent) // HOST)
    return p.messages - 2 * (len(p.bytes_sent) - n_hosts)


def cost_line(name):
    """Return the Cost paragraph of a collective's docstring, on one line."""
    text = inspect.getdoc(function(name)) or ""
    (found,) = re.findall(r"^Cost: (.*?)(?:\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return " ".join(found.split())


def worked_out(formula, size):
    """Work out "2 floor(log2 P)" or "2(P-1)/P n" for P ranks."""
    active = 2 ** int(math.log2(size))
    n_hosts = -(-size // HOST)
    values = {"P": size, "Q": active, "n": LENGTH, "H": n_hosts, "L": min(HOST, size)}
    formula = re.sub(r"log2 (\w)", r"log2(\1)", formula)
    words = re.findall(r"floor|ceil|log2|\d+|\w+|[()+/-]", formula)
    code = ""
    for before, word in zip(["(", *words], words, strict=False):
        ends = before.isdigit() or before in (*values, ")")
        begins = word not in ("+", "-", "/", ")")
        code += ("*" if ends and begins else "") + (f"Fraction({word})" if word.isdigit() else word)
    names = {"floor": math.floor, "ceil": math.ceil, "log2": math.log2, "Fraction": Fraction}
    return eval(code, {"__builtins__": {}} | names | values)


@pytest.mark.parametrize(
    ("formula", "size", "value"),
    [
        ("2(P-1)/P n", 4, LENGTH * 3 // 2),
        ("2 ceil(log2 L) + 2(H-1)", 4, 4),
        ("Q log2 Q + 2(P-Q)", 6, 12),
        ("n log2 Q", 8, 3 * LENGTH),
        ("1", 8, 1),
        ("3n", 7, 3 * LENGTH),
        ("2H(H-1)", 8, 24),
    ],
)
def test_formulas_are_read_as_people_read_them(formula, size, value):
    assert worked_out(formula, size) == value


@pytest.mark.parametrize("name", PRICES)
def test_every_formula_of_the_cost_line_is_the_closed_forms(name):
    line = cost_line(name)
    for pattern, of_price, *only in CLAIMS[name]:
        found = re.search(pattern, line)
        assert found, f"{name}: no {pattern!r} in {line!r}"
        sizes = [size for size in SIZES if all(condition(size) for condition in only)]
        assert sizes
        for size in sizes:
            if size == 1 and found[1] in ("1", "2"):
                continue  # "1 round": of one rank nobody counts rounds
            value = of_price(price(name, size, LENGTH))
            assert worked_out(found[1], size) == value, (name, found[1], size)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("allreduce_ring", "2(P-1)/P n", "2(P-1) n"),
        ("allreduce_central", "(P-1) n", "P n"),
        ("broadcast_tree", "ceil(log2 P)", "floor(log2 P)"),
        ("allreduce_butterfly", "log2 Q", "2 log2 Q"),
    ],
)
def test_a_wrong_formula_in_a_docstring_would_be_found(name, right, wrong, monkeypatch):
    line = cost_line(name)
    assert right in line
    monkeypatch.setattr(
        "tests.costs.test_cost_lines.cost_line", lambda _: line.replace(right, wrong)
    )
    with pytest.raises(AssertionError):
        test_every_formula_of_the_cost_line_is_the_closed_forms(name)

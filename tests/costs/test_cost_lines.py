"""The Cost line of a docstring is the closed form: its formulas are read and worked out."""

import inspect
import math
import re
from fractions import Fraction

import pytest

from course_lib.costs import price
from course_lib.costs.catalogue import PRICES
from tests.costs.cases import function

N_BYTES = 840 * 16 * 8


def busiest(by_rank):
    return max(by_rank)


def of_rank_0(by_rank):
    return by_rank[0]


def of_last(by_rank):
    return by_rank[-1]


def each(by_rank):
    (value,) = set(by_rank)
    return value


# What the line says, "..." standing for the formula, and the number that it must be.
ROUNDS = ("... rounds", lambda p: p.rounds)
IN_ALL = ("... messages in all", lambda p: p.messages)
SENT = ("... bytes sent by each rank", lambda p: each(p.bytes_sent))
EACH_MESSAGES = ("... messages and", lambda p: Fraction(p.messages, len(p.bytes_sent)))
ROOT_SENDS = ("the root sends ... bytes", lambda p: p.bytes_sent[0])
ROOT_GETS = ("the root receives ... bytes", lambda p: p.bytes_received[0])
CLAIMS = {
    "broadcast_flat": {("1 round", "1"): ROUNDS, ("", "P - 1"): IN_ALL, ("", "(P-1) n"): ROOT_SENDS},
}


def cost_line(name):
    """Return the Cost paragraph of a collective's docstring, on one line."""
    text = inspect.getdoc(function(name)) or ""
    (found,) = re.findall(r"^Cost: (.*?)(?:\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return " ".join(found.split())

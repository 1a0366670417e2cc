"""What a collective costs before anybody has run it: formulas for rounds, messages and bytes.

Two numbers describe a network: alpha, the seconds from sending a first byte until it arrives, and
beta, the seconds that a NIC is busy with one byte. ``price`` says what a collective asks
of such a network, and ``Price.time_s`` how long that takes; ``crossover`` says from which size on
one is faster than another; ``fit_line`` finds alpha and beta in measured times. A time
without a closed form is a bound and says so: ``AtMost``, a float that prints as one. Nothing here
communicates: the formulas know the ranks and the length, and nothing of the code they describe.
"""

from course_lib.costs.asynchrony import (
    backup_step,
    delayed_edge,
    implicit_momentum,
    mean_square_edge,
    staleness_chance,
    staleness_sum,
)
from course_lib.costs.bounds import AtLeast, AtMost
from course_lib.costs.catalogue import crossover, predicted_s, price
from course_lib.costs.choice import Choice, choose_allreduce
from course_lib.costs.fit import Line, fit_line
from course_lib.costs.gossip import consensus_factor
from course_lib.costs.price import Price
from course_lib.costs.scaling import Step
from course_lib.costs.sharding import bytes_held
from course_lib.costs.two_sites import TwoSites

__all__ = [
    "AtLeast",
    "AtMost",
    "Choice",
    "Line",
    "Price",
    "Step",
    "TwoSites",
    "backup_step",
    "bytes_held",
    "choose_allreduce",
    "consensus_factor",
    "crossover",
    "delayed_edge",
    "fit_line",
    "implicit_momentum",
    "mean_square_edge",
    "predicted_s",
    "price",
    "staleness_chance",
    "staleness_sum",
]

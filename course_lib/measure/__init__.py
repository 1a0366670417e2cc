"""Everything that runs something to get a number.

``collectives`` measures a collective in virtual time and on real processes, ``training_step`` a
step of a scheme, of which ``dry_run`` runs a few; ``allreduce`` and ``messages`` take the time of
what is sent on this computer, and ``comparison`` puts what is predicted, simulated and measured
side by side.
"""

from course_lib.measure.allreduce import Measurement, measure_allreduce
from course_lib.measure.collectives import (
    BothWorlds,
    Weight,
    both_worlds,
    overtaken_at,
    real_times,
    virtual_s,
    weigh,
)
from course_lib.measure.comparison import Comparison, compare
from course_lib.measure.dry_runs import dry_run
from course_lib.measure.messages import fit_network, message_times
from course_lib.measure.training_step import OneStep, one_step, real_step_s

__all__ = [
    "BothWorlds",
    "Comparison",
    "Measurement",
    "OneStep",
    "Weight",
    "both_worlds",
    "compare",
    "dry_run",
    "fit_network",
    "measure_allreduce",
    "message_times",
    "one_step",
    "overtaken_at",
    "real_step_s",
    "real_times",
    "virtual_s",
    "weigh",
]

"""Measure on this computer what the cost model predicts.

``fit_network`` sends messages to and fro and makes a network of what they took, ready for the
simulator. ``compare`` puts predicted, simulated and measured seconds side by side.
``measure_allreduce`` is what ``python -m course_lib bench allreduce`` calls.
"""

from course_lib.bench.allreduce import Measurement, measure_allreduce
from course_lib.bench.comparison import Comparison, compare
from course_lib.bench.messages import fit_network, message_times

__all__ = [
    "Comparison",
    "Measurement",
    "compare",
    "fit_network",
    "measure_allreduce",
    "message_times",
]

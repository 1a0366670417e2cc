"""Search: many small trainings side by side, to find the numbers that train best.

One strategy a file. A strategy says which *job* comes next: a trial, which is a set of numbers
drawn from a space, and how long it is trained, its resource. ``search`` has the workers carry jobs
out: rank 0 hands them to whoever is free, and nobody waits for anybody but the strategy. A job is
trained from the start, whoever has trained that trial before, so that a worker keeps nothing and
what one has lost another can do again.

    n : int
        How many trials are begun.
    least, most : int
        The resource of a first job, r, and the largest of all, R.
    eta : int
        Of a rung's trials one in so many goes on to the next, with so many times the resource.
    draw : callable
        Called with a trial's number, returns its numbers by name: a ``Space``.
"""

from course_lib.search.asha import Asha
from course_lib.search.coordinator import search
from course_lib.search.job import Job, Outcome, Strategy, best_of
from course_lib.search.random_search import RandomSearch
from course_lib.search.rungs import Rung, rungs
from course_lib.search.space import Choice, LogUniform, Space, Uniform
from course_lib.search.successive_halving import SuccessiveHalving

__all__ = [
    "Asha",
    "Choice",
    "Job",
    "LogUniform",
    "Outcome",
    "RandomSearch",
    "Rung",
    "Space",
    "Strategy",
    "SuccessiveHalving",
    "Uniform",
    "best_of",
    "rungs",
    "search",
]

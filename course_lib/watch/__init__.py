"""Watch a collective: the algorithm is run with numbers that tell where they come from.

``watch_collective(allreduce_ring, workers=4)`` shows chunks changing hands and every rank's buffer
filling. The algorithm's text is not touched and nothing is drawn from a script: the function runs
on the simulator, once with numbers from which one reads whose contributions are in a sum
(``course_lib.trace.fingerprint``), and once more with numbers from which one reads their places.
"""

from course_lib.watch.watched import Watched, watch_collective

__all__ = ["Watched", "watch_collective"]

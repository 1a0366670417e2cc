"""Measurements, each against its peer in the same run. Nothing here is asserted in the tests.

``python -m benchmarks`` (or ``make bench``) does all of it; ``python -m benchmarks --help`` says
what can be left out. The peers take turns with ours, round by round, because the computer's mood
changes by the hour: only ratios from one run mean something.

From the bottom up: ``exchange`` is what every engine does inside its processes: make the same
numbers, sum them, check every sum, take the time. ``ours``, ``gloo`` and ``mpich`` say how each
engine does it, ``peers`` starts those that are not ours. ``lesson`` is what every engine trains,
and ``ddp`` how torch does it. ``sums``, ``tracing``, ``launch``, ``algorithms``, ``simulator``,
``training``, ``pipelines``, ``split`` and ``digits`` are the measurements, ``rows`` holds them
against our aims, ``report`` prints and writes all, ``readme`` copies the rows into README.md.
``profile`` shows where the time of ours goes.

MPICH is optional: ``python -m pip install mpi4py mpich``, which pyproject.toml lists as ``bench``.
Without it the rest is measured.
"""

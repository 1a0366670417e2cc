"""All measurements: ``python -m benchmarks``, or ``make bench``."""

from benchmarks import launch

launch.main()

"""Train from the command line: ``python -m course_lib train``.

``catalogue`` lists the schemes, ``problems`` the models and data, ``problem_file`` runs one of your
own, whose function returns a ``Problem``; ``trial`` computes a few examples of it before the start,
``scores`` says what an accuracy may compare; ``worker`` is what every rank does, ``logbook`` what
it does between two epochs, ``checkpoint`` what is kept of it, in the bytes of ``states``, and
``claim`` keeps a second training out of the same folder.
"""

from course_lib.train.problem_file import Problem

__all__ = ["Problem"]

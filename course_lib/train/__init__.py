"""Train from the command line: ``python -m course_lib train``.

``catalogue`` lists the schemes, ``problems`` the models and data; ``worker`` is what every rank
does, ``logbook`` what it does between two epochs, and ``checkpoint`` what is kept of it.
"""

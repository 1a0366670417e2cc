"""The command line: ``python -m course_lib train``, ``bench`` and ``doctor``.

``train`` and ``bench`` are the commands; what they share is ``course_lib.console``.
"""

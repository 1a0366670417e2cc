"""The command line: ``python -m course_lib train``, ``bench`` and ``doctor``.

``train`` and ``bench`` are the commands; ``options``, ``tables``, ``progress``, ``files`` and
``outputs`` are what they share.
"""

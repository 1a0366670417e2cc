"""Percent scripts in, notebooks out: the one source of lectures, exercises and solutions.

``python -m authoring build`` writes them all, ``python -m authoring check`` says what is stale.
"""

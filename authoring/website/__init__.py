"""The whole course as pages that need no kernel, no server and no network: ``make site``.

Sphinx makes them. Lectures, exercises and the texts of ``docs`` reach it as fragments of HTML, made
by the same code as the slides (``authoring.blocks``), so a formula or a picture is the same in
both; the reference comes from the docstrings of ``course_lib``.
"""

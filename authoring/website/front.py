"""The front page: what the course is, a ring that moves, and the lectures in a table."""

import html
import re
from collections.abc import Iterable
from pathlib import Path

from nbformat import NotebookNode

from authoring.website.notebooks import links_beside
from course_lib.collectives import ALLREDUCES
from course_lib.viz.animation.pages import slot_of
from course_lib.watch import watch_collective

__all__ = ["front_fragment", "title_and_goal"]

_TEMPLATE = Path(__file__).with_name("front.html")
_TITLE = re.compile(r"# (.*)")
_GOAL = re.compile(r"^- (.*(?:\n  .*)*)", re.MULTILINE)


def title_and_goal(notebook: NotebookNode) -> tuple[str, str]:
    """Read a lecture's title, and the first of the things that one can do after it."""
    text = notebook.cells[0].source
    title, goal = _TITLE.match(text), _GOAL.search(text)
    return title[1] if title else "", " ".join(goal[1].split()) if goal else ""


def front_fragment(
    lectures: Iterable[tuple[str, NotebookNode]], pages: dict[str, str], decks: set[str]
) -> str:
    """Write the front page.

    Parameters
    ----------
    lectures : iterable of (str, nbformat.NotebookNode)
        Name and notebook of each.
    pages : dict of str to str
        The page of each file of the project.
    decks : set of str
        The lectures that have slides there.

    Returns
    -------
    str
        A fragment.
    """
    rows = "\n".join(_row(name, notebook, pages, decks) for name, notebook in lectures)
    ring = watch_collective(ALLREDUCES["ring"], workers=4).player(
        "ring", title="A ring of four: everybody gets the sum, nobody is in the middle"
    )
    template = _TEMPLATE.read_text(encoding="utf-8")
    return template.replace("{player}", slot_of(ring)).replace("{lectures}", rows)


def _row(name: str, notebook: NotebookNode, pages: dict[str, str], decks: set[str]) -> str:
    title, goal = (html.escape(text) for text in title_and_goal(notebook))
    goal = re.sub("`([^`]*)`", r"<code>\1</code>", goal)
    return (
        f'<tr><td><a href="lectures/{name}.html">{title}</a></td><td>{goal}</td>'
        f"<td>{links_beside(name, pages, decks)}</td></tr>"
    )

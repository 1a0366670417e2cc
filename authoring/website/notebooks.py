"""Lectures, exercises and texts as fragments of HTML."""

import html
import posixpath
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from authoring.blocks import (
    Link,
    block,
    code_of,
    listing,
    markdown,
    output_blocks,
    speaks_for_itself,
)  # fmt: skip

__all__ = ["links_beside", "links_from", "notebook_fragment", "read_notebook", "text_fragment"]


def read_notebook(path: Path) -> NotebookNode:
    """Read a notebook as it is committed."""
    notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def links_from(file: str, pages: dict[str, str]) -> Link:
    """Lead from a file of the project to the pages of others.

    Parameters
    ----------
    file : str
        The file that has the links, from the project's root: ``"notebooks/05_allreduce.ipynb"``.
    pages : dict of str to str
        The page of each file that has one: ``"lectures/05_allreduce"``.

    Returns
    -------
    callable
        Takes ``"../exercises/05_allreduce.ipynb"`` to the way from page to page; where a file has
        no page, only the words are left.
    """
    folder, above = posixpath.dirname(file), posixpath.dirname(pages[file])

    def link(to: str) -> str | None:
        path, hash_sign, part = to.partition("#")
        page = pages.get(posixpath.normpath(posixpath.join(folder, path))) if path else pages[file]
        if page is None:
            return None
        return f"{posixpath.relpath(page, above or '.')}.html{hash_sign}{part}"

    return link


def links_beside(name: str, pages: dict[str, str], decks: set[str], above: str = "") -> str:
    """Link to what belongs to a lecture: on its own page, and in the table of all.

    Parameters
    ----------
    name : str
        The lecture's, ``"05_allreduce"``.
    pages : dict of str to str
        The page of each file of the project.
    decks : set of str
        The lectures that have slides.
    above : str, default: ""
        The way from the page that has the links to the site's root, ``"../"``.

    Returns
    -------
    str
        HTML; empty where nothing belongs to it.
    """
    places = {"Exercises": pages.get(f"exercises/{name}.ipynb")}
    places["Slides"] = f"slides/{name}" if name in decks else None
    links = (
        f'<a href="{above}{html.escape(place)}.html">{words}</a>'
        for words, place in places.items()
        if place
    )
    return " · ".join(links)


def text_fragment(text: str, link: Link) -> str:
    """Write a page of markdown as a fragment."""
    return _tables(markdown(text, link))


def notebook_fragment(
    notebook: NotebookNode, link: Link, live: NotebookNode | None = None, under_title: str = ""
) -> str:
    """Write a notebook as a fragment.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        As it is committed.
    link : callable
        Where its relative links lead to.
    live : nbformat.NotebookNode or None, default: None
        The same one with live pictures, which take the place of the stills.
    under_title : str, default: ""
        HTML that follows its first heading.

    Returns
    -------
    str
        The fragment.
    """
    outputs = {cell.id: cell.outputs for cell in (live.cells if live else []) if "outputs" in cell}
    parts: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            text = _tables(markdown(cell.source, link))
            if under_title and not parts:
                text = text.replace("</h1>", f"</h1>{under_title}", 1)
            parts.append(text)
        elif cell.cell_type == "code":
            shown = outputs.get(cell.id, cell.outputs)
            parts.append(_code_cell(cell, shown, link))
    return "\n".join(parts)


def _code_cell(cell: NotebookNode, outputs: list[NotebookNode], link: Link) -> str:
    tags = set(cell.metadata.get("tags", []))
    text = code_of(cell)
    shown = "".join(one for output in outputs for one in output_blocks(output, link))
    code = "" if speaks_for_itself(cell, shown) else block("code", listing(text))
    if tags & {"how-we-know", "set-up"}:
        first = text.partition("\n")[0].lstrip("# ")
        code = f"<details class='folded'><summary>{html.escape(first)}</summary>{code}</details>"
    return f'<div class="cell" id="cell-{cell.id}">{code}{_tables(shown)}</div>'


def _tables(text: str) -> str:
    """Let a table that is wider than the page be moved sideways, and nothing else with it."""
    return text.replace("<table", '<div class="wide"><table').replace("</table>", "</table></div>")

"""A kind of source for Sphinx: a piece of HTML whose headings make the page's sections.

So a page has its title, its place in the contents and its words in the search, and all that stands
between two headings is shown as it was written. A comment lists the pages that come below it:
``<!-- contents Lectures: lectures/00_start_here lectures/01_gradient_descent -->``.
"""

import html
import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.parsers import Parser

__all__ = ["SUFFIX", "FragmentParser", "heading_id", "setup"]

SUFFIX = ".fragment"
_PARTS = re.compile(
    r"(?P<open><details\b)|(?P<close></details>)|<h(?P<level>[1-6])[^>]*>(?P<title>.*?)</h[1-6]>",
    re.DOTALL,
)
_TOP = re.compile("<h1[ >]")
_CONTENTS = re.compile("<!-- contents (.*?): (.*?) -->")
_CODE = re.compile("<code>(.*?)</code>", re.DOTALL)
_TAG = re.compile("<[^>]*>")


class FragmentParser(Parser):
    """Parts a fragment at its headings; those in a folded ``<details>`` stay in the text.

    A page has one title: where a lecture has parts with headings of the first level, too, all
    that follows the title moves one level down.
    """

    supported = ("fragment",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Fill a document with the sections of a fragment.

        Parameters
        ----------
        inputstring : str
            The fragment; its first heading is the page's title.
        document : docutils.nodes.document
            Where they go.
        """
        at, depth, has_title = 0, 0, False
        has_parts = len(_TOP.findall(inputstring)) > 1
        open_sections: list[tuple[int, nodes.section]] = []
        place: nodes.Element = document
        for found in _PARTS.finditer(inputstring):
            depth += bool(found["open"]) - bool(found["close"])
            if depth or not found["level"]:
                continue
            _add(place, inputstring[at : found.start()])
            at, level = found.end(), int(found["level"]) + (has_parts and has_title)
            has_title = True
            while open_sections and open_sections[-1][0] >= level:
                open_sections.pop()
            section = _section(found["title"], document)
            (open_sections[-1][1] if open_sections else document).append(section)
            open_sections.append((level, section))
            place = section
        _add(place, _CONTENTS.sub("", inputstring[at:]))
        for caption, pages in _CONTENTS.findall(inputstring):
            place += _toctree(document.settings.env.docname, caption, pages.split())


def _section(title: str, document: nodes.document) -> nodes.section:
    words = nodes.title()
    for number, part in enumerate(_CODE.split(title)):
        text = html.unescape(_TAG.sub("", part))
        if text:
            words += nodes.literal(text=text) if number % 2 else nodes.Text(text)
    section = nodes.section("", words)
    section["names"].append(nodes.fully_normalize_name(words.astext()))
    wanted = heading_id(words.astext())
    name, number = wanted, 1
    while name in document.ids:
        number += 1
        name = f"{wanted}-{number}"
    section["ids"].append(name)
    document.ids[name] = section
    return section


def _toctree(parent: str, caption: str, pages: list[str]) -> nodes.Element:
    return addnodes.toctree(
        "", parent=parent, entries=[(None, page) for page in pages], includefiles=pages,
        maxdepth=1, caption=caption, rawcaption=caption, glob=False, hidden=True,
        includehidden=True, numbered=0, titlesonly=True,
    )  # fmt: skip


def heading_id(title: str) -> str:
    """Name a heading as GitHub does: ``#what-to-do-next``."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") or "section"


def _add(place: nodes.Element, text: str) -> None:
    if text.strip():
        place += nodes.raw("", text, format="html")


def setup(app: Sphinx) -> dict[str, Any]:
    """Tell Sphinx of these sources."""
    app.add_source_suffix(SUFFIX, "fragment")
    app.add_source_parser(FragmentParser)
    app.connect("html-page-context", _mark_formulas)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _mark_formulas(
    app: Sphinx, name: str, template: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """Say of each page what it has to load."""
    del app, name, template
    body = context.get("body") or ""
    context["has_formulas"] = tree is not None and "$" in tree.astext()
    context["has_pictures"] = 'class="lm-slot"' in body

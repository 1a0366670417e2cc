"""What a notebook holds, as blocks of HTML: for the slides, and for the pages of the site."""

import html
import re
from collections.abc import Callable
from typing import Any

from nbconvert.filters import markdown2html_mistune
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from authoring.live import joined_formulas
from authoring.outputs import without_colours

__all__ = [
    "Link",
    "block",
    "code_of",
    "listing",
    "markdown",
    "output_blocks",
    "speaks_for_itself",
]

Link = Callable[[str], str | None]
"""Says where a relative link of a notebook leads to on a page; None keeps its words alone."""

_ANCHOR = re.compile('<a class="anchor-link".*?</a>')
_LISTING = re.compile(r"\A```python\n(.*)\n```\Z", re.DOTALL)
_FENCED = re.compile(r'(<div class="highlight"><pre>)(?:<span></span>)?(.*?)</pre>', re.DOTALL)
_LINK = re.compile(r'<a href="([^"]*)">(.*?)</a>', re.DOTALL)
_ELSEWHERE = ("http:", "https:", "mailto:")
_NO_HEADER = re.compile(r"<th\b[^>]*>\s*</th>")
_ASKS = re.compile(r'class="lm-(ask|answer)"')


def block(kind: str, text: str) -> str:
    """Wrap a piece of a page: ``kind`` says what it is, to the style and to the script."""
    return f'<div class="block" data-kind="{kind}">{text}</div>'


def markdown(text: str, link: Link) -> str:
    """Write the markdown of a cell, or of a page, as HTML.

    Parameters
    ----------
    text : str
        Markdown; formulas stay as they are, between dollar signs.
    link : callable
        Where its relative links lead to.

    Returns
    -------
    str
        The HTML.
    """

    def linked(match: re.Match[str]) -> str:
        to, words = match[1], match[2]
        if to.startswith(_ELSEWHERE):
            return match[0]
        found = link(html.unescape(to))
        return words if found is None else f'<a href="{html.escape(found)}">{words}</a>'

    made = _LINK.sub(linked, _ANCHOR.sub("", markdown2html_mistune(joined_formulas(text))))
    parted = _FENCED.sub(lambda m: f"{m[1]}{_line_elements(m[2].rstrip())}</pre>", made)
    return _named_headers(parted)


def listing(text: str) -> str:
    """Write lines of Python, coloured."""
    coloured = highlight(text, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return _lines(coloured.rstrip("\n"))


def code_of(cell: NotebookNode) -> str:
    """Return the lines of a code cell, without what is meant for the formatter."""
    return str(cell.source.replace("  # fmt: skip", ""))


def speaks_for_itself(cell: NotebookNode, shown: str) -> bool:
    """Tell whether a code cell is shown by its outputs alone: a question, its answer, a claim."""
    hides = "hide-input" in cell.metadata.get("tags", [])
    return hides or cell.source.startswith("claim(") or _ASKS.search(shown) is not None


def output_blocks(output: NotebookNode, link: Link) -> list[str]:
    """Write what a cell gave.

    Parameters
    ----------
    output : nbformat.NotebookNode
        One output of a code cell; a live picture is one that ``show_live`` wrote.
    link : callable
        Where its relative links lead to.

    Returns
    -------
    list of str
        Blocks of the kinds picture, image, html, code and out.
    """
    if output.output_type == "stream":
        return [block("out", _lines(html.escape(output.text.rstrip("\n"))))]
    if output.output_type == "error":
        text = without_colours(f"{output.ename}: {output.evalue}")
        return [block("out", _lines(html.escape(text), "error"))]
    data: dict[str, Any] = output.data
    if "text/html" in data:
        kind = "picture" if 'class="lm-slot"' in data["text/html"] else "html"
        return [block(kind, _named_headers(data["text/html"]))]
    if "text/markdown" in data:
        found = _LISTING.match(data["text/markdown"].strip())
        if found:
            return [block("code", listing(found[1]))]
        return [block("html", markdown(data["text/markdown"], link))]
    if "image/png" in data:
        said = html.escape(data.get("text/plain", ""), quote=True)
        picture = f"data:image/png;base64,{data['image/png']}"
        return [block("image", f'<img alt="{said}" src="{picture}">')]
    return [block("out", _lines(html.escape(data.get("text/plain", ""))))]


def _named_headers(text: str) -> str:
    """Make header cells without words plain ones: they say nothing to a screen reader."""
    return _NO_HEADER.sub("<td></td>", text)


def _lines(text: str, also: str = "") -> str:
    return f'<pre class="{also}">{_line_elements(text)}</pre>'


def _line_elements(text: str) -> str:
    """Give each line an element of its own: a long listing is parted between them."""
    return "".join(f"<span class='line'>{line}\n</span>" for line in text.split("\n"))

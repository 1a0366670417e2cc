"""What a committed notebook may hold besides its source."""

import json
import re
from collections.abc import Iterable
from html.parser import HTMLParser

from nbformat import NotebookNode

__all__ = ["MOST_BYTES", "clean_outputs", "problems_of", "without_colours"]

MOST_BYTES = 400_000
_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_MIME = {"text/plain", "text/html", "text/markdown", "image/png"}
_HTML_TAGS = frozenset(
    {"b", "br", "code", "div", "em", "i", "p", "pre", "small", "span", "strong", "sub", "sup"}
    | {"caption", "table", "tbody", "td", "tfoot", "th", "thead", "tr"}
    | {"details", "summary", "figcaption", "h4"}
)
_HTML_ATTRIBUTES = {"class", "colspan", "rowspan", "scope", "title", "open"}
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{6,}")

Problem = tuple[int, str]
"""The index of the cell, and what is wrong with it."""


def without_colours(text: str) -> str:
    """Take the terminal's colour codes out of a text."""
    return _ANSI.sub("", text)


def clean_outputs(notebook: NotebookNode) -> None:
    """Leave text, PNG and tables; drop widget views and all that changes from run to run.

    A stored widget view without its state shows an error, so the still picture is kept instead.
    """
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if "data" in output:
                output.data.pop(_WIDGET_VIEW, None)
                output.metadata = {}
            if output.output_type == "error":
                output.traceback = [without_colours(line) for line in output.traceback]


def problems_of(
    notebook: NotebookNode, *, runs: bool, private: Iterable[str] = ()
) -> list[Problem]:
    """List what a notebook holds that it may not.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        A notebook, cleaned.
    runs : bool
        Whether it is one that has the outputs of a clean run, or one that has none.
    private : iterable of str, default: ()
        Paths of this computer that no output may name.

    Returns
    -------
    list of (int, str)
        The cell's index and the problem, in the order of the cells.
    """
    problems: list[Problem] = []
    count = 0
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        count += 1
        expected = count if runs else None
        if cell.execution_count != expected:
            problems.append((index, f"execution count {cell.execution_count}, not {expected}"))
        if cell.outputs and not runs:
            problems.append((index, "an exercise is committed without outputs"))
        for output in cell.outputs:
            found = _problem(output, cell.metadata.get("tags", []), tuple(private))
            problems += [(index, found)] if found else []
    size = len(json.dumps(notebook, indent=1, ensure_ascii=False).encode())
    if size > MOST_BYTES:
        problems.append((0, f"the notebook has {size:,} bytes, more than {MOST_BYTES:,}"))
    if "widgets" in notebook.metadata:
        problems.append((0, "the notebook stores widget state"))
    return problems


def _problem(output: NotebookNode, tags: list[str], private: tuple[str, ...]) -> str | None:
    texts = []
    if output.output_type == "stream":
        if output.name != "stdout":
            return f"the cell writes to {output.name}: {output.text[:300]!r}"
        texts = [output.text]
    elif output.output_type == "error":
        if not {"raises-exception", "nbval-raises-exception"} & set(tags):
            return f"the cell fails: {output.ename}: {output.evalue[:300]}"
        texts = [output.evalue, *output.traceback]
    else:
        unknown = set(output.data) - _MIME
        if unknown:
            return f"outputs of type {sorted(unknown)}; only {sorted(_MIME)} are kept"
        if not set(output.data) & {"text/plain", "image/png"}:
            return "an output needs text/plain or image/png beside anything else"
        texts = [text for name, text in output.data.items() if name.startswith("text/")]
        bad_html = _html_problem(output.data.get("text/html", ""))
        if bad_html:
            return bad_html
    if "nbval-ignore-output" not in tags and any(_ADDRESS.search(text) for text in texts):
        return "an output shows a memory address, which is another one in the next run"
    for path in private:
        if any(path in text for text in texts):
            return f"an output names a folder of this computer: {path}"
    return None


class _Html(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.problem: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _HTML_TAGS:
            self.problem = f"text/html with <{tag}>; only plain tables and text are kept"
        for name, _ in attrs:
            if name not in _HTML_ATTRIBUTES:
                self.problem = f"text/html with the attribute {name!r} on <{tag}>"


def _html_problem(text: str) -> str | None:
    parser = _Html()
    parser.feed(text)
    return parser.problem

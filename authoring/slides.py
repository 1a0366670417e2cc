"""Write lectures as decks of slides: one page each, all it needs beside it, pictures that move.

A slide of a notebook becomes as many as its cells fill: the page itself lays them out, for only a
browser knows how high they are. ``deck.js`` has the rules.
"""

import html
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

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
from authoring.build import ROOT
from authoring.live import live_notebook
from authoring.scripts import AuthoringError
from course_lib.viz.animation.pages import script_of_slots
from course_lib.viz.animation.script import PARTS, read_css

__all__ = ["HERE", "VENDOR", "deck_of", "write_assets", "write_decks"]

HERE = Path(__file__).parent / "web"
VENDOR = Path(__file__).parent / "vendor"
_NOT_SHOWN = {"how-we-know", "set-up"}
_PICTURE = re.compile('data-kind="(picture|image)"')
_DETAILS = re.compile(r"\A\s*<details>\s*<summary>(.*?)</summary>(.*)</details>\s*\Z", re.DOTALL)

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="assets/reveal/reset.css">
<link rel="stylesheet" href="assets/reveal/reveal.css">
<link rel="stylesheet" href="assets/katex/katex.min.css">
<link rel="stylesheet" href="assets/pictures.css">
<link rel="stylesheet" href="assets/code.css">
<link rel="stylesheet" href="assets/deck.css">
</head>
<body data-jp-theme-light="true">
<div class="reveal"><div class="slides"></div></div>
<div id="source" hidden>
{sections}
</div>
<script src="assets/reveal/reveal.js"></script>
<script src="assets/reveal/notes.js"></script>
<script src="assets/katex/katex.min.js"></script>
<script src="assets/katex/auto-render.min.js"></script>
<script src="assets/pictures.js"></script>
<script src="assets/deck.js"></script>
</body>
</html>
"""

_INDEX = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Slides</title>
<style>
body {{ margin: 3em auto; max-width: 42em; padding: 0 1em; font: 18px/1.6 system-ui, sans-serif; }}
</style>
</head>
<body>
<main>
<h1>Slides</h1>
<p>Space and the arrow keys turn the slides, S opens the lecturer's view with the notes, Esc shows
all slides, F fills the screen, ? lists all keys. M plays the picture of a slide, or pauses it; A
opens its answer, or folds it, and Space opens it, too, before the next slide. In a picture the
other keys are the picture's: click beside it to go on.
</p>
<ul>
{items}
</ul>
</main>
</body>
</html>
"""


@dataclass
class _Section:
    """One slide of the notebook: the blocks that it shows, and what the lecturer says."""

    blocks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_html(self) -> str:
        notes = "".join(self.notes)
        aside = f'<aside class="notes">{notes}</aside>' if notes else ""
        return "<section>\n" + "\n".join([*self.blocks, aside]) + "\n</section>"


def write_decks(folder: Path, notebooks: Iterable[Path], root: Path = ROOT) -> list[Path]:
    """Write a deck for each lecture, and an index of them.

    Parameters
    ----------
    folder : pathlib.Path
        Where to; made if it is not there.
    notebooks : iterable of pathlib.Path
        The lectures.
    root : pathlib.Path, optional
        The project's folder.

    Returns
    -------
    list of pathlib.Path
        The decks' files.

    Raises
    ------
    AuthoringError
        If the folder has an ``index.html`` of something else; it is left as it is.
    """
    index = folder / "index.html"
    if index.exists() and "<title>Slides</title>" not in index.read_text(encoding="utf-8"):
        raise AuthoringError(index, 1, "is no index of slides: name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    write_assets(folder / "assets")
    notebooks = list(notebooks)
    names = {path.stem for path in notebooks}
    written = []
    for path in notebooks:
        deck = folder / f"{path.stem}.html"
        deck.write_text(deck_of(live_notebook(path, root), names), encoding="utf-8")
        print(f"{deck}")
        written.append(deck)
    items = [
        f'<li><a href="{deck.name}">{html.escape(_title_of(deck))}</a></li>'
        for deck in sorted(folder.glob("[0-9][0-9]_*.html"))
    ]
    index.write_text(_INDEX.format(items="\n".join(items)), encoding="utf-8")
    return written


def write_assets(folder: Path) -> None:
    """Copy all that decks and pages load: the reveal.js and KaTeX of the tree, and our own."""
    shutil.copytree(VENDOR, folder, dirs_exist_ok=True)
    for name in ("deck.js", "deck.css", "code.css"):
        shutil.copyfile(HERE / name, folder / name)
    (folder / "pictures.js").write_text(script_of_slots(), encoding="utf-8")
    (folder / "pictures.css").write_text(read_css(*PARTS), encoding="utf-8")


def deck_of(notebook: NotebookNode, names: Iterable[str] = ()) -> str:
    """Write a live notebook as the page of a deck.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        What ``live_notebook`` returned.
    names : iterable of str, default: ()
        The decks that a link may lead to; of all other notebooks only the words are kept.

    Returns
    -------
    str
        The page; it loads what ``write_assets`` writes.
    """
    link = _between(set(names))
    sections = [_Section()]
    for cell in notebook.cells:
        kind = cell.metadata.get("slideshow", {}).get("slide_type")
        if kind == "skip" or _NOT_SHOWN & set(cell.metadata.get("tags", [])):
            continue
        if kind == "notes":
            sections[-1].notes.append(_notes(cell.source, link))
            continue
        if kind in ("slide", "subslide") and sections[-1].blocks:
            sections.append(_Section())
        if cell.cell_type == "markdown":
            sections[-1].blocks.append(block("text", markdown(cell.source, link)))
        elif cell.cell_type == "code":
            sections[-1].blocks += _code_cell(cell, link)
    first = next((c.source for c in notebook.cells if c.cell_type == "markdown"), "Slides")
    title = html.escape(first.splitlines()[0].lstrip("# ")) if first else "Slides"
    return _PAGE.format(title=title, sections="\n".join(one.to_html() for one in sections))


def _title_of(deck: Path) -> str:
    found = re.search("<title>(.*?)</title>", deck.read_text(encoding="utf-8"))
    return html.unescape(found[1]) if found else deck.stem


def _code_cell(cell: NotebookNode, link: Link) -> list[str]:
    """Show a cell and what it gave; a question, a claim and a picture need no line of Python."""
    shown = [one for output in cell.outputs for one in output_blocks(output, link)]
    is_picture = any(map(_PICTURE.search, shown))
    text = code_of(cell)
    hidden = speaks_for_itself(cell, "".join(shown)) or (is_picture and "\n" not in text)
    code = [] if hidden else [block("code", listing(text))]
    return [f'<div class="cell">{"".join([*code, *shown])}</div>']


def _between(decks: set[str]) -> Link:
    """Lead from deck to deck, and nowhere else."""

    def link(to: str) -> str | None:
        stem = Path(to.partition("#")[0]).stem
        return f"{stem}.html" if stem in decks and "/" not in to else None

    return link


def _notes(text: str, link: Link) -> str:
    folded = _DETAILS.match(text)
    if folded is None:
        return markdown(text, link)
    return f"<p><b>{folded[1]}</b></p>{markdown(folded[2].strip(), link)}"

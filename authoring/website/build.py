"""Make the site: sources for Sphinx from the notebooks, the texts and the library, then Sphinx."""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from authoring.build import ROOT
from authoring.live import live_notebook
from authoring.slides import write_assets, write_decks
from authoring.website.fragments import SUFFIX
from authoring.website.front import front_fragment
from authoring.website.ledger import ledger_fragment
from authoring.website.notebooks import (
    links_beside,
    links_from,
    notebook_fragment,
    read_notebook,
    text_fragment,
)  # fmt: skip
from authoring.website.reference import reference_pages

__all__ = ["pages_of", "write_site", "write_sources"]

HERE = Path(__file__).parent
_FIRST = ("glossary", "comm", "from_mpi_and_torch", "reliability", "own_model", "own_collective")
"""The texts that most look for; the others follow by name."""
_ABOUT = ("CONTRIBUTING", "SECURITY", "CHANGELOG")
Live = Callable[[Path], NotebookNode]


def write_site(
    folder: Path,
    lectures: Iterable[Path],
    *,
    root: Path = ROOT,
    live: Live = live_notebook,
    whole: bool = True,
) -> None:
    """Write the site.

    Parameters
    ----------
    folder : pathlib.Path
        Where to; what an earlier call wrote there is replaced, once all is written anew. Other
        files there, such as ``.git``, stay.
    lectures : iterable of pathlib.Path
        The lectures' notebooks; exercises of the same name come along.
    root : pathlib.Path, optional
        The project's folder.
    live : callable, optional
        Gives each lecture with pictures that move.
    whole : bool, default: True
        With slides and the reference.

    Raises
    ------
    ValueError
        If the folder holds something that is not a site.
    sphinx.errors.SphinxError
        At the first thing that Sphinx warns of.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / "searchindex.js").exists():
        raise ValueError(f"{folder}: expected a new folder or an old site, found other files there")
    lectures = sorted(lectures)
    with tempfile.TemporaryDirectory() as temporary:
        sources, work = Path(temporary) / "sources", Path(temporary) / "work"
        write_sources(sources, lectures, root=root, live=live, whole=whole)
        new = Path(temporary) / "new"
        with patch_docutils(str(HERE)), docutils_namespace():
            app = Sphinx(
                srcdir=sources, confdir=HERE, outdir=new, doctreedir=work, buildername="html",
                status=None, warningiserror=True, exception_on_warning=True,
            )  # fmt: skip
            app.build()
        # A list of lists that are not in its items; every page of code is reached from the
        # reference.
        (new / "_modules" / "index.html").unlink(missing_ok=True)
        write_assets(new / "_static" / "assets")
        if whole:
            write_decks(new / "slides", lectures, root)
        replace_by(new, folder)


def replace_by(new: Path, folder: Path) -> None:
    """Move all that is in one folder into another, in the place of what has its name there.

    Parameters
    ----------
    new : pathlib.Path
        What is moved; it is left empty.
    folder : pathlib.Path
        Where to; what has another name there stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for entry in sorted(new.iterdir()):
        old = folder / entry.name
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        else:
            old.unlink(missing_ok=True)
        shutil.move(entry, old)


def write_sources(
    sources: Path, lectures: list[Path], *, root: Path, live: Live, whole: bool
) -> None:
    """Write all that Sphinx reads; the parameters are those of ``write_site``."""
    pages = pages_of(root, lectures)
    decks = {path.stem for path in lectures} if whole else set()
    titles = {}
    for file, page in pages.items():
        path, link = root / file, links_from(file, pages)
        if path.suffix == ".md":
            text = text_fragment(path.read_text(encoding="utf-8"), link)
        elif page.startswith("lectures/"):
            beside = links_beside(path.stem, pages, decks, above="../")
            under_title = f'<p class="also">{beside}</p>' if beside else ""
            text = notebook_fragment(read_notebook(path), link, live(path), under_title)
        else:
            text = notebook_fragment(read_notebook(path), link)
        titles[page] = _title_of(text)
        _write(sources, page, text)
    experiments = _contents("Experiments", _in("claims", pages))
    ledger = ledger_fragment(root / "docs" / "claims.json", pages)
    _write(sources, "claims/ledger", ledger + experiments)
    others = ["exercises/index", "claims/ledger", "reading/index"]
    for index, title in (("exercises/index", "Exercises"), ("reading/index", "Texts")):
        below = _in(index.partition("/")[0], pages)
        _write(sources, index, _list_of(title, {page: titles[page] for page in below}))
    if whole:
        for page, text in reference_pages():
            _write(sources, page, text, ".rst")
        others.append("reference/index")
    committed = [(path.stem, read_notebook(path)) for path in lectures]
    front = front_fragment(committed, pages, decks)
    front += _contents("Lectures", _in("lectures", pages)) + _contents("Beside them", others)
    _write(sources, "index", front + _contents("For lecturers", _in("lecturers", pages)))


def pages_of(root: Path, lectures: Iterable[Path]) -> dict[str, str]:
    """Say which page of the site each file of the project has.

    Parameters
    ----------
    root : pathlib.Path
        The project's folder.
    lectures : iterable of pathlib.Path
        The lectures' notebooks.

    Returns
    -------
    dict of str to str
        ``{"notebooks/05_allreduce.ipynb": "lectures/05_allreduce"}``, in the order of the contents.
    """
    names = [path.stem for path in lectures]
    pages = {f"notebooks/{name}.ipynb": f"lectures/{name}" for name in names}
    for name in names:
        if (root / "exercises" / f"{name}.ipynb").exists():
            pages[f"exercises/{name}.ipynb"] = f"exercises/{name}"
    for path in sorted((root / "notebooks").glob("9*.ipynb")):
        pages[f"notebooks/{path.name}"] = f"claims/{path.stem}"
    texts = sorted(path.stem for path in (root / "docs").glob("*.md"))
    for name in sorted(texts, key=lambda one: _FIRST.index(one) if one in _FIRST else len(_FIRST)):
        pages[f"docs/{name}.md"] = f"reading/{name}"
    guide = sorted(path.stem for path in (root / "docs" / "lecturer").glob("*.md"))
    for name in sorted(guide, key=lambda one: one != "README"):  # what it is comes first
        pages[f"docs/lecturer/{name}.md"] = f"lecturers/{name.lower()}"
    return pages | {f"{name}.md": f"reading/{name.lower()}" for name in _ABOUT}


def _in(place: str, pages: dict[str, str]) -> list[str]:
    return [page for page in pages.values() if page.startswith(f"{place}/")]


def _write(sources: Path, page: str, text: str, suffix: str = SUFFIX) -> None:
    path = sources / f"{page}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _contents(caption: str, pages: list[str]) -> str:
    return f"<!-- contents {caption}: {' '.join(pages)} -->" if pages else ""


def _list_of(title: str, below: dict[str, str]) -> str:
    items = "".join(
        f'<li><a href="{page.rpartition("/")[2]}.html">{words}</a></li>'
        for page, words in below.items()
    )
    return f"<h1>{title}</h1><ul>{items}</ul>" + _contents(title, list(below))


def _title_of(fragment: str) -> str:
    found = re.search("<h1[^>]*>(.*?)</h1>", fragment, re.DOTALL)
    return found[1] if found else ""

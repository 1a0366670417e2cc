"""Lectures whose pictures move without a kernel, for slides and for the site.

A committed notebook holds no script and no state of its pictures. So it is run once more, without
its collapsed checks, in a kernel in which each picture shows itself as the piece of HTML that a
saved page has of it. What comes out is kept until the notebook or the library changes.
"""

import hashlib
import html
import json
import os
import re
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from authoring.build import ENCRYPTED, ROOT
from authoring.outputs import without_colours
from authoring.scripts import AuthoringError

__all__ = ["LIVE", "joined_formulas", "live_notebook", "run_live", "show_live", "sources_digest"]

CELL_TIMEOUT_S = 600
"""An explorer computes every setting that its page will hold: up to 200."""

LIVE = "lm-slot"
"""The class of the element that a picture is drawn in."""

_SET_UP = "from authoring.live import show_live as _show_live; _show_live(); del _show_live"


_CODE_OR_FORMULA = re.compile(r"(```.*?```|`[^`\n]*`)|\$\$.+?\$\$|\$[^$]+?\$", re.DOTALL)


def live_notebook(path: Path, root: Path = ROOT) -> NotebookNode:
    """Return a lecture whose pictures are live, from the cache or by a run.

    Parameters
    ----------
    path : pathlib.Path
        A committed notebook.
    root : pathlib.Path, optional
        The project's folder; ``build/live`` in it is the cache.

    Returns
    -------
    nbformat.NotebookNode
        The notebook without the cells of the collapsed checks.

    Raises
    ------
    AuthoringError
        If a cell fails.
    """
    text = path.read_text(encoding="utf-8")
    digest = hashlib.sha256(text.encode() + sources_digest(root).encode()).hexdigest()[:16]
    kept = root / "build" / "live" / f"{path.stem}-{digest}.ipynb"
    if kept.exists():
        return _read(kept.read_text(encoding="utf-8"))
    notebook = _read(text)
    run_live(notebook, path, root)
    kept.parent.mkdir(parents=True, exist_ok=True)
    for old in kept.parent.glob(f"{path.stem}-*.ipynb"):
        old.unlink()
    unfinished = kept.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(notebook), encoding="utf-8")
    unfinished.replace(kept)
    return notebook


def run_live(notebook: NotebookNode, path: Path, root: Path = ROOT) -> None:
    """Run a notebook in place, without its collapsed checks, with pictures that are live.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        What is run; its outputs are replaced.
    path : pathlib.Path
        Where it lies: its cells run in that folder.
    root : pathlib.Path, optional
        The project's folder.

    Raises
    ------
    AuthoringError
        If a cell fails.
    """
    notebook.cells = [
        cell for cell in notebook.cells if "how-we-know" not in cell.metadata.get("tags", [])
    ]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        coalesce_streams=True,
        record_timing=False,
        store_widget_state=False,
        config=ENCRYPTED,
        resources={"metadata": {"path": str(path.parent)}},
    )
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        "OMP_WAIT_POLICY": "passive",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
    }
    set_up = nbformat.v4.new_code_cell(_SET_UP)  # type: ignore[no-untyped-call]
    notebook.cells.insert(0, set_up)
    with client.setup_kernel(env=environment):
        for index, cell in enumerate(notebook.cells):
            try:
                client.execute_cell(cell, index, store_history=index > 0)
            except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
                problem = f"cell {cell.id!r} failed:\n{error}"
                raise AuthoringError(path, 1, without_colours(problem)) from None
    del notebook.cells[0]


def joined_formulas(text: str) -> str:
    """Put each formula of a markdown cell on one line, as JupyterLab reads it.

    A line of a formula that begins with a plus would begin a list.
    """
    return _CODE_OR_FORMULA.sub(lambda m: m[0] if m[1] else " ".join(m[0].split()), text)


def show_live() -> None:
    """Make pictures show themselves as HTML, and predictions as a question and a folded answer.

    It is called in the kernel of ``run_live``, before the notebook's first cell.
    """
    from course_lib.viz.animation.pages import slot_of
    from course_lib.viz.animation.picture import Picture
    from course_lib.viz.prediction import Comparison, Prediction

    def live(picture: Picture, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(picture), "text/html": slot_of(picture)}

    def ask(asked: Prediction, **_: Any) -> dict[str, str]:
        question, unit = html.escape(asked.question), html.escape(asked.unit)
        text = f"<b>Your prediction:</b> {question} <i>… {unit}</i>"
        return {"text/plain": repr(asked), "text/html": f'<div class="lm-ask">{text}</div>'}

    def answer(comparison: Comparison) -> str:
        _, _, folded = drawn(comparison).partition("<details>")
        return f'<details class="lm-answer">{folded}'

    drawn = Comparison._repr_html_
    ways: tuple[tuple[type, str, Any], ...] = (
        (Picture, "_repr_mimebundle_", live),
        (Prediction, "_repr_mimebundle_", ask),
        (Comparison, "_repr_html_", answer),
    )
    for kind, name, way in ways:
        setattr(kind, name, way)


def sources_digest(root: Path = ROOT) -> str:
    """Return a digest of the library's sources: another one, and pictures may look otherwise."""
    digest = hashlib.sha256()
    for file in sorted((root / "course_lib").rglob("*")):
        if file.suffix == ".py":  # the scripts of the pictures are no part of what is kept
            digest.update(file.relative_to(root).as_posix().encode() + file.read_bytes())
    digest.update((root / "docs" / "claims.json").read_bytes())
    return digest.hexdigest()


def _read(text: str) -> NotebookNode:
    notebook: NotebookNode = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    return notebook

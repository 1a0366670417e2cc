"""The claims ledger as a page: what the course's sources say, and whether it is so."""

import html
import json
from itertools import groupby
from pathlib import Path
from typing import Any

__all__ = ["ledger_fragment"]

_HEAD = "<tr><th scope='col'>claim</th><th scope='col'>verdict, and why</th></tr>"


def ledger_fragment(file: Path, pages: dict[str, str]) -> str:
    """Write the ledger as a fragment.

    Parameters
    ----------
    file : pathlib.Path
        ``docs/claims.json``.
    pages : dict of str to str
        The page of each file of the project, for the links to the cells that test a claim.

    Returns
    -------
    str
        A table for each source.
    """
    rows = json.loads(file.read_text(encoding="utf-8"))
    count = f"{len(rows)} claims, {sum(r['verdict'] == 'right' for r in rows)} of them right"
    parts = [
        "<h1>Claims ledger</h1>",
        "<p>The sources of this course make claims about distributed training. Each is stated here "
        f"in one sentence, with a verdict and its reason: {count}. Where a claim can be run, a "
        "cell of a notebook tests it, and that cell fails if the opposite is planted in it.</p>",
    ]
    for source, group in groupby(rows, key=lambda row: row["source"]):
        found = list(group)
        number = found[0]["id"].partition(".")[0]
        body = "".join(_row(row, pages) for row in found)
        parts += [
            f"<h2>Source {number}</h2><p>{html.escape(source)}</p>",
            f"<div class='wide'><table class='ledger'><thead>{_HEAD}</thead>"
            f"<tbody>{body}</tbody></table></div>",
        ]
    return "\n".join(parts)


def _row(row: dict[str, Any], pages: dict[str, str]) -> str:
    names = ("id", "claim", "verdict", "reason", "citation")
    said = {name: html.escape(str(row.get(name) or "")) for name in names}
    where = "by citation"
    if row.get("cell"):
        notebook = row["notebook"]
        where, page = f"tested in {notebook}", pages.get(f"notebooks/{notebook}.ipynb")
        if page:
            where = f"<a href='../{page}.html#cell-{row['cell']}'>{where}</a>"
    kind = "right" if row["verdict"] == "right" else "other"
    return (
        f"<tr id='claim-{said['id']}'><td><b>{said['id']}</b> {said['claim']}</td>"
        f"<td><b class='verdict {kind}'>{said['verdict']}</b> {said['reason']} "
        f"<small>{where}. {said['citation']}</small></td></tr>"
    )

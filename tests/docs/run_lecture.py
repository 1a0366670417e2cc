"""Run the code of a lecture's script, and before each cell of a claim a version that must fail.

``python run_lecture.py SCRIPT CLAIMS`` prints, for every claim of the lecture, how the cell with
the planted opposite ended: ``0.2 AssertionError``. What comes after the last claim is left out. A
process of its own, so that the functions of the script are those of ``__main__``, as in a notebook.
"""

import contextlib
import io
import json
import sys
from pathlib import Path

import matplotlib as mpl

from authoring.scripts import read_script


def main() -> None:
    script, claims_path = Path(sys.argv[1]), Path(sys.argv[2])
    claims = {
        claim["cell"]: claim
        for claim in json.loads(claims_path.read_text(encoding="utf-8"))
        if claim["notebook"] == script.stem
    }
    mpl.use("Agg")
    lecture = sys.modules["__main__"].__dict__
    for cell in read_script(script):
        if cell.kind != "code" or "raises-exception" in cell.tags:
            continue
        if cell.id in claims:
            claim = claims.pop(cell.id)
            planted = claim["planted"]
            opposite = cell.source.replace(planted["replace"], planted["by"])
            print(claim["id"], ended(opposite, dict(lecture)), flush=True)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(cell.source, cell.id, "exec"), lecture)
        if not claims:
            break


def ended(source: str, names: dict[str, object]) -> str:
    """Run a cell on a copy of the names, and say how it ended."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, "planted", "exec"), names)
    except Exception as error:
        return type(error).__name__
    return "nothing"


if __name__ == "__main__":
    main()

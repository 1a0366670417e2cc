"""Make submissions: the exercise's own notebook, with answers written into it."""

import ast
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from authoring.build import ROOT
from course_lib.grading.examiner import Order

SECRET = 11
LIMIT_S = 20.0


def order(file: Path | str = "", **changed: Any) -> Order:
    return Order(**{**asdict(Order(str(file), "", SECRET, LIMIT_S, 2**31)), **changed})


def solution(task: str, set_name: str = "00_start_here") -> str:
    """Return the text of a solution."""
    content = json.loads((ROOT / "solutions" / f"{set_name}.ipynb").read_text(encoding="utf-8"))
    texts = ["".join(cell["source"]) for cell in content["cells"]]
    return next(text for text in texts if text.startswith(f"def {task}("))


def hand_in(
    file: Path, answers: Mapping[str, str], set_name: str = "00_start_here",
    more: str = "", outputs: str = "",
) -> Path:  # fmt: skip
    """Write an exercise with answers in the place of stubs, one more cell, and outputs."""
    path = ROOT / "exercises" / f"{set_name}.ipynb"
    content = json.loads(path.read_text(encoding="utf-8"))
    for cell in content["cells"]:
        text = "".join(cell["source"])
        if "exercise" in cell["metadata"].get("tags", []):
            (name,) = (n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef))
            cell["source"] = answers.get(name, text).splitlines(keepends=True)
        elif cell["cell_type"] == "code" and outputs:
            cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": outputs}]
    if more:
        extra = {"cell_type": "code", "id": "more", "metadata": {}, "outputs": [],
                 "execution_count": None, "source": more}  # fmt: skip
        content["cells"].insert(1, extra)
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def examined(asked: Order, without_reading: bool = False) -> dict[str, tuple[str, str, str]]:
    """Have one submission examined; return status, hint and report by task.

    Without reading, what leads outside is not seen in the text: the process itself must refuse it.
    """
    program = "import course_lib.grading.examiner as examiner\n"
    if without_reading:
        program += "examiner.foreign_means = lambda *_: ''\n"
    process = subprocess.Popen(
        [sys.executable, "-c", program + "examiner.main()"], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asdict(asked)) + "\n")
        process.stdin.flush()
        rows = [json.loads(line) for line in process.stdout]
    assert rows[-1] == {"end": "all"}
    return {
        row["task"]: (row["status"], row["hint"], row["report"]) for row in rows if "task" in row
    }

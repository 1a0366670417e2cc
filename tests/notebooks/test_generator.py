"""The generator: what it makes of a script, and that it refuses every kind of bad one."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from authoring.build import ROOT, Target, build, check, targets
from authoring.outputs import problems_of
from authoring.scripts import COLLAPSED, AuthoringError, read_script
from authoring.solutions import STUB

HEAD = "# %% [markdown]\n# # A title\n\n"
GOOD = '''\
# %% [markdown] name="head" slideshow={"slide_type": "slide"}
# # A title
#
# Text with $\\theta$.

# %%
import numpy as np

# %% tags=["exercise"] name="double"
def double(x):
    """Return twice x."""
    # BEGIN SOLUTION
    twice = 2 * x  # a reason
    return twice
    # END SOLUTION

# %% tags=["check"]
print(double(3))

# %% [markdown] tags=["solution"]
# Only the solution explains why two is the right number here.
'''


def project(tmp_path: Path, text: str, folder: str = "exercises") -> Path:
    script = tmp_path / "authoring" / folder / "00_a_set.py"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(text, encoding="utf-8")
    return tmp_path


def made(tmp_path: Path, text: str, folder: str = "exercises") -> dict[str, Target]:
    return {t.path.parent.name: t for t in targets(project(tmp_path, text, folder))}


def sources(target: Target) -> list[str]:
    return [cell.source for cell in target.cells]


def test_exercise_has_a_stub_with_its_docstring_and_no_solution_cell(tmp_path: Path) -> None:
    exercise = made(tmp_path, GOOD)["exercises"]
    stub = sources(exercise)[2]
    assert '"""Return twice x."""' in stub
    assert stub.endswith(STUB)
    assert "2 * x" not in "".join(sources(exercise))
    assert len(exercise.cells) == 4


def test_solution_keeps_code_and_comments_and_loses_the_markers(tmp_path: Path) -> None:
    solution = made(tmp_path, GOOD)["solutions"]
    assert "    twice = 2 * x  # a reason\n    return twice" in sources(solution)[2]
    assert "SOLUTION" not in "".join(sources(solution))
    assert len(solution.cells) == 5


def test_exercise_and_solution_share_the_ids_of_their_cells(tmp_path: Path) -> None:
    both = made(tmp_path, GOOD)
    exercise = [cell.id for cell in both["exercises"].cells]
    assert exercise == [cell.id for cell in both["solutions"].cells][:4]
    assert exercise[0] == "head"
    assert exercise[2] == "double"


def test_a_new_cell_changes_no_other_id(tmp_path: Path) -> None:
    before = [cell.id for cell in made(tmp_path, GOOD)["solutions"].cells]
    longer = GOOD.replace("# %%\nimport", "# %%\n1 + 1\n\n# %%\nimport")
    after = [cell.id for cell in made(tmp_path, longer)["solutions"].cells]
    assert [name for name in after if name in before] == before
    assert len(after) == len(before) + 1


def test_cells_of_the_same_text_get_different_ids(tmp_path: Path) -> None:
    text = HEAD + "# %%\n1 + 1\n\n" * 3
    ids = [cell.id for cell in made(tmp_path, text, "lectures")["notebooks"].cells]
    assert len(set(ids)) == len(ids) == 4


def test_a_library_function_is_inserted_from_its_own_source(tmp_path: Path) -> None:
    reference = "# SOLUTION FROM course_lib.collectives.allreduce_ring:allreduce_ring"
    text = GOOD.replace("    twice = 2 * x  # a reason\n    return twice", f"    {reference}")
    solution = sources(made(tmp_path, text)["solutions"])[2]
    library = (ROOT / "course_lib/collectives/allreduce_ring.py").read_text(encoding="utf-8")
    body = solution.split('"""Return twice x."""\n')[1]
    assert body
    assert body in library
    assert "# reduce-scatter" in body
    ast.parse(solution)


def test_jupytext_reads_the_same_cells() -> None:
    jupytext = pytest.importorskip("jupytext")
    folders = (ROOT / "authoring" / name for name in ("lectures", "exercises"))
    scripts = sorted(script for folder in folders for script in folder.glob("*.py"))
    assert len(scripts) > 30
    for script in scripts:
        theirs = jupytext.read(script, fmt="py:percent").cells
        ours = read_script(script)
        assert [cell.source for cell in theirs] == [cell.source for cell in ours], script
        assert [cell.cell_type for cell in theirs] == [cell.kind for cell in ours], script
        assert [cell.metadata.get("tags", []) for cell in theirs] == [cell.tags for cell in ours]


BAD_SCRIPTS = {
    "nothing": ("", 1, "at least one cell"),
    "text before the first cell": ("import os\n" + GOOD, 1, "text before"),
    "bad header": (GOOD + "# %% [raw]\n# x\n", 22, "expected one of"),
    "glued header": (GOOD + "# %%x\n1\n", 22, "a cell starts with"),
    "unknown key": (GOOD.replace("# %%\n", "# %% color=1\n"), 6, "expected one of"),
    "key without JSON": (GOOD.replace("# %%\n", "# %% tags=[slow]\n"), 6, "must be JSON"),
    "unknown tag": (GOOD.replace('"check"', '"chek"'), 17, "unknown tag 'chek'"),
    "tags no list": (GOOD.replace('["check"]', '"check"'), 17, "list of strings"),
    "bad slide type": (GOOD.replace('"slide"}', '"page"}'), 1, "slideshow must be"),
    "bad name": (GOOD.replace('"double"', '"Double it"'), 9, "name must be"),
    "same name twice": (GOOD.replace('"double"', '"head"'), 9, "second cell is named"),
    "empty cell": (GOOD + "\n# %%\n\n# %%\n1\n", 23, "empty"),
    "bare markdown line": (GOOD.replace("# Text", "Text"), 4, "starts with"),
    "no region": (HEAD + "# %%\n1 + 1\n", 1, "needs a region"),
    "no end": (GOOD.replace("    # END SOLUTION\n", ""), 12, "without # END SOLUTION"),
    "no begin": (GOOD.replace("    # BEGIN SOLUTION\n", ""), 14, "without # BEGIN SOLUTION"),
    "nested": (
        GOOD.replace("    return twice", "    # BEGIN SOLUTION\n    return twice"), 14, "nest",
    ),
    "misspelt": (GOOD.replace("BEGIN SOLUTION", "BEGIN SOLUTON"), 12, "looks like a marker"),
    "small letters": (GOOD.replace("END SOLUTION", "end solution"), 15, "looks like a marker"),
    "three signs": (GOOD.replace("# BEGIN", "### BEGIN"), 12, "looks like a marker"),
    "underscore": (GOOD.replace("BEGIN SOL", "BEGIN_SOL"), 12, "looks like a marker"),
    "not alone": (GOOD.replace("  # a reason", "  # END SOLUTION"), 13, "looks like a marker"),
    "colon": (GOOD.replace("END SOLUTION", "END SOLUTION:"), 15, "looks like a marker"),
    "in markdown": (GOOD.replace("# Text", "# # BEGIN SOLUTION\n# T"), 4, "markdown cell"),
    "from outside a region": (
        GOOD.replace("print(", "# SOLUTION FROM a.b:c\nprint("), 18, "must stand between",
    ),
    "from misspelt": (
        GOOD.replace("    return twice", "    # SOLUTION FORM a.b:c"), 14, "looks like a marker",
    ),
    "from nowhere": (
        GOOD.replace("    return twice", "    # SOLUTION FROM course_lib.no:x"), 14, "no source",
    ),
    "from no function": (
        GOOD.replace("    return twice", "    # SOLUTION FROM course_lib.comm.job:Job"),
        14, "expected a function",
    ),
    "region outside a function": (
        GOOD.replace("def double(x):\n", "").replace("    ", ""), 11, "inside a function",
    ),
    "stub that does not parse": (GOOD.replace("double(x):", "double(x:"), 10, "does not parse"),
    "no docstring": (GOOD.replace('    """Return twice x."""\n', ""), 10, "docstring"),
    "region without the tag": (GOOD.replace('tags=["exercise"] ', ""), 10, "must have the tag"),
    "tag without a region": (GOOD.replace('"check"', '"exercise"'), 18, "must not have the tag"),
    "solution shown elsewhere": (
        GOOD.replace("print(double(3))", "def show(x):\n    twice = 2 * x\n    return twice"),
        12, "can still be read",
    ),
    "solution cell shown elsewhere": (
        GOOD.replace("# Te", f"# {GOOD.splitlines()[-1][2:]}\n# Te"),
        22, "can still be read",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_SCRIPTS)
def test_a_bad_exercise_script_is_refused_with_its_line(name: str, tmp_path: Path) -> None:
    text, line, message = BAD_SCRIPTS[name]
    with pytest.raises(AuthoringError) as caught:
        made(tmp_path, text)
    assert message in str(caught.value)
    assert f"00_a_set.py:{line}: " in str(caught.value)


@pytest.mark.parametrize("tag", COLLAPSED)
def test_a_collapsed_cell_is_hidden_and_its_first_words_say_what_it_is(
    tag: str, tmp_path: Path
) -> None:
    path = tmp_path / "00_a_lecture.py"
    path.write_text(f'# %% tags=["{tag}"]\n{COLLAPSED[tag]}: of what\nassert True\n')
    (cell,) = read_script(path)
    assert cell.metadata["jupyter"] == {"source_hidden": True}
    path.write_text(f'# %% tags=["{tag}"]\nassert True\n')
    with pytest.raises(AuthoringError, match=f'tagged {tag} begins "{COLLAPSED[tag]}"'):
        read_script(path)


def test_a_lecture_may_not_hold_a_region(tmp_path: Path) -> None:
    with pytest.raises(AuthoringError, match=r"00_a_set.py:12: a lecture has no solution regions"):
        made(tmp_path, GOOD, "lectures")


def shown(**data: str) -> NotebookNode:
    return new_output("display_data", {name.replace("_", "/"): text for name, text in data.items()})


BAD_OUTPUTS = {
    "stderr": (new_output("stream", name="stderr", text="x"), "writes to stderr"),
    "an error": (new_output("error", ename="KeyError", evalue="1", traceback=[]), "KeyError"),
    "a drawing as SVG": (shown(text_plain="x", **{"image/svg+xml": "<svg/>"}), "svg"),
    "a widget": (shown(**{"application/vnd.jupyter.widget-view+json": "{}"}), "widget-view"),
    "a script": (shown(text_plain="x", text_html="<script>1</script>"), "<script>"),
    "a handler": (shown(text_plain="x", text_html="<b onclick=1>x</b>"), "onclick"),
    "only HTML": (shown(text_html="<b>x</b>"), "needs text/plain"),
    "an address": (shown(text_plain="<object object at 0x7f2fb82ff0>"), "memory address"),
    "a path": (new_output("stream", name="stdout", text="in /home/me/x"), "names a folder"),
    "too much": (new_output("stream", name="stdout", text="x" * 500_000), "more than 400,000"),
}


@pytest.mark.parametrize("name", BAD_OUTPUTS)
def test_an_output_that_may_not_be_committed_is_found(name: str) -> None:
    output, message = BAD_OUTPUTS[name]
    cell = new_code_cell("1", execution_count=1, outputs=[output])
    problems = problems_of(new_notebook(cells=[cell]), runs=True, private=["/home/me"])
    assert len(problems) == 1
    assert message in problems[0][1]


@pytest.mark.parametrize("counts", [[1, 3], [2, 1], [1, None]])
def test_counts_must_be_those_of_one_clean_run(counts: list[int | None]) -> None:
    cells = [new_code_cell("1", execution_count=count) for count in counts]
    assert "execution count" in problems_of(new_notebook(cells=cells), runs=True)[0][1]


def test_an_exercise_with_an_output_or_a_count_is_found() -> None:
    output = new_output("stream", name="stdout", text="x")
    cell = new_code_cell("1", execution_count=1, outputs=[output])
    problems = problems_of(new_notebook(cells=[cell]), runs=False)
    assert ["execution count" in problems[0][1], "without outputs" in problems[1][1]] == [True] * 2


@pytest.mark.slow
def test_a_failing_cell_is_named_with_its_line_and_nothing_is_written(tmp_path: Path) -> None:
    target = made(tmp_path, f"{HEAD}# %%\n1 / 0\n", "lectures")["notebooks"]
    with pytest.raises(AuthoringError, match=r"00_a_set.py:5: (?s:.*)ZeroDivisionError"):
        build(target, root=tmp_path)
    assert not target.path.exists()


@pytest.mark.slow
def test_a_built_notebook_is_clean_and_up_to_date_and_its_kernel_silent(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = (
        "# %%\nimport ipywidgets\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);\n\n"
        "# %%\nipywidgets.IntSlider()\n\n"
        '# %% tags=["raises-exception"]\n{}["key"]\n'
    )
    target = made(tmp_path, HEAD + code, "lectures")["notebooks"]
    build(target, root=tmp_path)
    told = capfd.readouterr()
    # ZeroMQ itself may fail while a kernel ends, once in some dozen runs of all tests.
    assert (told.out, re.sub(r"^Bad file descriptor \(src/.*\n", "", told.err)) == ("", "")
    text = target.path.read_text(encoding="utf-8")
    for word in ("widget-view", "widget-state", "\\u001b", "iopub", "svg"):
        assert word not in text
    assert "image/png" in text
    assert check(target) == []
    assert [c.execution_count for c in nbformat.read(target.path, 4).cells[1:]] == [1, 2, 3]


def test_check_tells_every_kind_of_difference(tmp_path: Path) -> None:
    target = made(tmp_path, GOOD)["exercises"]
    assert "missing" in check(target)[0]
    build(target, root=tmp_path)
    assert check(target) == []
    fresh = json.loads(target.path.read_text(encoding="utf-8"))

    def difference(change: str) -> list[str]:
        content = json.loads(json.dumps(fresh))
        cell = content["cells"][2]
        if change == "metadata of the notebook":
            content["metadata"]["kernelspec"]["name"] = "mine"
        elif change == "cells":
            content["cells"].pop()
        else:
            cell[change] = {"id": "other", "source": "1", "metadata": {"tags": []}}[change]
        target.path.write_text(json.dumps(content), encoding="utf-8")
        return check(target)

    for change in ("metadata of the notebook", "cells", "id", "source", "metadata"):
        assert len(difference(change)) == 1, change
        assert change.split()[0] in difference(change)[0]


def test_the_command_names_the_bad_script_and_fails() -> None:
    command = [sys.executable, "-m", "authoring", "check", "99"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "no script begins with" in ended.stderr

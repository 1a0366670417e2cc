"""The claims ledger: every claim of the sources is tested by a cell that asserts, or is cited."""

import ast
import json
import re
from typing import Any

import nbformat
import pytest

from tests.nbval_runs import LEDGER
from tests.targets import LECTURES

CLAIMS: list[dict[str, Any]] = json.loads(LEDGER.read_text(encoding="utf-8"))
FIELDS = {"id", "source", "claim", "verdict", "reason", "notebook", "citation"}
EXPERIMENT = {"cell", "planted"}
KINDS = {"citation", "fit"}  # where a citation is all there is, and where a constant is fitted
VERDICTS = {"right", "imprecise", "wrong", "answered"}  # the last one of what a source left open
SOURCES = {  # by a word that the lectures call them
    "0": "an overview",
    "1": "a summary",
    "2": "a blog post",
    "3": "the transcript",
    "4": "slides",
}
REQUIRED = {
    *(f"0.{number}" for number in range(1, 15)),
    *(f"1.{number}" for number in range(1, 15)),
    *(f"2.{number}" for number in (*range(1, 13), *range(16, 21))),
    *(f"3.{number}" for number in range(1, 30)),
    *(f"4.{number}" for number in range(1, 17)),
}
SCRIPTS = {target.script.stem: target for target in LECTURES}

TESTED = [claim for claim in CLAIMS if claim.get("kind") != "citation"]

every_claim = pytest.mark.parametrize("claim", CLAIMS, ids=[claim["id"] for claim in CLAIMS])
every_tested_claim = pytest.mark.parametrize("claim", TESTED, ids=[claim["id"] for claim in TESTED])


def cell_of(claim: dict[str, Any]) -> nbformat.NotebookNode:
    notebook = nbformat.read(SCRIPTS[claim["notebook"]].path, as_version=4)
    found = [cell for cell in notebook.cells if cell.id == claim["cell"]]
    assert len(found) == 1, f"{claim['id']}: no cell {claim['cell']!r} in {claim['notebook']}"
    assert found[0].cell_type == "code"
    return found[0]


def test_every_required_claim_is_there_once() -> None:
    ids = [claim["id"] for claim in CLAIMS]
    assert len(ids) == len(set(ids))
    assert set(ids) >= REQUIRED


@every_claim
def test_entry_is_complete(claim: dict[str, Any]) -> None:
    kind = claim.get("kind", "experiment")
    assert kind in KINDS | {"experiment"}
    assert set(claim) - {"kind"} == FIELDS | (set() if kind == "citation" else EXPERIMENT)
    assert all(claim.values())
    assert claim["verdict"] in VERDICTS
    assert SOURCES[claim["id"].split(".")[0]] in claim["source"]
    assert re.search(r"\b(19|20)\d\d\b|not published", claim["source"]), "who can find that?"
    assert re.search(r"\b(19|20)\d\d\b|docs/|\.lua", claim["citation"]), "when, or which file?"


@every_tested_claim
def test_cell_asserts_something_that_it_computed(claim: dict[str, Any]) -> None:
    asserts = [
        node for node in ast.walk(ast.parse(cell_of(claim).source)) if isinstance(node, ast.Assert)
    ]
    assert asserts
    assert all(any(isinstance(n, ast.Name) for n in ast.walk(node.test)) for node in asserts)


@every_claim
def test_the_lecture_prints_the_verdict(claim: dict[str, Any]) -> None:
    prose = "\n".join(cell.source for cell in SCRIPTS[claim["notebook"]].cells)
    assert re.search(rf"\*\*Verdict on {re.escape(claim['id'])}: {claim['verdict']}\b", prose)


@every_tested_claim
def test_the_planted_opposite_changes_one_place_of_a_cell_that_runs(claim: dict[str, Any]) -> None:
    """That it fails is seen where the lecture is run: ``tests/notebooks/test_nbval.py``."""
    planted = claim["planted"]
    source = cell_of(claim).source
    assert source.count(planted["replace"]) == 1
    assert planted["by"] != planted["replace"]
    if claim["notebook"].startswith("9"):
        asserts = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Assert)]
        line = source[: source.index(planted["replace"])].count("\n") + 1
        inside = [node.lineno <= line <= (node.end_lineno or 0) for node in asserts]
        assert not any(inside), "the fault must be in the experiment, not in its assertion"
    assert "raises-exception" not in cell_of(claim).metadata.get("tags", [])

"""The claims ledger: every claim of the sources is settled by a cell that could have failed."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from authoring.build import ROOT, targets

RUNNER = Path(__file__).with_name("run_lecture.py")
LEDGER = ROOT / "docs" / "claims.json"
CLAIMS: list[dict[str, Any]] = json.loads(LEDGER.read_text(encoding="utf-8"))
FIELDS = {"id", "source", "claim", "verdict", "reason", "notebook", "cell", "citation", "planted"}
VERDICTS = {"right", "imprecise", "wrong"}
SOURCES = {
    "0": "000_92fe67db3f026aa0.txt",
    "1": "001_7dae071e58feb68d.txt",
    "2": "002_e7726b0c74d07edd.txt",
    "3": "003_74ad27d78c18d030.txt",
    "4": "004_5befdd5e5ac5f9be.txt",
}
REQUIRED = {
    *(f"0.{number}" for number in range(1, 9)),
    *(f"1.{number}" for number in range(1, 13)),
    *(f"2.{number}" for number in (*range(1, 13), *range(16, 21))),
    *(f"3.{number}" for number in range(1, 30)),
    *(f"4.{number}" for number in (*range(1, 7), 12)),
}
SCRIPTS = {t.script.stem: t for t in targets(ROOT) if t.path.parent.name == "notebooks"}

every_claim = pytest.mark.parametrize("claim", CLAIMS, ids=[claim["id"] for claim in CLAIMS])


def cell_of(claim: dict[str, Any]) -> str:
    notebook = nbformat.read(SCRIPTS[claim["notebook"]].path, as_version=4)
    found = [cell for cell in notebook.cells if cell.id == claim["cell"]]
    assert len(found) == 1, f"{claim['id']}: no cell {claim['cell']!r} in {claim['notebook']}"
    assert found[0].cell_type == "code"
    return str(found[0].source)


def test_every_required_claim_is_there_once() -> None:
    ids = [claim["id"] for claim in CLAIMS]
    assert len(ids) == len(set(ids))
    assert set(ids) >= REQUIRED


@every_claim
def test_entry_is_complete(claim: dict[str, Any]) -> None:
    assert set(claim) == FIELDS
    assert all(claim[field] for field in FIELDS)
    assert claim["verdict"] in VERDICTS
    assert claim["source"] == SOURCES[claim["id"].split(".")[0]]
    assert re.search(r"\b(19|20)\d\d\b|docs/|\.lua", claim["citation"]), "when, or which file?"


@every_claim
def test_cell_asserts_something_that_it_computed(claim: dict[str, Any]) -> None:
    asserts = [node for node in ast.walk(ast.parse(cell_of(claim))) if isinstance(node, ast.Assert)]
    assert asserts
    assert all(any(isinstance(n, ast.Name) for n in ast.walk(node.test)) for node in asserts)


@every_claim
def test_the_lecture_prints_the_verdict(claim: dict[str, Any]) -> None:
    prose = "\n".join(cell.source for cell in SCRIPTS[claim["notebook"]].cells)
    assert re.search(rf"\*\*Verdict on {re.escape(claim['id'])}: {claim['verdict']}\b", prose)


@pytest.mark.slow
@pytest.mark.parametrize("notebook", sorted({claim["notebook"] for claim in CLAIMS}))
def test_every_assertion_fails_when_the_opposite_is_planted(notebook: str) -> None:
    claims = [claim for claim in CLAIMS if claim["notebook"] == notebook]
    for claim in claims:
        planted = claim["planted"]
        assert cell_of(claim).count(planted["replace"]) == 1, claim["id"]
        assert planted["by"] != planted["replace"]
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    ended = subprocess.run(
        [sys.executable, str(RUNNER), str(SCRIPTS[notebook].script), str(LEDGER)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    outcomes = dict(line.split() for line in ended.stdout.splitlines())
    assert outcomes == {claim["id"]: "AssertionError" for claim in claims}, ended.stderr

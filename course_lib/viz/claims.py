"""The callout of a claim: what a source says, whether it is right, why, and how we know."""

import json
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Claim", "claim"]

LEDGER = Path(__file__).parents[2] / "docs" / "claims.json"


class Claim:
    """A row of the claims ledger; a notebook shows it as a callout.

    Parameters
    ----------
    row : dict
        As it stands in the ledger.
    """

    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row

    @property
    def how_we_know(self) -> str:
        """Where it is tested: the notebook, in the appendix its section; or that it is cited."""
        if self.row.get("kind") == "citation":
            return "by citation"
        notebook = self.row["notebook"]
        section = f", section {self.row['id']}" if notebook.startswith("9") else ""
        return f"tested in [{notebook}]({notebook}.ipynb){section}"

    def __repr__(self) -> str:
        """Say it in four lines."""
        row = self.row
        return (
            f"Claim {row['id']}: {row['claim']}\n  verdict: {row['verdict']}\n"
            f"  reason: {row['reason']}\n  how we know: {self.how_we_know}"
        )

    def _repr_markdown_(self) -> str:
        row = self.row
        return (
            f"> **Claim {row['id']}.** {row['claim']} *({row['source']})*\n>\n"
            f"> **Verdict: {row['verdict']}.** {row['reason']}\n>\n"
            f"> *How we know:* {self.how_we_know}. {row['citation']}"
        )


def claim(number: str) -> Claim:
    """Show a row of the claims ledger, ``docs/claims.json``.

    Parameters
    ----------
    number : str
        Its number: ``"3.24"``.

    Returns
    -------
    Claim
        A callout with the claim, the verdict, the reason, and how we know.

    Raises
    ------
    ValueError
        If the ledger has no such number.
    FileNotFoundError
        If there is no ledger: it lies beside the package in the course's folder.

    Examples
    --------
    >>> print(repr(claim("0.1"))[:45])
    Claim 0.1: MapReduce trains in five steps: sp
    """
    rows = _ledger()
    if number not in rows:
        raise ValueError(f"number must be one of the ledger's {len(rows)}, got {number!r}")
    return Claim(rows[number])


@cache
def _ledger() -> dict[str, dict[str, Any]]:
    if not LEDGER.exists():
        raise FileNotFoundError(
            f"no claims ledger at {LEDGER}: use the package from the course's own folder"
        )
    return {row["id"]: row for row in json.loads(LEDGER.read_text(encoding="utf-8"))}

"""A plugin of nbval's pytest: before the cell of a claim, run its opposite, which must fail.

The opposite runs in the notebook's own kernel, on a copy of the names that the cell itself finds
next. So one execution of a lecture settles what it prints and whether its claims could have failed.
"""

import json
from pathlib import Path
from queue import Empty
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the ledger of claims."""
    parser.addoption("--claims", type=Path, help="the ledger of claims, as docs/claims.json")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put each opposite before the cell that it is the opposite of."""
    ledger = json.loads(config.getoption("claims").read_text(encoding="utf-8"))
    claims = {(claim["notebook"], claim["cell"]): claim for claim in ledger if "cell" in claim}
    for cell in items[:]:
        claim = claims.get((cell.path.stem, cell.cell.id))
        if claim is not None:
            opposite = Opposite.from_parent(
                cell.parent, name=f"opposite of {claim['id']}", planted=claim["planted"], cell=cell
            )
            items.insert(items.index(cell), opposite)


class Opposite(pytest.Item):
    """A cell of a claim, changed as the ledger says; it passes if an assertion of the cell fails.

    Parameters
    ----------
    planted : dict of str
        What to ``replace`` in the cell, and ``by`` what.
    cell : pytest.Item
        The cell as it is.
    **options : Any
        For ``pytest.Item``.
    """

    def __init__(self, *, planted: dict[str, str], cell: Any, **options: Any) -> None:
        super().__init__(**options)
        self.source = cell.cell.source.replace(planted["replace"], planted["by"])

    def runtest(self) -> None:
        """Run it in the kernel, and see how it ended."""
        module = "__import__('tests.opposite', fromlist=['ended'])"
        told = self._value_in_kernel(f"{module}.ended({self.source!r}, globals())")
        assert told == repr("AssertionError"), f"{self.name} ended with {told}:\n{self.source}"

    def _value_in_kernel(self, expression: str) -> str:
        """Return the value of an expression, which puts neither name nor output in the notebook."""
        kernel = self.parent.kernel
        sent = kernel.kc.execute(
            "", silent=True, store_history=False, user_expressions={"value": expression}
        )
        try:
            while True:
                reply = kernel.get_message("shell", self.config.option.nbval_cell_timeout)
                if reply["parent_header"].get("msg_id") == sent:
                    break
        except Empty:
            kernel.stop()
            raise AssertionError(f"{self.name} takes too long:\n{self.source}") from None
        value = reply["content"]["user_expressions"]["value"]
        return str(value["data"]["text/plain"] if value["status"] == "ok" else value)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Say what is reported."""
        return self.path, None, self.name

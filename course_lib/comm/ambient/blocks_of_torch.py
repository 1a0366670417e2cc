"""What torch keeps in variables of its modules while a block lasts; no function tells it."""

from typing import Any

from course_lib.comm.ambient.entries import Entry

__all__ = ["Blocks"]

_CACHES, _MUTATES = "_cache_enabled", "_allow_mutation_on_saved_tensors_enabled"


class Blocks(Entry):
    """``parametrize.cached`` and ``allow_mutation_on_saved_tensors``.

    What a parametrization has cached goes with its block: the block that is left last would forget
    it, and until then another rank would compute with weights that it has changed since.
    """

    def __init__(self, torch: Any) -> None:
        self._parametrize = vars(torch.nn.utils.parametrize)
        self._graph = vars(torch.autograd.graph)
        self._graph.setdefault(_MUTATES, False)  # of a torch that calls it something else
        super().__init__(
            "blocks of torch's modules", "rank",
            f"not (parametrize[{_CACHES!r}] or graph[{_MUTATES!r}])",
            {"parametrize": self._parametrize, "graph": self._graph},
        )  # fmt: skip

    def put_aside(self) -> Any:
        """Have no such block; return what there was, and what a parametrization has cached."""
        variables = self._parametrize
        own = variables[_CACHES], variables["_cache"], self._graph[_MUTATES]
        self.put_back((0, {}, False))
        return own

    def put_back(self, own: Any) -> None:
        """Be in those blocks again."""
        variables = self._parametrize
        variables[_CACHES], variables["_cache"], self._graph[_MUTATES] = own

"""What a program has sent, against what a placement asks for: what is missing, what is needless."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake
from course_lib.planning.numbered import Inputs, broken_cutters, cut_edges, random_nodes

__all__ = ["TASK"]

Sent = tuple[int, int, int]
_Found = dict[str, list[Sent]]

KEYS = ("missing", "needless")


class MessageFaults(LocalTask):
    """Find the bug: a cut edge without its message, or a message that nobody needs."""

    name = "message_faults"
    title = "Find the messages that are missing, and those that are needless."
    takes = ("inputs", "ranks", "sent")
    forbidden = (*LocalTask.forbidden, "course_lib.lectures", "course_lib.planning")
    shows_arguments = True
    enough = "comparing two lists is enough"
    empty_results = True

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with a small graph and one fault at a time; then programs that are wrong."""
        for label, inputs, ranks, sent in _FIXED:
            yield _case(label, inputs, ranks, sent)
        rng = np.random.default_rng([secret, 133])
        for number in range(4):
            inputs, _ = random_nodes(int(rng.integers(1 << 30)), 7)
            ranks = tuple(int(rank) for rank in rng.integers(0, 3, 7))
            yield _case("a random graph", inputs, ranks, _damaged(rng, inputs, ranks, number))

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over lists of their own."""
        inputs, ranks, sent = case.settings["graph"]
        return inputs, ranks, list(sent)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Compare with what is due."""
        inputs, ranks, sent = arguments[0]
        return [_faults(_due(inputs, ranks), sent)]

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        inputs, ranks, sent = arguments[0]
        due, right = _due(inputs, ranks), _faults(_due(inputs, ranks), sent)
        cutters = broken_cutters(inputs, ranks)
        for hint_id, text, found in (
            ("once-a-worker", "one message for each worker that needs a result, however many nodes "
             "use it there", _faults(cutters["by edge"], sent, each=True)),
            ("each-worker", "a result that two other workers need must be sent to both",
             _faults(cutters["by node"], sent)),
            ("who-needs-it", "only workers with a node that uses it need a result",
             _faults(cutters["to all"], sent)),
            ("only-cut-edges", "what is used on the same worker needs no message",
             _faults(sorted({*due, *_staying(inputs, ranks)}), sent)),
            ("second-copy", "the second copy of a message is needless as well",
             {**right, "needless": [m for m in sent if m not in due]}),
            ("second-copy", "the first copy of a message is needed, only the second is not",
             {**right, "needless": [m for m in sent if m not in due or sent.count(m) > 1]}),
            ("swapped", "missing is what is due and was not sent; needless the other way round",
             {"missing": right["needless"], "needless": right["missing"]}),
            ("what-is-used", "a message carries the node that is used, not the one that uses it",
             _faults(_by_user(inputs, ranks), sent)),
            ("each-copy", "each copy that is one too many is needless, also a third one",
             {**right, "needless": list(dict.fromkeys(right["needless"]))}),
            ("the-way", "a message goes from the worker of the node to the worker of its user",
             _faults([(node, dst, src) for node, src, dst in due], sent)),
            ("from-where", "a copy from a worker that did not compute the node is not the message "
             "that is due", _by_end(due, sent)),
            ("order", "missing: by node, then by worker; needless: in the order of sent",
             {"missing": right["missing"][::-1], "needless": right["needless"][::-1]}),
            ("order", "needless ones stand in the order of sent, not sorted",
             {**right, "needless": sorted(right["needless"])}),
            ("both-lists", "two lists: look for needless messages as well",
             {**right, "needless": []}),
            ("both-lists", "two lists: look for missing messages as well",
             {**right, "missing": []}),
            ("whole-messages", "messages are asked for: node, from, to",
             {key: [m[0] for m in found] for key, found in right.items()}),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [found])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice something other than the dict of two lists."""
        if not isinstance(got[0], dict) or set(got[0]) != set(KEYS):
            return Hint("a-dict", 'return a dict with the keys "missing" and "needless"')
        if not all(isinstance(got[0][key], list) for key in KEYS):
            return Hint("lists", "a list of messages stands for each key, perhaps an empty one")
        right = self.expected(case, arguments)[0]
        for key in KEYS:
            same = sorted(map(str, got[0][key])) == sorted(map(str, right[key]))
            if same and list(map(str, got[0][key])) != list(map(str, right[key])):
                return Hint("order", f"{key}: in the order that the task asks for")
        return None


def _due(inputs: Inputs, ranks: Sequence[int]) -> list[Sent]:
    """List what a placement asks for, by node and by worker."""
    return sorted(set(cut_edges(inputs, ranks)))


def _staying(inputs: Inputs, ranks: Sequence[int]) -> list[Sent]:
    return [(u, ranks[u], ranks[k]) for k, before in enumerate(inputs) for u in before
            if ranks[u] == ranks[k]]  # fmt: skip


def _by_user(inputs: Inputs, ranks: Sequence[int]) -> list[Sent]:
    """List what crosses, with the node that uses it."""
    return [(k, ranks[u], ranks[k]) for k, before in enumerate(inputs) for u in before
            if ranks[u] != ranks[k]]  # fmt: skip


def _faults(due: Sequence[Sent], sent: Sequence[Sent], *, each: bool = False) -> _Found:
    """Compare; with ``each`` as many copies are due as ``due`` has."""
    left = list(due) if each else sorted(set(due))
    needless = []
    for message in sent:
        if message in left:
            left.remove(message)
        else:
            needless.append(message)
    return {"missing": sorted(left), "needless": needless}


def _by_end(due: Sequence[Sent], sent: Sequence[Sent]) -> _Found:
    """Compare by node and goal only."""
    goals, there = {(node, dst) for node, _, dst in due}, set[tuple[int, int]]()
    needless = []
    for node, src, dst in sent:
        if (node, dst) not in goals or (node, dst) in there:
            needless.append((node, src, dst))
        there.add((node, dst))
    missing = [m for m in due if (m[0], m[2]) not in there]
    return {"missing": missing, "needless": needless}


def _damaged(
    rng: np.random.Generator, inputs: Inputs, ranks: Sequence[int], number: int
) -> tuple[Sent, ...]:
    """Draw what a program has sent: a broken one, or a right one with some faults."""
    if number < 2:
        return tuple(broken_cutters(inputs, ranks)[("by edge", "to all")[number]])
    due = [m for m in _due(inputs, ranks) if rng.random() < 0.7]
    due += [m for m in due if rng.random() < 0.2]
    due += [(int(rng.integers(7)), 0, 2), (int(rng.integers(7)), 2, 1)]
    return tuple(due[int(k)] for k in rng.permutation(len(due)))


def _case(label: str, *graph: Any) -> Case:
    return Case(1, label, calls=1, alone=True, settings={"graph": graph})


_DIAMOND: Inputs = ((), (0,), (0,), (1, 2))
_FAN: Inputs = ((), (0,), (0,), (0,), (1, 2, 3))
_FIXED: tuple[tuple[str, Inputs, tuple[int, ...], tuple[Sent, ...]], ...] = (
    ("one is missing", _DIAMOND, (0, 0, 1, 0), ((0, 0, 1),)),
    ("one is needless", _DIAMOND, (0, 0, 1, 0), ((0, 0, 1), (1, 0, 1), (2, 1, 0))),
    ("all is well", _DIAMOND, (0, 0, 1, 0), ((0, 0, 1), (2, 1, 0))),
    ("one is sent twice", _DIAMOND, (0, 0, 1, 0), ((0, 0, 1), (2, 1, 0), (0, 0, 1))),
    ("one is sent three times", _DIAMOND, (0, 0, 1, 0),
     ((0, 0, 1), (2, 1, 0), (0, 0, 1), (0, 0, 1))),
    ("two users on one worker", _FAN, (0, 1, 1, 0, 0),
     ((0, 0, 1), (0, 0, 1), (1, 1, 0), (2, 1, 0))),
    ("two workers need it", _FAN, (0, 1, 2, 0, 0), ((0, 0, 1), (1, 1, 0), (2, 2, 0))),
    ("the wrong way", _DIAMOND, (0, 0, 1, 0), ((2, 1, 0), (0, 1, 0))),
    ("from somewhere else", _FAN, (0, 1, 2, 0, 0),
     ((0, 0, 1), (0, 1, 2), (1, 1, 0), (2, 2, 0))),
    ("nothing was sent", _FAN, (1, 0, 2, 1, 0), ()),
    ("in another order, with two that nobody needs", _FAN, (0, 1, 2, 0, 0),
     ((3, 0, 2), (2, 2, 0), (0, 0, 2), (1, 1, 2), (0, 0, 1), (1, 1, 0))),
    ("node 1 is used before node 0", ((), (), (1,), (0,)), (0, 0, 1, 2), ()),
    ("one worker", _DIAMOND, (0, 0, 0, 0), ()),
)  # fmt: skip

TASK = MessageFaults()

"""Pickles of what a learner has written, made by cloudpickle, and loaded so that nobody shares.

A class of a notebook cell travels by value, under a number that cloudpickle has given to it. Loaded
where that number is known, cloudpickle finds the class that is there and overwrites its attributes:
simulated ranks would all have the caller's class, and every result would change it. So there are
two ways to load. ``load_anew`` is for a rank: it gets classes of its own. ``load_here`` is for who
hears from ranks: what belongs to a class that is known here is of that class, which stays as it is.
Classes that a rank has made itself count as unknown (``of_rank``), also where it runs in this
process: in the simulator they stand on the rank's classes, and are to stand on the caller's.

Programs that torchrun has started are of one text, and each has classes of its own. They give the
same numbers to classes of the same name (``alike``), so that one knows those of the others.
"""

import functools
import importlib
import io
import itertools
import pickle
import sys
from collections.abc import Callable
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, cast

import cloudpickle
from cloudpickle import cloudpickle as internals  # of what it does with classes nothing is public

__all__ = ["brings_classes", "dump", "dumps", "is_dispatching", "load_anew", "load_here"]

_KNOWN = internals._DYNAMIC_CLASS_TRACKER_BY_ID  # classes by their numbers: one for each
_NUMBERS = internals._DYNAMIC_CLASS_TRACKER_BY_CLASS  # of classes: many may have the same

_GLOBAL_GENERATORS = (
    ("random", "_inst"),
    ("numpy.random.mtrand", "_rand"),
    ("torch", "default_generator"),
)
"""Where they are. ``from random import randint`` is a method of the first: a copy of it would draw
from a generator that nobody can see or seed."""

_UNLOADED = ("torch.uint16", "torch.uint32", "torch.uint64", "torch.complex32", "torch.float8_")
"""Tensors of these dtypes torch 2.13 packs, and cannot load."""

_DISPATCH = cast(FunctionType, functools.singledispatch(len)).__code__  # of all that it makes
_OWN = "attributes of members"  # a name in a pickle, of what cloudpickle leaves out


def dump(value: Any, file: Any, *, of_rank: bool = False, alike: bool = False) -> None:
    """Pickle a value into a file.

    Parameters
    ----------
    value : Any
        What to pickle.
    file : file
        Where to.
    of_rank : bool, default: False
        Whether a rank does it: the caller does not know the classes that it has made.
    alike : bool, default: False
        Whether other programs of the same text do it, too, and are to know each other's classes.
    """
    _Pickler(file, pickle.HIGHEST_PROTOCOL, of_rank, alike).dump(value)


def dumps(value: Any, *, of_rank: bool = False, alike: bool = False) -> bytes:
    """Pickle a value; see ``dump``."""
    buffer = io.BytesIO()
    dump(value, buffer, of_rank=of_rank, alike=alike)
    return buffer.getvalue()


def load_anew(data: bytes) -> Any:
    """Load a pickle with new classes, which nobody else has."""
    return _Unpickler(data, _Classes(anew=True)).load()


def load_here(data: bytes) -> Any:
    """Load a pickle; classes that are known here are used as they are."""
    return _Unpickler(data, _Classes(anew=False)).load()


def brings_classes(data: bytes) -> bool:
    """Say whether there are classes in a pickle, or at least the word for them."""
    return b"_class_setstate" in data


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """What cloudpickle does, and for some kinds of objects what it does not."""

    def __init__(self, file: Any, protocol: int, of_rank: bool, alike: bool) -> None:
        super().__init__(file, protocol=protocol)
        if (script := sys.modules.get("__mp_main__")) is not None:
            # In a program that multiprocessing has spawned, what is of the script: nobody else can
            # import that, and what ranks import they would share.
            cloudpickle.register_pickle_by_value(script)
        self._of_rank = of_rank
        self._alike = alike
        self._generators = {
            id(getattr(sys.modules[module], name)): (module, name)
            for module, name in _GLOBAL_GENERATORS
            if hasattr(sys.modules.get(module), name)
        }

    def reducer_override(self, obj: Any) -> Any:
        """Say how an object is made again."""
        if id(obj) in self._generators:
            module, name = self._generators[id(obj)]
            return getattr, (sys.modules[module], name)
        # torch.backends.cudnn is a module of a kind of its own
        if isinstance(obj, ModuleType) and type(obj) is not ModuleType and _name_of_module(obj):
            return importlib.import_module, (_name_of_module(obj),)
        if isinstance(obj, type) and (home := _module_by_name(obj)):
            return getattr, (home, obj.__name__)
        if type(obj) is functools._lru_cache_wrapper and not _can_be_imported(obj):
            return _cached(obj)
        if is_dispatching(obj) and not _can_be_imported(obj):
            return _dispatching(obj)
        if type(obj) is functools.cached_property:  # it has a lock before Python 3.12
            return functools.cached_property, (obj.func,), {"attrname": obj.attrname}
        if (type(obj).__module__, type(obj).__name__) == ("torch", "Tensor"):
            return _of_integers(obj) if str(obj.dtype).startswith(_UNLOADED) else NotImplemented
        if self._alike and isinstance(obj, type) and not internals._should_pickle_by_reference(obj):
            _number_by_name(obj)
        is_new = self._of_rank and isinstance(obj, type) and obj not in _NUMBERS
        reduced = super().reducer_override(obj)
        if is_new:
            _KNOWN.pop(_NUMBERS.get(obj), None)
        if type(reduced) is not tuple:
            return reduced
        if reduced[0] is internals._make_skeleton_enum:
            return _enumerated(obj, *reduced)
        if reduced[0] is internals._make_skeleton_class and "__slots__" in vars(obj):
            _, _, bases, attributes, *_ = reduced[1]
            if NamedTuple not in bases:  # which brings its own
                attributes["__slots__"] = obj.__slots__  # a class has them from the beginning
        return reduced


def _of_integers(tensor: Any) -> Any:
    """Make a tensor again by one of integers that are as long."""
    integers = getattr(sys.modules["torch"], f"int{8 * tensor.itemsize}")
    return _view_again, (tensor.detach().view(integers), tensor.dtype, tensor.requires_grad)


def _view_again(integers: Any, dtype: Any, requires_grad: bool) -> Any:
    return integers.view(dtype).requires_grad_(requires_grad)


def _number_by_name(cls: type) -> None:
    """Give a class the number that it has in every program of this text."""
    with internals._DYNAMIC_CLASS_TRACKER_LOCK:
        for k in itertools.count():  # of classes of one name the k-th
            number = f"{cls.__module__}.{cls.__qualname__} {k}"
            if _KNOWN.setdefault(number, cls) is cls:
                _NUMBERS[cls] = number
                return


def _name_of_module(module: ModuleType) -> str | None:
    """Return the name by which a module of a kind of its own is found; None if it is not."""
    name = vars(module).get("__name__", "")
    if sys.modules.get(name) is module:
        return str(name)
    return next((name for name, other in list(sys.modules.items()) if other is module), None)


def _module_by_name(cls: type) -> ModuleType | None:
    """Return the module in which a class is found by its name, and not by its qualified name."""
    module = sys.modules.get(getattr(cls, "__module__", ""))
    if module is None or cls.__qualname__ == cls.__name__ or module.__name__ == "__main__":
        return None
    is_there = vars(module).get(cls.__name__) is cls
    return module if is_there and not internals._is_registered_pickle_by_value(module) else None


def _can_be_imported(obj: Any) -> bool:
    found = internals._lookup_module_and_qualname(obj)
    return found is not None and not internals._is_registered_pickle_by_value(found[0])


def _cached(function: Any) -> Any:
    """Make a function with a cache again, with nothing in its cache."""
    own = {name: value for name, value in vars(function).items() if name != "cache_parameters"}
    parameters = function.cache_parameters()
    return _cache_again, (function.__wrapped__, parameters["maxsize"], parameters["typed"]), own


def _cache_again(function: Callable[..., Any], maxsize: int | None, typed: bool) -> Any:
    return functools.lru_cache(maxsize, typed)(function)


def is_dispatching(obj: Any) -> bool:
    """Say whether ``functools.singledispatch`` has made a function."""
    return type(obj) is FunctionType and obj.__code__ is _DISPATCH


def _dispatching(function: Any) -> Any:
    """Make such a function again; it has a cache with weak references, which cannot travel."""
    others = vars(functools.singledispatch(function.__wrapped__))
    own = {name: value for name, value in vars(function).items() if name not in others}
    state = dict(function.registry), own
    return functools.singledispatch, (function.__wrapped__,), state, None, None, _register


def _register(function: Any, state: tuple[dict[type, Callable[..., Any]], dict[str, Any]]) -> None:
    registry, own = state
    for cls, one in registry.items():
        function.register(cls, one)
    vars(function).update(own)


def _enumerated(cls: Any, make: Any, args: Any, state: Any, *rest: Any) -> Any:
    """Make an Enum again with its second names, and with what its own ``__init__`` has set."""
    bases, name, qualname, _, *others = args
    values = {name: member.value for name, member in cls.__members__.items()}
    attributes, slots = state
    attributes = {name: value for name, value in attributes.items() if name not in values}
    own = {name: _own_attributes(member) for name, member in cls.__members__.items()}
    return make, (bases, name, qualname, values, *others), (attributes, {**slots, _OWN: own}), *rest


def _own_attributes(member: Any) -> dict[str, Any]:
    attributes = getattr(member, "__dict__", {}).items()
    return {name: value for name, value in attributes if name[0] + name[-1] != "__"}


class _Unpickler(pickle.Unpickler):
    """Loads a pickle; how classes are made is asked of somebody else.

    Parameters
    ----------
    data : bytes
        The pickle.
    classes : _Classes
        Who makes them. It does not know this object, which must be freed, with all that it
        remembers, as soon as it has done its work.
    """

    def __init__(self, data: bytes, classes: "_Classes") -> None:
        super().__init__(io.BytesIO(data))
        self._stand_ins = {
            "_make_skeleton_class": classes.make_class,
            "_make_skeleton_enum": classes.make_enum,
            "_class_setstate": classes.set_state,
        }

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        """Find what the pickle names."""
        if module_name == "cloudpickle.cloudpickle" and global_name in self._stand_ins:
            return self._stand_ins[global_name]
        return super().find_class(module_name, global_name)


class _Classes:
    """The classes of one pickle that is loaded.

    Parameters
    ----------
    anew : bool
        Whether all are made, also those that are known here.
    """

    def __init__(self, *, anew: bool) -> None:
        self._anew = anew
        self._made: dict[int, Any] = {}

    def make_class(self, *args: Any) -> Any:
        """Make a class, empty as yet; or take the one that is known here."""
        *how, number, extra = args
        return self._known(number, partial(internals._make_skeleton_class, *how, None, extra))

    def make_enum(self, *args: Any) -> Any:
        """Make an Enum; or take the one that is known here."""
        *how, number, extra = args
        return self._known(number, partial(internals._make_skeleton_enum, *how, None, extra))

    def _known(self, number: str, make: Callable[[], Any]) -> Any:
        known = None if self._anew else _KNOWN.get(number)
        if known is not None:
            return known
        made = make()
        self._made[id(made)] = made
        with internals._DYNAMIC_CLASS_TRACKER_LOCK:
            # What comes back from a rank is of the caller's class: the number stays the caller's.
            _KNOWN.setdefault(number, made)
            _NUMBERS[made] = number
        return made

    def set_state(self, cls: Any, state: Any) -> Any:
        """Fill a class, if it has been made here."""
        if id(cls) in self._made:
            internals._class_setstate(cls, state)
            for name, own in state[1].get(_OWN, {}).items():
                vars(cls.__members__[name]).update(own)
        return cls

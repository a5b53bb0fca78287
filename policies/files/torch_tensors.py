"""Tensors of a file of `torch.save`, read without torch and without running its pickle.

torch's own weights-only reader executes parts of the pickle, so a file of a few bytes can
ask it for gigabytes. This one interprets the few opcodes that a dictionary of tensors
needs, and refuses all others before anything is made.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
from collections import OrderedDict
from collections.abc import Container
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.archive import Archive

MAX_PICKLE = 2**20
"""Longest pickle that is read, [bytes]."""
MAX_AXES = 8
"""Most axes of a tensor."""
MAX_MEMO = 100_000
"""Largest index of the pickle's memo."""
PICKLE, DATA, ORDER = "data.pkl", "data/", "byteorder"
"""Names of members behind the name of the archive's folder."""
_STORAGES: dict[str, type[np.floating[Any]]] = {
    "FloatStorage": np.float32,
    "DoubleStorage": np.float64,
}
OPCODES = frozenset(
    [
        "PROTO",
        "FRAME",
        "GLOBAL",
        "MARK",
        "STOP",
        "NONE",
        "NEWTRUE",
        "NEWFALSE",
        "BININT",
        "BININT1",
        "BININT2",
        "LONG1",
        "BINUNICODE",
        "SHORT_BINUNICODE",
        "EMPTY_DICT",
        "EMPTY_LIST",
        "EMPTY_TUPLE",
        "TUPLE",
        "TUPLE1",
        "TUPLE2",
        "TUPLE3",
        "BINPUT",
        "LONG_BINPUT",
        "BINGET",
        "LONG_BINGET",
        "BINPERSID",
        "REDUCE",
        "BUILD",
        "SETITEM",
        "SETITEMS",
        "APPEND",
        "APPENDS",
        "BINFLOAT",
        "MEMOIZE",
        "STACK_GLOBAL",
    ]
)
"""Opcodes that a dictionary of tensors needs."""
MAX_TUPLE = 1000
"""Most values in a tuple and the tuples in it, counted as often as they are used."""
_PUT = ("BINPUT", "LONG_BINPUT", "MEMOIZE")
_GET = ("BINGET", "LONG_BINGET")
_NESTED = ("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "FROZENSET")


@dataclass(frozen=True)
class _Kind:
    """A type of numbers; not callable, so that a pickle cannot make arrays of it."""

    dtype: type[np.floating[Any]]


@dataclass(frozen=True)
class _Storage:
    """Numbers that tensors are views of. Shape (n,)."""

    values: NDArray[np.floating[Any]]


class _Names(OrderedDict[Any, Any]):
    """A dictionary that ignores what a pickle attaches to it (torch adds versions)."""

    def __setstate__(self, state: object) -> None:
        """Ignore `state`."""


def _no_names() -> _Names:
    """Return an empty dictionary; a pickle cannot copy one, which takes arguments."""
    return _Names()


class _TensorReader(pickle.Unpickler):
    """Makes arrays of the pickle of a dictionary of tensors, and nothing else."""

    def __init__(self, data: bytes, members: Archive, folder: str) -> None:
        """Read the pickle `data`; the numbers are the members below `folder`."""
        super().__init__(io.BytesIO(data))
        self._members, self._folder = members, folder
        self._storages: dict[str, _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in for one of the three names that tensors need."""
        if (module, name) == ("collections", "OrderedDict"):
            return _no_names
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in _STORAGES:
            return _Kind(_STORAGES[name])
        raise pickle.UnpicklingError(f"it names {module}.{name}")

    def persistent_load(self, pid: Any) -> _Storage:
        """Return the storage that `pid` names: ("storage", type, key, place, size)."""
        kind, numbers, key, _, size = pid
        if kind != "storage" or not isinstance(numbers, _Kind):
            raise pickle.UnpicklingError("its tensors are not of floating point")
        if key not in self._storages:
            values = np.frombuffer(self._members[self._folder + key], numbers.dtype)
            if values.size != size:
                raise pickle.UnpicklingError(f"storage {key!r} has another size")
            self._storages[key] = _Storage(values)
        return self._storages[key]


def read_torch_tensors(
    outer: Archive, name: str
) -> dict[str, NDArray[np.floating[Any]]]:
    """Return the arrays of a file of `torch.save` that holds a dictionary of tensors.

    The arrays are views of the unpacked members; each is float32 or float64, dense and
    in C order.

    Args:
        outer: The open zip file with this file inside.
        name: Its name there.

    Raises:
        ModelFileError: More than such tensors inside, or damaged.
    """
    source = f"{outer.source}: {name}"
    members = Archive(io.BytesIO(outer[name]), source, outer.budget)
    folder = next(iter(members), "").partition("/")[0] + "/"
    try:
        if folder + PICKLE not in members:
            raise pickle.UnpicklingError(f"no {PICKLE} inside")
        text = members.start(folder + PICKLE, MAX_PICKLE + 1)
        if members.get(folder + ORDER, b"little") != b"little":
            raise pickle.UnpicklingError("its numbers are big-endian")
        check_opcodes(text)
        tensors = _TensorReader(text, members, folder + DATA).load()
        if not isinstance(tensors, dict):
            raise pickle.UnpicklingError("not a dictionary of tensors")
        for key, array in tensors.items():
            if not isinstance(key, str) or type(array) is not np.ndarray:
                raise pickle.UnpicklingError(f"{key!r:.80} is not a tensor")
    except _DAMAGED as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelFileError(
            f"{source} holds more than tensors, or is damaged: {reason:.200}"
        ) from None
    return dict(tensors)


def check_opcodes(text: bytes, allowed: Container[str] = OPCODES) -> None:
    """Refuse a pickle with other opcodes than `allowed`, or a long one.

    Raises:
        pickle.UnpicklingError: Such a pickle.
        ValueError, LookupError: A damaged one.
    """
    if len(text) > MAX_PICKLE:
        raise pickle.UnpicklingError(f"its pickle is longer than {MAX_PICKLE} bytes")
    sizes = _Sizes()
    for opcode, argument, _ in pickletools.genops(text):
        if opcode.name not in allowed:
            raise pickle.UnpicklingError(f"opcode {opcode.name}")
        sizes.run(opcode, argument)


class _Sizes:
    """Sizes of the values on a pickle's stack and in its memo, found without making any.

    A tuple that holds another twice, which holds a third twice, and so on, is short in the
    file, but its hash takes years.
    """

    def __init__(self) -> None:
        """Before the first opcode."""
        self._stack: list[int] = []
        self._marks: list[int] = []
        self._memo: dict[int, int] = {}

    def run(self, opcode: pickletools.OpcodeInfo, argument: Any) -> None:
        """Follow an opcode; `UnpicklingError` for too large a memo or tuple."""
        name, stack = opcode.name, self._stack
        if name == "MARK":
            self._marks.append(len(stack))
        elif name in _PUT:
            index = len(self._memo) if name == "MEMOIZE" else int(argument)
            if not 0 <= index < MAX_MEMO:
                raise pickle.UnpicklingError("its memo is too large")
            self._memo[index] = stack[-1]
        elif name in _GET:
            stack.append(self._memo[argument])
        elif name == "POP" and self._marks and self._marks[-1] == len(stack):
            self._marks.pop()
        else:
            used = self._taken(opcode.stack_before)
            size = 1 + sum(used) if name in _NESTED else 1
            if size > MAX_TUPLE:
                raise pickle.UnpicklingError("its tuples are too large")
            stack += [size] * len(opcode.stack_after)

    def _taken(self, before: list[pickletools.StackObject]) -> list[int]:
        """Take what an opcode uses off the stack; return the sizes."""
        count = len(before)
        if pickletools.markobject in before:
            count = before.index(pickletools.markobject)
            start = self._marks.pop() - count
        else:
            start = len(self._stack) - count
        if start < 0:
            raise pickle.UnpicklingError("its stack is empty")
        used = self._stack[start:]
        del self._stack[start:]
        return used


def _tensor(
    storage: _Storage,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
    hooks: object,
    *more: object,
) -> NDArray[np.floating[Any]]:
    """Return the view of `storage` that `torch._utils._rebuild_tensor_v2` would make."""
    del requires_grad, hooks, more
    if len(shape) > MAX_AXES or not all(0 <= n < 2**40 for n in (*shape, offset)):
        _refuse("a tensor without a sensible shape")
    count = math.prod(shape)
    dense = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    same = all(a == b or n == 1 for a, b, n in zip(strides, dense, shape, strict=True))
    if not same:
        _refuse("a tensor is not in C order")
    if offset + count > storage.values.size:
        _refuse("a tensor is longer than its numbers")
    return storage.values[offset : offset + count].reshape(shape)


def _refuse(reason: str) -> NoReturn:
    raise pickle.UnpicklingError(reason)


_DAMAGED = (
    pickle.UnpicklingError, ValueError, TypeError, KeyError, AttributeError, IndexError,
    EOFError, RecursionError, OverflowError, UnicodeError,
)  # fmt: skip

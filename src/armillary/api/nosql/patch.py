"""Patches: a few changes to an item, made inside the write, and only if a condition on the item holds.

    {"condition": "from c where c.stock > 0", "operations": [{"op": "incr", "path": "/stock", "value": -1}, ...]}

    add        sets a property; in a list inserts before an index, or at the end (`-`)
    set        sets a property; in a list replaces what is at an index, or adds at the end
    replace    the same for what is there          remove     takes away what is there
    incr       adds to a number; makes it when it is not there
    move       takes away what is at `from` and adds it at `path`

Paths are JSON pointers (`~1` for `/`, `~0` for `~`); what they lead through must be there. The id, the partition key
and system properties stay as they are.
"""

from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from typing import Any, Final, NamedTuple, TypeAlias

from armillary.clock import Clock
from armillary.errors import Kind, Refusal
from armillary.lang.sql import prepare, select
from armillary.values import UNDEFINED

MOST_OPERATIONS: Final = 10
_END: Final = "-"

Node: TypeAlias = dict[str, Any] | list[Any]


class _Spot(NamedTuple):
    """A place in an item: what holds it, and its name or index there; `path` is for words."""

    holder: Node
    at: str | int
    path: str

    def value(self) -> object:
        """What is there, or undefined."""
        if isinstance(self.holder, dict):
            return self.holder.get(str(self.at), UNDEFINED)
        return self.holder[self.at] if isinstance(self.at, int) and self.at < len(self.holder) else UNDEFINED

    def must_value(self) -> object:
        value = self.value()
        if value is UNDEFINED:
            raise _bad(f"there is nothing at {self.path!r}")
        return value

    def put(self, value: object) -> None:
        if isinstance(self.holder, list) and self.at == len(self.holder):
            self.holder.append(value)
        else:
            self.holder[self.at] = value  # type: ignore[index]  # a name in an object, an index in a list

    def insert(self, value: object) -> None:
        if isinstance(self.holder, list):
            self.holder.insert(int(self.at), value)
        else:
            self.put(value)

    def take(self) -> object:
        value = self.must_value()
        del self.holder[self.at]  # type: ignore[arg-type]  # a name in an object, an index in a list
        return value


class Patch:
    """A patch that was read from a request, and can be applied to any item; `fixed` are properties that stay."""

    def __init__(self, body: Mapping[str, object], fixed: Collection[str]) -> None:
        operations = body.get("operations")
        if not isinstance(operations, list) or not 0 < len(operations) <= MOST_OPERATIONS:
            raise _bad(f"'operations' must be a list of 1 to {MOST_OPERATIONS}")
        self._operations = [_check_operation(operation, fixed) for operation in operations]
        self._condition = _check_condition(body.get("condition"))

    def check(self, item: object, clock: Clock) -> None:
        """Refuse an item that the condition does not hold for."""
        if self._condition and not select(self._condition, [item], {}, clock):
            raise Refusal(Kind.CONDITION_FALSE)

    def apply(self, item: dict[str, Any]) -> None:
        """Change the item, one operation after the other. It may be done again: values are copied into the item."""
        for operation in self._operations:
            _OPERATIONS[str(operation["op"])](item, operation)


def _check_condition(condition: object) -> str:
    """The condition as a query that has a row where it holds; it runs in a write, so nothing multiplies its rows."""
    if condition is None:
        return ""
    if not isinstance(condition, str) or not condition.lstrip()[:4].lower() == "from":
        raise _bad("'condition' must be a text 'FROM c WHERE ...'")
    text = f"SELECT VALUE 1 {condition}"
    query = prepare(text).query
    if len(query.sources) != 1 or query.group or query.order or query.limit:
        raise _bad("'condition' has one FROM and one WHERE")
    return text


def _check_operation(operation: object, fixed: Collection[str]) -> dict[str, Any]:
    if not isinstance(operation, dict) or operation.get("op") not in _OPERATIONS:
        raise _bad(f"an operation has an 'op' of {', '.join(_OPERATIONS)}")
    name = operation["op"]
    if name not in ("remove", "move") and "value" not in operation:
        raise _bad(f"the operation {name!r} needs a 'value'")
    for path in ("path", "from") if name == "move" else ("path",):
        if _read_path(operation.get(path))[0] in fixed:
            raise _bad(f"{operation[path]!r} is a property that cannot be changed")
    return operation


def _add(item: Node, operation: dict[str, Any]) -> None:
    _find(item, operation["path"]).insert(deepcopy(operation["value"]))


def _set(item: Node, operation: dict[str, Any]) -> None:
    _find(item, operation["path"]).put(deepcopy(operation["value"]))


def _replace(item: Node, operation: dict[str, Any]) -> None:
    spot = _find(item, operation["path"])
    spot.must_value()
    spot.put(deepcopy(operation["value"]))


def _remove(item: Node, operation: dict[str, Any]) -> None:
    _find(item, operation["path"]).take()


def _increase(item: Node, operation: dict[str, Any]) -> None:
    spot, by = _find(item, operation["path"]), operation["value"]
    value = spot.value()
    was = 0 if value is UNDEFINED else value
    if not _is_number(by) or not _is_number(was):
        raise _bad(f"'incr' adds a number to a number, and {spot.path!r} or the 'value' is none")
    spot.put(was + by)


def _move(item: Node, operation: dict[str, Any]) -> None:
    start, path = operation["from"], operation["path"]
    if f"{path}/".startswith(f"{start}/") and path != start:
        raise _bad(f"{start!r} cannot be moved into itself")
    value = _find(item, start).take()
    _find(item, path).insert(value)


_OPERATIONS: Final[dict[str, Callable[[Node, dict[str, Any]], None]]] = {
    "add": _add,
    "set": _set,
    "replace": _replace,
    "remove": _remove,
    "incr": _increase,
    "move": _move,
}


def _find(item: Node, path: str) -> _Spot:
    """The place that a path leads to; all but its last part must be there."""
    *through, last = _read_path(path)
    holder: object = item
    for name in through:
        holder = _step(holder, name, path).must_value()
    return _step(holder, last, path)


def _step(holder: object, name: str, path: str) -> _Spot:
    if isinstance(holder, dict):
        return _Spot(holder, name, path)
    if not isinstance(holder, list):
        raise _bad(f"{path!r} leads through a value that is no object and no list")
    if name == _END:
        return _Spot(holder, len(holder), path)
    if not name.isdecimal() or int(name) > len(holder):
        raise _bad(f"{path!r} has an index that the list does not have")
    return _Spot(holder, int(name), path)


def _read_path(path: object) -> list[str]:
    if not isinstance(path, str) or not path.startswith("/") or path == "/":
        raise _bad(f"{path!r} is no path: it begins with / and names a property")
    return [name.replace("~1", "/").replace("~0", "~") for name in path[1:].split("/")]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _bad(reason: str) -> Refusal:
    return Refusal(Kind.BAD_PATCH, reason=reason)

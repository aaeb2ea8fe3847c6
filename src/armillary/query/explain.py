"""Plans as text: one line for each node, indented by its depth; expressions as the SQL language would write them."""

from collections.abc import Iterator

from armillary.json import dump
from armillary.query.functions import FUNCTIONS
from armillary.query.plan import (
    AggregateCall,
    Bind,
    Derive,
    Distinct,
    Filter,
    Group,
    Plan,
    Project,
    Scan,
    Single,
    Slice,
    Sort,
    Test,
    Unnest,
    input_of,
)
from armillary.query.scalars import (
    Among,
    Apply,
    Constant,
    Element,
    Invoke,
    MakeArray,
    MakeObject,
    Matches,
    Nested,
    Parameter,
    Property,
    Scalar,
    Variable,
)
from armillary.values import UNDEFINED


def explain(plan: Plan) -> str:
    """The tree of a plan."""
    return "\n".join(_lines(plan, 0))


def _lines(plan: Plan, depth: int) -> Iterator[str]:
    yield "  " * depth + _title(plan)
    below = input_of(plan)
    if below is not None:
        yield from _lines(below, depth + 1)


def _title(plan: Plan) -> str:
    match plan:
        case Single():
            return "Single"
        case Scan(name, _, tests, order):
            wishes = [", ".join(map(_test, tests)), ", ".join(_path(path) + " DESC" * down for path, down in order)]
            return f"Scan {name}" + (f" [{'; '.join(filter(None, wishes))}]" if tests or order else "")
        case Bind(_, value, name, _):
            return f"Bind {name} = {write(value)}"
        case Unnest(_, value, name, _):
            return f"Unnest {name} IN {write(value)}"
        case Derive(_, name):
            return f"Derive {name}"
        case Filter(_, condition):
            return f"Filter {write(condition)}"
        case Sort(_, keys, omit, most):
            text = ", ".join(write(key.value) + (" DESC" if key.descending else "") for key in keys)
            text += " without undefined" if omit else ""
            return f"Sort {text}" + (f" first {' + '.join(map(write, most))}" if most else "")
        case Group(_, keys, calls):
            text = ", ".join(map(write, keys))
            return f"Group {f'by {text} ' if keys else ''}[{', '.join(map(_call, calls))}]"
        case Project(_, value):
            return f"Project {write(value)}"
        case Distinct():
            return "Distinct"
        case Slice(_, offset, limit):
            return f"Slice {write(offset)}, {write(limit)}"


def _test(test: Test) -> str:
    if test.op == "OR":
        return f"({' OR '.join(_test(part) for part in test.operands if isinstance(part, Test))})"
    operands = ", ".join(write(operand) for operand in test.operands if not isinstance(operand, Test))
    return f"{_path(test.path)} {test.op} {operands}".rstrip()


def _path(path: tuple[str, ...]) -> str:
    return "/" + "/".join(path)


def _call(call: AggregateCall) -> str:
    return f"{call.name}({write(call.argument)})"


def write(scalar: Scalar) -> str:
    """An expression in one line."""
    match scalar:
        case Constant(value):
            return "undefined" if value is UNDEFINED else dump(value).decode()
        case Parameter(name) | Variable(_, name):
            return name
        case Property(of, name):
            return f"{write(of)}.{name}" if name.isidentifier() else f"{write(of)}[{dump(name).decode()}]"
        case Element(of, at):
            return f"{write(of)}[{write(at)}]"
        case Apply("?:", (test, yes, no)):
            return f"({write(test)} ? {write(yes)} : {write(no)})"
        case Apply("BETWEEN", (value, low, high)):
            return f"({write(value)} BETWEEN {write(low)} AND {write(high)})"
        case Apply(op, (of,)):
            return f"({op} {write(of)})"
        case Apply(op, operands):
            return f"({f' {op} '.join(map(write, operands))})"
        case Among(value, items):
            return f"({write(value)} IN ({', '.join(map(write, items))}))"
        case Matches(value, pattern, escape):
            return f"({write(value)} LIKE {write(pattern)}" + (f" ESCAPE {dump(escape).decode()})" if escape else ")")
        case Invoke(name, arguments):
            return f"{FUNCTIONS[name].name}({', '.join(map(write, arguments))})"
        case MakeArray(items):
            return f"[{', '.join(map(write, items))}]"
        case MakeObject(members):
            return "{" + ", ".join(f"{dump(name).decode()}: {write(value)}" for name, value in members) + "}"
        case Nested(form, plan):
            return f"{form.value}({'; '.join(line.strip() for line in _lines(plan, 0))})"

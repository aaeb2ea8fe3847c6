"""Rewritten trees: what each partition is asked, so that its part of the answer can be merged with the others.

    ORDER BY     _rid, the values of the keys and the payload; a placeholder for the condition of the next page
    aggregates   each as the object that can be merged: {"item": COUNT(1)}, {"item": {"sum": ..., "count": ...}}
    GROUP BY     the values of the keys and the payload, with aggregates as above

These are the forms that official clients take apart, to the last property.
"""

from dataclasses import dataclass, replace
from typing import Final

from armillary.lang.sql.naming import name_columns, name_of
from armillary.lang.sql.resolve import is_aggregate
from armillary.lang.sql.syntax import (
    ArrayOf,
    Call,
    Column,
    Expression,
    Logical,
    Member,
    Name,
    ObjectOf,
    Placeholder,
    Query,
)

AGGREGATE_NAMES: Final = {
    "AVG": "Average",
    "COUNT": "Count",
    "COUNTIF": "CountIf",
    "MAKELIST": "MakeList",
    "MAKESET": "MakeSet",
    "MAX": "Max",
    "MIN": "Min",
    "SUM": "Sum",
}
FILTER: Final = Placeholder("{documentdb-formattableorderbyquery-filter}")


@dataclass(frozen=True, slots=True)
class Rewriter:
    """The rewritten forms of one query, whose cuts and DISTINCT have been decided before."""

    query: Query

    def value_aggregate(self) -> Query:
        """SELECT VALUE of an aggregate."""
        value = self.query.value
        return replace(self.query, value=ArrayOf((_part(value),)) if value and is_aggregate(value) else value)

    def list_aggregates(self) -> Query:
        """A SELECT list with aggregates: one payload."""
        return replace(self.query, columns=(Column(self._payload(), "payload"),))

    def groups(self) -> Query:
        """GROUP BY."""
        items = ArrayOf(tuple(_item(key) for key in self.query.group))
        value = self.query.value
        payload = self._payload() if value is None else ArrayOf((_part(value),)) if is_aggregate(value) else value
        columns = (Column(items, "groupByItems"), Column(payload, "payload"))
        return replace(self.query, value=None, columns=columns)

    def order(self) -> Query:
        """ORDER BY."""
        root = _root_of(self.query)
        value = self.query.value
        payload: Expression = root if self.query.star else self._payload() if value is None else value
        columns = (
            Column(Member(root, "_rid")),
            Column(ArrayOf(tuple(_item(key.of) for key in self.query.order)), "orderByItems"),
            Column(payload, "payload"),
        )
        where: Expression = FILTER
        if self.query.where is not None:
            where = Logical("AND", (self.query.where, where))
        if value is not None:
            where = Logical("AND", (where, Call("IS_DEFINED", (value,))))
        return replace(self.query, value=None, columns=columns, where=where)

    def _payload(self) -> ObjectOf:
        names = name_columns(self.query.columns)
        values = (_part(column.of) if is_aggregate(column.of) else column.of for column in self.query.columns)
        return ObjectOf(tuple(zip(names, values, strict=True)))


def _root_of(query: Query) -> Name:
    """The name of the items of a query; an ORDER BY is lowered for nothing else."""
    source = query.sources[0]
    name = None if isinstance(source.of, Query) else source.alias or name_of(source.of)
    if name is None:
        raise TypeError("a query without a name for its items has an order")
    return Name(name)


def _item(of: Expression) -> ObjectOf:
    return ObjectOf((("item", of),))


def _part(call: Call) -> ObjectOf:
    """An aggregate as the object that partitions answer and clients merge."""
    count = ("count", Call("COUNT", call.arguments))
    if call.name == "AVG":
        return _item(ObjectOf((("sum", Call("SUM", call.arguments)), count)))
    if call.name in ("MIN", "MAX"):
        return ObjectOf((("item", call), ("item2", ObjectOf(((call.name.lower(), call), count)))))
    return _item(call)

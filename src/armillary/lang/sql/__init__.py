"""The SQL language of the document API: texts to statements, and to the plans that clients execute.

    text --tokens, parser--> tree --lower--> plan --rules, compile--> program        prepare
                             tree --rewrite--> what a client sends to each partition and how it merges the answers

Over a small list in memory (the metadata feeds) one call is enough:

    select("SELECT * FROM r WHERE r.id = @id", databases, {"@id": "shop"}, clock)       the rows, as a list

It refuses a wrong text with the same words and codes as a query over items does.
"""

from armillary.lang.sql.statements import Statement, prepare, select

__all__ = ["Statement", "prepare", "select"]

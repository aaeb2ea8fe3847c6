"""The SQL language of the document API: texts to statements, and to the plans that clients execute.

text --tokens, parser--> tree --lower--> plan --rules, compile--> program        prepare
                         tree --rewrite--> what a client sends to each partition and how it merges the answers
"""

from armillary.lang.sql.statements import Statement, prepare

__all__ = ["Statement", "prepare"]

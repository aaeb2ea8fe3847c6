"""Queries without a language and without a store: plans, rules over them, expressions, functions, execution.

    language --lower--> plan --rules--> plan --execute--> values, in batches of the source
                                             --pages----> pages, each from the position of the last one

A store implements `source`: partitions, opened with a wish and a position. Whoever has only a list calls
`armillary.lang.sql.select`.
"""

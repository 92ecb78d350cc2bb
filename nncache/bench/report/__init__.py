"""The report of a run: a table, charts and one page, made from its figures."""

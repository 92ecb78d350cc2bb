"""The report of a run: a table, charts and one page, made from its figures. (bench/report/__init__.py)"""

"""Hostile input: `make hostile`, and its short form among the tests.

What each part does, and its checks:

- `fuzzing/`: every parser of bytes from outside. A `Target` states what must hold of any bytes at all; the long form
  finds inputs by coverage (Atheris), the short form mutates the seeds and the kept corpus by a fixed seed. To add
  one, extend `fuzzing/table.py`. Inputs that once broke a target are `fuzzing/corpus/<target>/regression-*`.
- `wire/`: the published ways of request smuggling, the rejections that RFC 9112 and RFC 9110 require, and malformed
  and slow replies of a NameNode, each a row of a table.
- `attacker/`: a user without rights who sends any cheap calls, in the model. Others' hits stay hits, no answer differs
  from the NameNode's, and no reply reveals more: two histories that differ only in hidden facts look alike.
- `real/`: the same attacker on the real stack, spellings of paths, and the smuggling rows.
- `parts.py`: these as `make hostile` runs them; `python -m tests.hostile --help` lists them.
"""

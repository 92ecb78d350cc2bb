"""Input that means harm: `make hostile`, and its short form among the tests.

What each part does, and what breaks it:

- `fuzzing/`: every parser of bytes that come from elsewhere. A `Target` states what must hold of any bytes at all; the
  long form finds inputs by coverage (Atheris), the short form mutates the seeds and the kept corpus by a fixed chance.
  To add a parser, add a target to `fuzzing/table.py`. An input that once broke a target is kept below
  `fuzzing/corpus/<target>/` under a name that begins with `regression-`.
- `wire/`: the published ways of request smuggling, the rules by which RFC 9112 and RFC 9110 tell a server to reject,
  and malformed and slow replies of a NameNode, each a row of a table.
- `attacker/`: a user without rights who sends any cheap calls, in the model. Others' hits stay hits, no answer differs
  from the NameNode's, and no reply says more than the NameNode's did: of two histories that differ only in what the
  attacker may not know, they must look the same.
- `real/`: the same attacker on the real stack, spellings of paths, and the rows of smuggling, beside a real NameNode.
- `parts.py`: these as `make hostile` runs them; `python -m tests.hostile --help` lists them.
"""

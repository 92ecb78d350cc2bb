"""Compare a share of the answers from memory with the NameNode's answers to the same caller."""

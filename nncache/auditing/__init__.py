"""Compare a share of the answers from memory with what the NameNode says to the same caller."""

"""The servers that pollers are pointed at: the NameNode itself, nncache, nginx; and what they use up."""

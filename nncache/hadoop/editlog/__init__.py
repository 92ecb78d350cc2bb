"""The edit log of a NameNode: its frames and its operations."""

"""The pages of a daemon for operators and their tools, on a port of their own."""

"""The pages of a daemon for operators and their tools, on a separate port."""

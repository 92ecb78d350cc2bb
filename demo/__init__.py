"""A short story told on a real cluster, whose every sentence is checked: `make demo`."""

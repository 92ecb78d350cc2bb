"""Hadoop's messages as .proto files of our own; `make proto` generates the Python modules next to them."""

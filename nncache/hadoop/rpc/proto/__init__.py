"""Hadoop's messages as .proto files of our own; `make proto` writes the Python beside them."""

"""The publisher: reads the edits of one nameservice once, and publishes what its filters match."""

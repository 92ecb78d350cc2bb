"""What clients that wait with `Prefer: wait` see, and what they cost."""

"""The product with one line of it broken, one variant a rule: each must be caught by the check of its own guarantee."""

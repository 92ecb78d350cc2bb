"""Load balancers in front."""

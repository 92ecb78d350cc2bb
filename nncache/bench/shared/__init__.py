"""What several benchmarks have in common: limits and figures, clusters, workloads, and the tables of a run."""

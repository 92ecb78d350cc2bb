"""Programs of the repository that no package holds: dashboards as code, the choice of tests."""

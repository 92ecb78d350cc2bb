"""Programs for developers, in no package: dashboards as code, the choice of tests."""

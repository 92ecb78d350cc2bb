"""A real system under load with its dashboards' data: `make dashboards`."""

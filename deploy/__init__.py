"""What deployments take from the checkout: dashboards and rules, units, images; and a system to see them with data."""

"""Native tests, with the host in memory of the template."""

"""Native tests; `host` is a host in memory."""

"""What `make bench` runs, the measurements labkit is checked on, and the comparison with others."""

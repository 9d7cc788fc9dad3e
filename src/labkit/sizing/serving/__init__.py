"""Continuous batching in steady state: capacity, occupancy, latency percentiles, goodput."""

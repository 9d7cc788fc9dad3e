"""Speculative decoding measured: drafters, the greedy loop, acceptance, and its cost in batches."""

"""Attention measured: SDPA's back ends, what they allocate, and a profile of one decode step."""

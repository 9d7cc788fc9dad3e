"""What runs inside the worker process: one module per measurement. Only here is torch imported."""

"""The engine against published rows: measurements and memory logs."""

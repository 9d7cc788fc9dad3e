"""What `make lab` and `make test` do before anything is installed: standard library only."""

"""``python -m labkit.runner``: run one job from stdin, answer on file descriptor 3."""

from labkit.runner.main import main

main()

"""`python -m mirror_index ...` is `mirror-index ...`."""

from mirror_index.cli import main

main()

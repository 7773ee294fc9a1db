"""`python cli.py ...` in a checkout is `mirror-index ...`."""

from mirror_index.cli import main

if __name__ == "__main__":
    main()

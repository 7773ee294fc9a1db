"""The vector file, exact search over it, and approximate indexes that propose candidates."""

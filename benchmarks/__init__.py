"""Side-by-side measurements: speed, memory and quality, never run as tests. See README.md."""

"""Export: the records of a collection, and its vectors, as files that `build` reads back."""

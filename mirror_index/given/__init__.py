"""Collections of vectors that come with their source instead of being made by an encoder."""

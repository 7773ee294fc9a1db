"""The SQLite side of a collection: schema, migrations, staging, reads, writes, filters."""

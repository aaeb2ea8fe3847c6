"""The APIs: each turns its own requests into calls of the database, and its answers back; strangers to each other."""

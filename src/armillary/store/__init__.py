"""A partition and what it holds: items, their log, unique keys, expiry, and the catalog of all partitions."""

"""The document API: one file for each kind of resource."""

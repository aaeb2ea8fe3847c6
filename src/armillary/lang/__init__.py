"""Query languages: text -> `query.plan`; pure, and strangers to each other."""

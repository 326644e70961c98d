"""The sources of reports as a reference manager knows them: one key for each source, and what is cited of it."""

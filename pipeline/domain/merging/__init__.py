"""Two branches of one stream become one again, by a rule that gives the same bytes wherever it is followed."""

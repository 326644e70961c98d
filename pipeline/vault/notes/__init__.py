"""One module for each kind of note."""

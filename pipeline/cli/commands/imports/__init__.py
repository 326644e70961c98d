"""Sessions of other programs: the command ``import``, and how other commands show what was imported."""

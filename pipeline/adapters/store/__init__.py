"""Where events and objects are kept."""

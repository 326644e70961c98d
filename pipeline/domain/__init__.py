"""The events of a research session, the state computed from them, and the next steps. Pure: no I/O, no clock."""

"""``queries.yaml``: bytes → nodes with positions → values or faults; and appending. Reached through ``settings``."""

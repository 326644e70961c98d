"""A batch on several machines: one process makes jobs and waits for them, workers research them."""

"""A server on loopback that speaks the formats of model and search providers, and of web pages, with faults on demand."""

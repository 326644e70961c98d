"""Numbers, units and dates in running text, compared as quantities: ``1,600 million`` is ``1.6 billion``, 20 MB is not 20 GB."""

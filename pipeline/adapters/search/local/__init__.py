"""Search in local folders of documents."""

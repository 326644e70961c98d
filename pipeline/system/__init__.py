"""Files, folders and processes of this computer: durable writes, locks, safe trees, fingerprints, worker processes."""

"""Sessions of other programs: four converters into one plain shape, and its recording. Nothing imported is evidence."""

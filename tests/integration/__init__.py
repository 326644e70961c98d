"""Whole nights against the stand-in: what the program must do when everything around it goes wrong."""

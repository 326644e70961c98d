"""Values and rules of a batch whose sessions are researched by workers on several machines."""

"""The notes on what is remembered over nights: one for each entity, and one on sources, searches and errors."""

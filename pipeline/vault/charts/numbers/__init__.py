"""Numbers that sources give for several dates: found in quotes, drawn, and shown in the notes of reports and questions."""

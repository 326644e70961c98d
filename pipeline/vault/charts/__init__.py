"""A session's drawings: charts as SVG, the plan as a canvas."""

"""Profiling from inside a program: what `import proftrace` offers for lines, and the notebook."""

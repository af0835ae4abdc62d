"""The index over HTTP: one process that owns the files of a folder, and a page to look at it."""

"""The command line: ``onlinehash``, each command the face of one Python call."""

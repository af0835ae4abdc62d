"""Every table and figure of the paper, with one command: ``onlinehash paper``."""

"""What is claimed is measured here, as ratios against a peer or a limit in the same run."""

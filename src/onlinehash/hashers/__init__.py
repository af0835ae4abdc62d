"""One method, one file, one scikit-learn estimator."""

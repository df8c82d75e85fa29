"""Human verification of a data set: pages for annotators, and what their answers say."""

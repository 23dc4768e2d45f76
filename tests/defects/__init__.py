"""One test a defect of the seeds: it fails on the way that the seed documents, and holds here."""

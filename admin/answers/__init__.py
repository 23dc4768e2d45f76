"""What the API answers with: the models of its documents. Those that were read say from where, and of when they are."""

"""The life of a grant in a process, from its admission to its settlement: table, lease, context, cancellation."""

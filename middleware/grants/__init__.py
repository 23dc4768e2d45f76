"""What belongs to a grant, from its admission to its settlement: table, lease, context, cancellation."""

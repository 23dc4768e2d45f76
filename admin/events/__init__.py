"""What happens, as it happens: the journal's entries, sent to those who follow."""

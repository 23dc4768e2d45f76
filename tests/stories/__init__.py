"""Stories of an application whose load or server is not what one thinks of first: saturated, restored, unattended."""

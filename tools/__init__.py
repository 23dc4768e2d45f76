"""Programs for the developers of this repository; nothing of the package imports them."""

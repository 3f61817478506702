"""Ways into the compiler other than script."""

"""Building for devices: host functions that launch kernels."""

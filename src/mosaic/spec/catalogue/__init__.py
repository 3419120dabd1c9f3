"""What is known of algorithms, environments and packages without importing them."""

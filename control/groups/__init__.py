"""Groups as tests see them."""

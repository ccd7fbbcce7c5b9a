"""Records as bytes, read into columns and written from them."""

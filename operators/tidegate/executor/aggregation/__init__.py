"""GROUP BY in two phases, around an exchange (S5)."""

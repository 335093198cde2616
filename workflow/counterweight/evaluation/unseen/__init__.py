"""How far answers can be trusted where hidden labels do not exist."""

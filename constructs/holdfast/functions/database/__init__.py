"""The daily jobs of a database: their handler, the lock of their layer, and the authorities of RDS."""

"""PostgreSQL: migrations, the catalog compared, partitions kept and archived. Only this package imports psycopg."""

-- What is kept longer than that which it points to: an event keeps the id of its execution, which goes a year before it;
-- the history of a user is kept for ever, so that the user cannot be deleted over it.

-- ON DELETE SET NULL took the id from every event before it was archived. What it has taken is gone.
ALTER TABLE lifecycle_events DROP CONSTRAINT lifecycle_events_workflow_execution_id_fkey;
DROP INDEX idx_lifecycle_events_execution;  -- it served that constraint and no query

-- Months that have left the table and are not frozen yet have the same constraint as their own.
DO $$
DECLARE
  month record;
BEGIN
  FOR month IN
    SELECT log.name, k.conname FROM ops.archive_log log
    JOIN pg_constraint k ON k.conrelid = to_regclass(format('cold.%I', log.name))
    WHERE log.parent = 'lifecycle_events' AND k.confrelid = 'public.workflow_executions'::regclass
  LOOP
    EXECUTE format('ALTER TABLE cold.%I DROP CONSTRAINT %I', month.name, month.conname);
  END LOOP;
END $$;

ALTER TABLE user_lifecycle_history
  DROP CONSTRAINT user_lifecycle_history_user_id_fkey,
  ADD CONSTRAINT user_lifecycle_history_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id);

-- As before, and the table says that it has such a view: one that lacks it now has lost it. A partition that was made by
-- hand with CREATE TABLE ... PARTITION OF says nothing, and gets both from the next run of the daily job.
CREATE OR REPLACE FUNCTION ops.guard(p_table regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text;
BEGIN
  SELECT relname INTO STRICT name FROM pg_class WHERE oid = p_table;
  EXECUTE format('CREATE OR REPLACE VIEW cold.%I AS SELECT true AS kept FROM %s', 'archive_first_' || name, p_table);
  EXECUTE format('COMMENT ON TABLE %s IS %L', p_table, 'archived before it is dropped');
END $$;

SELECT ops.guard(to_regclass(format('public.%I', p.partition)))
FROM ops.partitions() p WHERE to_regclass(format('cold.%I', 'archive_first_' || p.partition)) IS NOT NULL;

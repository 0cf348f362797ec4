-- Rows whose time cannot be right are kept apart, and told: the job never deletes them, and never stops at them.
-- A time is impossible when it is infinite, before the policy's `earliest`, or further ahead than partitions are made.
-- A row that is only late goes to a further part of its period's archive; where a table has none, it comes here, too.

-- Nothing that these tables hold is older: the document's first partition is January 2024. (Assumed.)
ALTER TABLE ops.partition_policy ADD COLUMN earliest timestamptz NOT NULL DEFAULT '2020-01-01 00:00Z';
ALTER TABLE ops.row_policy ADD COLUMN earliest timestamptz NOT NULL DEFAULT '2020-01-01 00:00Z';
ALTER TABLE ops.row_policy ADD COLUMN end_column text;  -- a second time that decides; NULL: there is none
UPDATE ops.row_policy SET end_column = 'completed_at' WHERE table_name = 'workflow_executions';

-- Whole rows, personal data and all, until somebody gives them back to their table or deletes them by hand.
CREATE TABLE ops.quarantine (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  parent          text NOT NULL,
  reason          text NOT NULL,
  quarantined_at  timestamptz NOT NULL,
  contents        jsonb NOT NULL   -- jsonb_populate_record makes the row of it again
);
CREATE INDEX idx_quarantine_parent ON ops.quarantine (parent);

-- Why a row in DEFAULT can have neither a partition nor an archive, as SQL over the row: NULL where it can.
CREATE FUNCTION ops.why_displaced(p_policy ops.partition_policy, p_now timestamptz) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
  SELECT format(
    $q$CASE WHEN NOT isfinite(%1$I) THEN 'the time is infinite'
            WHEN %1$I < timestamptz %2$L THEN 'older than anything that this table can have'
            WHEN %1$I >= timestamptz %3$L THEN 'further ahead than partitions are made'
            WHEN %4$L AND %1$I < timestamptz %5$L THEN 'late, and this table has no archive' END$q$,
    p_policy.key_column,
    p_policy.earliest,
    ops.floor_step(p_now, p_policy.step) + (p_policy.premake + 1) * p_policy.step,
    NOT p_policy.archive,
    coalesce(ops.floor_step(p_now - p_policy.retention, p_policy.step), '-infinity'))
$$;

-- How many rows in DEFAULT have nowhere else to go, and why.
CREATE FUNCTION ops.displaced_rows(p_now timestamptz) RETURNS TABLE (parent text, reason text, rows bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  policy ops.partition_policy;
BEGIN
  FOR policy IN SELECT * FROM ops.partition_policy p ORDER BY p.parent LOOP
    RETURN QUERY EXECUTE format(
      'SELECT $1, seen.why, count(*) FROM (SELECT %s AS why FROM public.%I) AS seen
       WHERE seen.why IS NOT NULL GROUP BY 2 ORDER BY 2',
      ops.why_displaced(policy, p_now), policy.parent || '_default')
    USING policy.parent;
  END LOOP;
END $$;

-- One batch of them leaves DEFAULT for the quarantine, in one statement. Returns how many; call it until 0.
CREATE FUNCTION ops.quarantine_rows(p_parent text, p_reason text, p_now timestamptz, p_limit int) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET lock_timeout = '100ms' AS $$
DECLARE
  policy ops.partition_policy;
  moved  bigint;
BEGIN
  SELECT * INTO STRICT policy FROM ops.partition_policy WHERE parent = p_parent;
  EXECUTE format(
    'WITH gone AS (
       DELETE FROM public.%1$I WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM public.%1$I WHERE %2$s = $1 LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING *)
     INSERT INTO ops.quarantine (parent, reason, quarantined_at, contents) SELECT $3, $1, $4, to_jsonb(gone) FROM gone',
    p_parent || '_default', ops.why_displaced(policy, p_now))
  USING p_reason, p_limit, p_parent, p_now;
  GET DIAGNOSTICS moved = ROW_COUNT;
  RETURN moved;
END $$;

-- As before, but for rows that can be right only: no partition is made for a time that is not.
CREATE OR REPLACE FUNCTION ops.missing_partitions(p_now timestamptz, p_from timestamptz DEFAULT NULL)
RETURNS TABLE (parent text, lower_bound timestamptz)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  policy ops.partition_policy;
  oldest timestamptz;
  newest timestamptz;
BEGIN
  FOR policy IN SELECT * FROM ops.partition_policy p ORDER BY p.parent LOOP
    oldest := greatest(policy.earliest, ops.floor_step(p_now - policy.retention, policy.step));
    newest := ops.floor_step(p_now, policy.step) + policy.premake * policy.step;
    RETURN QUERY EXECUTE format(
      'SELECT $1, wanted.at
       FROM (SELECT generate_series(ops.floor_step(coalesce($2, $3), $4), $5, $4)
             UNION
             SELECT ops.floor_step(%1$I, $4) FROM public.%2$I WHERE %1$I >= $6 AND %1$I < $5 + $4) AS wanted (at)
       WHERE NOT EXISTS (SELECT FROM ops.partitions() p WHERE p.parent = $1 AND p.lower_bound = wanted.at)
       ORDER BY 2', policy.key_column, policy.parent || '_default')
    USING policy.parent, p_from, p_now, policy.step, newest, oldest;
  END LOOP;
END $$;

-- Rows in DEFAULT whose period is expired, of tables that have an archive: it may hold the rest of that period already.
CREATE OR REPLACE FUNCTION ops.late_rows(p_now timestamptz)
RETURNS TABLE (parent text, lower_bound timestamptz, rows bigint, archive boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  policy ops.partition_policy;
BEGIN
  FOR policy IN SELECT * FROM ops.partition_policy p WHERE p.retention IS NOT NULL AND p.archive ORDER BY p.parent LOOP
    RETURN QUERY EXECUTE format(
      'SELECT $1, ops.floor_step(%1$I, $2), count(*), true FROM public.%2$I
       WHERE %1$I >= $3 AND %1$I < $4 GROUP BY 2 ORDER BY 2',
      policy.key_column, policy.parent || '_default')
    USING policy.parent, policy.step, policy.earliest, ops.floor_step(p_now - policy.retention, policy.step);
  END LOOP;
END $$;

-- One batch of late rows leaves DEFAULT for a further part of its period's archive. Returns how many; call it until 0.
-- A part takes rows until it is frozen, so a cut-off run loses none. A table without an archive is refused.
CREATE OR REPLACE FUNCTION ops.drain_late(p_parent text, p_lower timestamptz, p_now timestamptz, p_limit int)
RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET lock_timeout = '100ms' AS $$
DECLARE
  policy   ops.partition_policy;
  upper    timestamptz;
  columns  text;
  name     text;
  moved    bigint;
BEGIN
  SELECT * INTO STRICT policy FROM ops.partition_policy WHERE parent = p_parent;
  upper := p_lower + policy.step;
  IF NOT policy.archive THEN
    RAISE EXCEPTION '% has no archive', p_parent USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF p_lower <> ops.floor_step(p_lower, policy.step) OR upper <= p_now - policy.retention IS NOT TRUE THEN
    RAISE EXCEPTION '% of % is not expired', p_lower, p_parent USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT log.name INTO name FROM ops.archive_log log
  WHERE parent = p_parent AND lower_bound = p_lower AND frozen_at IS NULL AND dropped_at IS NULL;
  IF name IS NULL THEN
    name := ops.log_part(policy, p_lower, upper, p_now);
    EXECUTE format('CREATE TABLE cold.%I (LIKE public.%I INCLUDING INDEXES)', name, p_parent);
    PERFORM ops.guard(to_regclass(format('cold.%I', name)));
  END IF;
  columns := ops.column_list(to_regclass(format('public.%I', p_parent)));
  EXECUTE format(
    'WITH moved AS (
       DELETE FROM public.%1$I WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM public.%1$I WHERE %2$I >= %3$L AND %2$I < %4$L LIMIT %5$s FOR UPDATE SKIP LOCKED))
       RETURNING *)
     INSERT INTO cold.%6$I (%7$s) SELECT %7$s FROM moved',
    p_parent || '_default', policy.key_column, p_lower, upper, p_limit, name, columns);
  GET DIAGNOSTICS moved = ROW_COUNT;
  RETURN moved;
END $$;

-- Whether a time of a row cannot be right, as SQL over the row of a table that is not partitioned: true where it cannot.
-- It is held to the partitions that are made furthest ahead.
CREATE FUNCTION ops.impossible_time(p_policy ops.row_policy, p_now timestamptz) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
  SELECT string_agg(
    format('NOT isfinite(%1$I) OR %1$I < timestamptz %2$L OR %1$I >= timestamptz %3$L',
           at, p_policy.earliest,
           (SELECT max(ops.floor_step(p_now, p.step) + (p.premake + 1) * p.step) FROM ops.partition_policy p)),
    ' OR ')
  FROM unnest(ARRAY[p_policy.age_column, p_policy.end_column]) AS at WHERE at IS NOT NULL
$$;

-- Which rows of such a table are expired, as SQL with the oldest time that is kept as $1. One with an impossible time is
-- not: it stays.
CREATE FUNCTION ops.is_expired(p_policy ops.row_policy, p_now timestamptz) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
  SELECT format('%I < $1 AND (%s) IS NOT TRUE AND (%s)',
                p_policy.age_column, ops.impossible_time(p_policy, p_now), p_policy.predicate)
$$;

-- How many they are.
CREATE OR REPLACE FUNCTION ops.expired_rows(p_table text, p_now timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  policy ops.row_policy;
  found  bigint;
BEGIN
  SELECT * INTO STRICT policy FROM ops.row_policy WHERE table_name = p_table;
  EXECUTE format('SELECT count(*) FROM public.%I WHERE %s', p_table, ops.is_expired(policy, p_now))
  INTO found USING p_now - policy.retention;
  RETURN found;
END $$;

-- Deletes one batch of them; call it until 0.
CREATE OR REPLACE FUNCTION ops.purge_rows(p_table text, p_now timestamptz, p_limit int) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' SET lock_timeout = '100ms' AS $$
DECLARE
  policy ops.row_policy;
  gone   bigint;
BEGIN
  SELECT * INTO STRICT policy FROM ops.row_policy WHERE table_name = p_table;
  EXECUTE format(
    'DELETE FROM public.%1$I WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM public.%1$I WHERE %2$s LIMIT $2 FOR UPDATE SKIP LOCKED))',
    p_table, ops.is_expired(policy, p_now)) USING p_now - policy.retention, p_limit;
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $$;

-- As before, and: rows in quarantine, and rows of other tables that stay because their time is impossible.
CREATE OR REPLACE FUNCTION ops.health(p_now timestamptz) RETURNS TABLE (parent text, metric text, value bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  policy ops.partition_policy;
  plain  ops.row_policy;
BEGIN
  FOR policy IN SELECT * FROM ops.partition_policy p ORDER BY p.parent LOOP
    RETURN QUERY SELECT policy.parent, 'PartitionsAhead', count(*)
      FROM ops.partitions() p WHERE p.parent = policy.parent AND p.lower_bound > p_now;
    RETURN QUERY EXECUTE format('SELECT $1, ''RowsInDefault'', count(*) FROM public.%I', policy.parent || '_default')
      USING policy.parent;
    RETURN QUERY SELECT policy.parent, 'ExpiredAttached', count(*)
      FROM ops.expired_partitions(p_now) e WHERE e.parent = policy.parent;
    RETURN QUERY SELECT policy.parent, 'DetachedWaiting', count(*)
      FROM ops.archive_log l WHERE l.parent = policy.parent AND l.dropped_at IS NULL;
    RETURN QUERY SELECT policy.parent, 'RowsInQuarantine', count(*)
      FROM ops.quarantine q WHERE q.parent = policy.parent;
  END LOOP;
  FOR plain IN SELECT * FROM ops.row_policy r WHERE r.retention IS NOT NULL ORDER BY r.table_name LOOP
    RETURN QUERY EXECUTE format(
      'SELECT $1, ''ImpossibleTimes'', count(*) FROM public.%I WHERE %s',
      plain.table_name, ops.impossible_time(plain, p_now))
      USING plain.table_name;
  END LOOP;
END $$;

-- Partitions ahead of time, retention and archive, in plain SQL: no extension, the same on every server.
-- Every function takes the time as a parameter and thinks in UTC, whatever the session does.
-- `holdfast db retain` calls them in order, one short transaction each.

CREATE SCHEMA ops;
CREATE SCHEMA cold;  -- partitions out of their parent, waiting to be archived or dropped

CREATE TABLE ops.partition_policy (
  parent      text PRIMARY KEY,
  key_column  text NOT NULL,
  step        interval NOT NULL CHECK (step IN (interval '1 month', interval '1 year')),
  premake     int NOT NULL CHECK (premake BETWEEN 1 AND 36),
  retention   interval,          -- NULL: kept for ever
  archive     boolean NOT NULL   -- archived before it is dropped
);

CREATE TABLE ops.row_policy (
  table_name  text PRIMARY KEY,
  age_column  text NOT NULL,
  retention   interval,                       -- NULL: kept for ever
  predicate   text NOT NULL DEFAULT 'true'    -- which rows may go; $1 is the oldest time that is kept
);

INSERT INTO ops.partition_policy (parent, key_column, step, premake, retention, archive) VALUES
  ('lifecycle_events',   'created_at',  '1 month', 3, '2 years', true),
  ('trigger_executions', 'executed_at', '1 month', 3, '90 days', false),
  ('metrics_daily',      'metric_date', '1 year',  1, '3 years', false);

-- An execution that took long is as old as its end. One that is pending or running has none, and never goes.
INSERT INTO ops.row_policy (table_name, age_column, retention, predicate) VALUES
  ('workflow_executions', 'started_at', '1 year',
   $$status IN ('completed', 'failed', 'cancelled') AND (completed_at IS NULL OR completed_at < $1)$$),
  ('user_lifecycle_history', 'transitioned_at', NULL, DEFAULT);

-- One row for every table that was ever in schema cold: a month's partition is part 1 of its archive, late rows of
-- the same month are parts 2, 3 and so on.
CREATE TABLE ops.archive_log (
  name         text PRIMARY KEY,
  parent       text NOT NULL,
  lower_bound  timestamptz NOT NULL,
  upper_bound  timestamptz NOT NULL,
  part         int NOT NULL CHECK (part > 0),
  archive      boolean NOT NULL,
  detached_at  timestamptz NOT NULL,
  frozen_at    timestamptz,
  place        text,       -- the archive that its chunks go to; a run with another one is refused
  rows         bigint,
  fingerprint  numeric,    -- of all rows, see ops.fingerprint
  manifest     text,
  archived_at  timestamptz,
  dropped_at   timestamptz,
  UNIQUE (parent, lower_bound, part),
  CONSTRAINT archived_before_dropped CHECK (NOT archive OR dropped_at IS NULL OR archived_at IS NOT NULL),
  CONSTRAINT archived_as_it_was CHECK (
    archived_at IS NULL OR num_nulls(frozen_at, place, rows, fingerprint, manifest) = 0)
);

CREATE TABLE ops.archive_chunk (
  name       text NOT NULL REFERENCES ops.archive_log,
  chunk      int NOT NULL CHECK (chunk > 0),
  after_key  text[],           -- its rows are those after this key (NULL: from the first on)
  last_key   text[] NOT NULL,  -- up to this one
  rows       bigint NOT NULL CHECK (rows > 0),
  bytes      bigint NOT NULL CHECK (bytes > 0),
  sha256     text NOT NULL,
  object     text NOT NULL,
  PRIMARY KEY (name, chunk)
);

CREATE FUNCTION ops.floor_step(p_at timestamptz, p_step interval) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
  SELECT date_trunc(CASE p_step WHEN interval '1 year' THEN 'year' ELSE 'month' END, p_at)
$$;

CREATE FUNCTION ops.partition_name(p_parent text, p_lower timestamptz, p_step interval) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
  SELECT p_parent || to_char(p_lower, CASE p_step WHEN interval '1 year' THEN '"_"YYYY' ELSE '"_"YYYY"_"MM' END)
$$;

-- The columns of a table by name: a partition that was attached by hand may have them in another order.
CREATE FUNCTION ops.column_list(p_table regclass) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum)
  FROM pg_attribute WHERE attrelid = p_table AND attnum > 0 AND NOT attisdropped
$$;

-- Every partition of the parents under policy, DEFAULT apart. A function, because a view would read dates in the
-- session's time zone.
CREATE FUNCTION ops.partitions()
RETURNS TABLE (parent text, partition text, lower_bound timestamptz, upper_bound timestamptz)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
  SELECT p.parent, c.relname::text,
         (regexp_match(b.bound, $re$FROM \('([^']+)'\)$re$))[1]::timestamptz,
         (regexp_match(b.bound, $re$TO \('([^']+)'\)$re$))[1]::timestamptz
  FROM ops.partition_policy p
  JOIN pg_inherits i ON i.inhparent = to_regclass('public.' || quote_ident(p.parent))
  JOIN pg_class c ON c.oid = i.inhrelid
  CROSS JOIN LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) AS bound) b
  WHERE b.bound <> 'DEFAULT'
$$;

-- What is to be created: the current partition, `premake` ones ahead, and those of rows that wait in DEFAULT although
-- their time is kept. Rows further ahead wait there until their time comes nearer. p_from also fills the past.
CREATE FUNCTION ops.missing_partitions(p_now timestamptz, p_from timestamptz DEFAULT NULL)
RETURNS TABLE (parent text, lower_bound timestamptz)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  policy ops.partition_policy;
  oldest timestamptz;
  newest timestamptz;
BEGIN
  FOR policy IN SELECT * FROM ops.partition_policy p ORDER BY p.parent LOOP
    oldest := coalesce(ops.floor_step(p_now - policy.retention, policy.step), '-infinity');
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

-- A plain DROP TABLE of rows that are not archived yet is refused, because a view depends on the table. This needs no
-- superuser, as an event trigger would. DROP ... CASCADE still drops both: whoever writes that is told in advance.
CREATE FUNCTION ops.guard(p_table regclass) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  name text;
BEGIN
  SELECT relname INTO STRICT name FROM pg_class WHERE oid = p_table;
  EXECUTE format('CREATE OR REPLACE VIEW cold.%I AS SELECT true AS kept FROM %s', 'archive_first_' || name, p_table);
END $$;

-- The locks for a change of a parent's partitions, and those of the tables that its foreign keys point to. The parent
-- usually comes first: most writers queue there before they hold anything else. Whoever holds the other tables then
-- would deadlock with us, so the caller tries both orders in turn. A failed try stalls writers for at most two waits;
-- lock_timeout keeps those short, and far below deadlock_timeout (1 s): this side always gives up first.
CREATE FUNCTION ops.lock_partitions(p_parent text, p_mode text, p_parent_first boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  own   text := format('LOCK TABLE ONLY public.%I IN %s MODE', p_parent, p_mode);
  other text;
BEGIN
  SELECT format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', string_agg(DISTINCT confrelid::regclass::text, ', '))
  INTO other
  FROM pg_constraint WHERE conrelid = to_regclass(format('public.%I', p_parent)) AND contype = 'f'
  HAVING count(*) > 0;
  IF p_parent_first THEN
    EXECUTE own;
  END IF;
  IF other IS NOT NULL THEN
    EXECUTE other;
  END IF;
  IF NOT p_parent_first THEN
    EXECUTE own;
  END IF;
END $$;

-- One partition, in a transaction of its own; its rows that wait in DEFAULT are moved over. Returns how many.
-- Writers have to wait at the parent: one that waited at DEFAULT would be refused its row, as that has moved.
CREATE FUNCTION ops.create_partition(p_parent text, p_lower timestamptz, p_parent_first boolean DEFAULT true)
RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET lock_timeout = '100ms' AS $$
DECLARE
  policy  ops.partition_policy;
  upper   timestamptz;
  name    text;
  columns text;
  moved   bigint;
BEGIN
  SELECT * INTO STRICT policy FROM ops.partition_policy WHERE parent = p_parent;
  IF p_lower <> ops.floor_step(p_lower, policy.step) THEN
    RAISE EXCEPTION '% does not begin a partition of %', p_lower, p_parent USING ERRCODE = 'invalid_parameter_value';
  END IF;
  upper := p_lower + policy.step;
  name := ops.partition_name(p_parent, p_lower, policy.step);
  columns := ops.column_list(to_regclass(format('public.%I', p_parent)));
  PERFORM ops.lock_partitions(p_parent, 'SHARE ROW EXCLUSIVE', p_parent_first);
  EXECUTE format('LOCK TABLE public.%I IN ACCESS EXCLUSIVE MODE', p_parent || '_default');
  EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name, p_parent);
  EXECUTE format(
    'WITH moved AS (DELETE FROM public.%1$I WHERE %2$I >= %3$L AND %2$I < %4$L RETURNING *)
     INSERT INTO public.%5$I (%6$s) SELECT %6$s FROM moved',
    p_parent || '_default', policy.key_column, p_lower, upper, name, columns);
  GET DIAGNOSTICS moved = ROW_COUNT;
  EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
                 p_parent, name, p_lower, upper);
  IF policy.archive THEN
    PERFORM ops.guard(to_regclass(format('public.%I', name)));
  END IF;
  RETURN moved;
END $$;

-- Partitions of which every row is expired: 90 days in monthly partitions are 90 to 121 days.
CREATE FUNCTION ops.expired_partitions(p_now timestamptz)
RETURNS TABLE (parent text, partition text, lower_bound timestamptz, upper_bound timestamptz, archive boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
  SELECT p.parent, p.partition, p.lower_bound, p.upper_bound, policy.archive
  FROM ops.partitions() p JOIN ops.partition_policy policy USING (parent)
  WHERE p.upper_bound <= p_now - policy.retention
  ORDER BY p.parent, p.lower_bound
$$;

-- The next part of a period's archive, entered in the log. Returns the name of its table in schema cold.
CREATE FUNCTION ops.log_part(
  p_policy ops.partition_policy, p_lower timestamptz, p_upper timestamptz, p_now timestamptz) RETURNS text
LANGUAGE sql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
  INSERT INTO ops.archive_log AS log (name, parent, lower_bound, upper_bound, part, archive, detached_at)
  SELECT ops.partition_name(p_policy.parent, p_lower, p_policy.step) || CASE WHEN n > 1 THEN '_part' || n ELSE '' END,
         p_policy.parent, p_lower, p_upper, n, p_policy.archive, p_now
  FROM (SELECT coalesce(max(part), 0) + 1 AS n FROM ops.archive_log
        WHERE parent = p_policy.parent AND lower_bound = p_lower) AS next
  RETURNING log.name
$$;

-- Takes one expired partition out of its parent. Returns its name in schema cold.
CREATE FUNCTION ops.detach_partition(p_partition text, p_now timestamptz, p_parent_first boolean DEFAULT true)
RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET lock_timeout = '100ms' AS $$
DECLARE
  policy  ops.partition_policy;
  expired record;
  name    text;
  index   regclass;
BEGIN
  SELECT * INTO expired FROM ops.expired_partitions(p_now) e WHERE e.partition = p_partition;
  IF NOT FOUND THEN
    RAISE EXCEPTION '% is not expired', p_partition USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT * INTO STRICT policy FROM ops.partition_policy WHERE parent = expired.parent;
  PERFORM ops.lock_partitions(expired.parent, 'ACCESS EXCLUSIVE', p_parent_first);
  EXECUTE format('ALTER TABLE public.%I DETACH PARTITION public.%I', expired.parent, p_partition);
  name := ops.log_part(policy, expired.lower_bound, expired.upper_bound, p_now);
  EXECUTE format('DROP VIEW IF EXISTS cold.%I', 'archive_first_' || p_partition);
  IF name <> p_partition THEN
    EXECUTE format('ALTER TABLE public.%I RENAME TO %I', p_partition, name);
    FOR index IN SELECT indexrelid FROM pg_index WHERE indrelid = to_regclass(format('public.%I', name)) LOOP
      EXECUTE format('ALTER INDEX %s RENAME TO %I', index, name || '_' || index::oid);  -- part 1 may still have theirs
    END LOOP;
  END IF;
  EXECUTE format('ALTER TABLE public.%I SET SCHEMA cold', name);
  IF policy.archive THEN
    PERFORM ops.guard(to_regclass(format('cold.%I', name)));
  END IF;
  RETURN name;
END $$;

-- Rows in DEFAULT whose period is expired: late ones, of a month that may be archived already.
CREATE FUNCTION ops.late_rows(p_now timestamptz)
RETURNS TABLE (parent text, lower_bound timestamptz, rows bigint, archive boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  policy ops.partition_policy;
BEGIN
  FOR policy IN SELECT * FROM ops.partition_policy p WHERE p.retention IS NOT NULL ORDER BY p.parent LOOP
    RETURN QUERY EXECUTE format(
      'SELECT $1, ops.floor_step(%1$I, $2), count(*), $3 FROM public.%2$I WHERE %1$I < $4 GROUP BY 2 ORDER BY 2',
      policy.key_column, policy.parent || '_default')
    USING policy.parent, policy.step, policy.archive, ops.floor_step(p_now - policy.retention, policy.step);
  END LOOP;
END $$;

-- One batch of late rows leaves DEFAULT: into a further part of its period's archive, or for good where nothing is
-- archived. Returns how many; call it until 0. A part takes rows until it is frozen, so a cut-off run loses none.
CREATE FUNCTION ops.drain_late(p_parent text, p_lower timestamptz, p_now timestamptz, p_limit int) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET lock_timeout = '100ms' AS $$
DECLARE
  policy   ops.partition_policy;
  upper    timestamptz;
  late     text;
  columns  text;
  name     text;
  moved    bigint;
BEGIN
  SELECT * INTO STRICT policy FROM ops.partition_policy WHERE parent = p_parent;
  upper := p_lower + policy.step;
  IF p_lower <> ops.floor_step(p_lower, policy.step) OR upper <= p_now - policy.retention IS NOT TRUE THEN
    RAISE EXCEPTION '% of % is not expired', p_lower, p_parent USING ERRCODE = 'invalid_parameter_value';
  END IF;
  late := format(
    'DELETE FROM public.%1$I WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM public.%1$I WHERE %2$I >= %3$L AND %2$I < %4$L LIMIT %5$s FOR UPDATE SKIP LOCKED))',
    p_parent || '_default', policy.key_column, p_lower, upper, p_limit);
  IF NOT policy.archive THEN
    EXECUTE late;
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
  END IF;
  SELECT log.name INTO name FROM ops.archive_log log
  WHERE parent = p_parent AND lower_bound = p_lower AND frozen_at IS NULL AND dropped_at IS NULL;
  IF name IS NULL THEN
    name := ops.log_part(policy, p_lower, upper, p_now);
    EXECUTE format('CREATE TABLE cold.%I (LIKE public.%I INCLUDING INDEXES)', name, p_parent);
    PERFORM ops.guard(to_regclass(format('cold.%I', name)));
  END IF;
  columns := ops.column_list(to_regclass(format('public.%I', p_parent)));
  EXECUTE format('WITH moved AS (%1$s RETURNING *) INSERT INTO cold.%2$I (%3$s) SELECT %3$s FROM moved',
                 late, name, columns);
  GET DIAGNOSTICS moved = ROW_COUNT;
  RETURN moved;
END $$;

CREATE FUNCTION ops.refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION '%.% is frozen: it is archived as it is', TG_TABLE_SCHEMA, TG_TABLE_NAME
    USING ERRCODE = 'object_not_in_prerequisite_state';
END $$;

-- From here on the rows stay as they are: no foreign key changes them, and a trigger refuses everybody else.
-- One foreign key in a transaction, as each needs the table it points to for a moment. Call it until it is true.
CREATE FUNCTION ops.freeze_partition(p_name text, p_now timestamptz) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
  key text;
BEGIN
  SELECT conname INTO key FROM pg_constraint
  WHERE conrelid = to_regclass(format('cold.%I', p_name)) AND contype = 'f' ORDER BY conname LIMIT 1;
  IF FOUND THEN
    EXECUTE format('ALTER TABLE cold.%I DROP CONSTRAINT %I', p_name, key);
    RETURN false;
  END IF;
  EXECUTE format('CREATE TRIGGER frozen BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON cold.%I
                  FOR EACH STATEMENT EXECUTE FUNCTION ops.refuse_change()', p_name);
  UPDATE ops.archive_log SET frozen_at = p_now WHERE name = p_name;
  RETURN true;
END $$;

-- Rows, and a sum over them of 64 bits of each row's SHA-256: it needs no order and no memory, and every row counts.
-- The settings decide how a row is written; `holdfast db restore-check` uses the same.
CREATE FUNCTION ops.fingerprint(p_table regclass, OUT rows bigint, OUT fingerprint numeric)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO, YMD'
SET intervalstyle = 'postgres' SET extra_float_digits = 1 SET bytea_output = 'hex' AS $$
BEGIN
  EXECUTE format(
    $q$SELECT count(*), coalesce(sum(('x' || encode(sha256(convert_to(t::text, 'UTF8')), 'hex'))::bit(64)::bigint), 0)
       FROM %s t$q$, p_table) INTO rows, fingerprint;
END $$;

-- Says that a frozen table is in the archive, after counting again that its chunks hold all of it.
CREATE FUNCTION ops.mark_archived(p_name text, p_manifest text, p_fingerprint numeric, p_now timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held     bigint;
  archived bigint;
BEGIN
  EXECUTE format('SELECT count(*) FROM cold.%I', p_name) INTO held;
  SELECT coalesce(sum(rows), 0) INTO archived FROM ops.archive_chunk WHERE name = p_name;
  IF held <> archived THEN
    RAISE EXCEPTION 'cold.% holds % rows but % are archived', p_name, held, archived USING ERRCODE = 'data_exception';
  END IF;
  UPDATE ops.archive_log SET rows = held, fingerprint = p_fingerprint, manifest = p_manifest, archived_at = p_now
  WHERE name = p_name;
END $$;

-- Drops one table of schema cold. The log is written first: its constraint refuses what is not archived.
CREATE FUNCTION ops.drop_detached(p_name text, p_now timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
  log  ops.archive_log;
  held bigint;
BEGIN
  UPDATE ops.archive_log l SET dropped_at = p_now WHERE l.name = p_name AND l.dropped_at IS NULL RETURNING * INTO STRICT log;
  IF log.archive THEN
    EXECUTE format('SELECT count(*) FROM cold.%I', p_name) INTO held;
    IF held <> log.rows THEN
      RAISE EXCEPTION 'cold.% holds % rows but % are archived', p_name, held, log.rows USING ERRCODE = 'data_exception';
    END IF;
    EXECUTE format('DROP VIEW IF EXISTS cold.%I', 'archive_first_' || p_name);
  END IF;
  EXECUTE format('DROP TABLE cold.%I', p_name);
END $$;

-- How many rows of a table that is not partitioned are expired.
CREATE FUNCTION ops.expired_rows(p_table text, p_now timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  policy ops.row_policy;
  found  bigint;
BEGIN
  SELECT * INTO STRICT policy FROM ops.row_policy WHERE table_name = p_table;
  EXECUTE format('SELECT count(*) FROM public.%I WHERE %I < $1 AND (%s)',
                 p_table, policy.age_column, policy.predicate) INTO found USING p_now - policy.retention;
  RETURN found;
END $$;

-- Deletes one batch of them; call it until 0.
CREATE FUNCTION ops.purge_rows(p_table text, p_now timestamptz, p_limit int) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' SET lock_timeout = '100ms' AS $$
DECLARE
  policy ops.row_policy;
  gone   bigint;
BEGIN
  SELECT * INTO STRICT policy FROM ops.row_policy WHERE table_name = p_table;
  EXECUTE format(
    'DELETE FROM public.%1$I WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM public.%1$I WHERE %2$I < $1 AND (%3$s) LIMIT $2 FOR UPDATE SKIP LOCKED))',
    p_table, policy.age_column, policy.predicate) USING p_now - policy.retention, p_limit;
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $$;

-- What to be alarmed about: too few partitions ahead, rows that found none, expired ones that stay, archives that wait.
CREATE FUNCTION ops.health(p_now timestamptz) RETURNS TABLE (parent text, metric text, value bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  policy ops.partition_policy;
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
  END LOOP;
END $$;

SELECT ops.guard('public.lifecycle_events_default');

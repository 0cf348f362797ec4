-- The daily upkeep, in plain SQL: rows that end, recordings whose state follows their objects, and what a person has
-- to be told. Every function takes the time as a parameter. The ages and quotas are chosen; assumed.toml says why.
CREATE SCHEMA ops;

CREATE TABLE ops.row_policy (
  table_name  text PRIMARY KEY,
  age_column  text NOT NULL,
  retention   interval NOT NULL CHECK (retention > interval '0'),
  earliest    timestamptz NOT NULL DEFAULT '2020-01-01 00:00Z',  -- an older time is wrong, and its row stays
  quota       bigint CHECK (quota > 0)  -- bytes of the table with its indexes. More is told, and nothing is deleted
                                        -- for it: who can fill an audit log could else empty it of what came before
);
INSERT INTO ops.row_policy (table_name, age_column, retention, quota) VALUES
  ('operation_logs', 'created_at', '1 year', 20 * 2::bigint ^ 30),
  ('signaling_messages', 'created_at', '90 days', 20 * 2::bigint ^ 30),
  ('meeting_recordings', 'deleted_at', '35 days', NULL);

-- What the bucket does with the objects below recordings/, as the rows have to say it. The bucket's own ages are in
-- its declaration. A row ends two days sooner than its object, so that no row promises what is gone.
CREATE TABLE ops.recording_policy (
  the_only_row   boolean PRIMARY KEY DEFAULT true CHECK (the_only_row),
  archive_after  interval NOT NULL CHECK (archive_after > interval '0'),
  delete_after   interval NOT NULL CHECK (delete_after > archive_after),
  quota          bigint NOT NULL CHECK (quota > 0),             -- bytes of all recordings
  safe           interval NOT NULL CHECK (safe > interval '0')  -- no younger recording is given up for the quota
);
INSERT INTO ops.recording_policy (archive_after, delete_after, quota, safe) VALUES
  ('180 days', '363 days', 2 * 2::bigint ^ 40, '30 days');

-- Marks recordings as archived once their objects are in the archive's storage class, and as deleted before their
-- objects expire, or when newer recordings fill the quota. An archived one is read at the same path as before.
CREATE FUNCTION ops.follow(p_now timestamptz) RETURNS TABLE (action text, name text, rows bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  policy ops.recording_policy;
BEGIN
  SELECT * INTO STRICT policy FROM ops.recording_policy;
  name := 'recordings';
  UPDATE public.meeting_recordings SET deleted_at = p_now
  WHERE deleted_at IS NULL AND created_at < p_now - policy.delete_after;
  action := 'expire';
  GET DIAGNOSTICS rows = ROW_COUNT;
  RETURN NEXT;
  WITH held AS (
    SELECT id, created_at, sum(size_bytes) OVER (ORDER BY created_at DESC, id DESC) AS bytes
    FROM public.meeting_recordings WHERE deleted_at IS NULL AND status IN ('ready', 'archived')
  )
  UPDATE public.meeting_recordings r SET deleted_at = p_now FROM held
  WHERE r.id = held.id AND held.bytes > policy.quota AND held.created_at < p_now - policy.safe;
  action := 'make room';
  GET DIAGNOSTICS rows = ROW_COUNT;
  RETURN NEXT;
  UPDATE public.meeting_recordings SET status = 'archived'
  WHERE deleted_at IS NULL AND status = 'ready' AND created_at < p_now - policy.archive_after;
  action := 'archive';
  GET DIAGNOSTICS rows = ROW_COUNT;
  RETURN NEXT;
END $$;

-- How many rows of a table are expired.
CREATE FUNCTION ops.expired_rows(p_table text, p_now timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  policy ops.row_policy;
  found  bigint;
BEGIN
  SELECT * INTO STRICT policy FROM ops.row_policy WHERE table_name = p_table;
  EXECUTE format('SELECT count(*) FROM public.%1$I WHERE %2$I >= $1 AND %2$I < $2', p_table, policy.age_column)
  INTO found USING policy.earliest, p_now - policy.retention;
  RETURN found;
END $$;

-- Deletes one batch of them; call it until 0.
CREATE FUNCTION ops.purge_rows(p_table text, p_now timestamptz, p_limit int) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  policy ops.row_policy;
  gone   bigint;
BEGIN
  SELECT * INTO STRICT policy FROM ops.row_policy WHERE table_name = p_table;
  EXECUTE format(
    'DELETE FROM public.%1$I WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM public.%1$I WHERE %2$I >= $1 AND %2$I < $2 LIMIT $3 FOR UPDATE SKIP LOCKED))',
    p_table, policy.age_column) USING policy.earliest, p_now - policy.retention, p_limit;
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $$;

-- How full each quota is, in percent.
CREATE FUNCTION ops.quotas() RETURNS TABLE (name text, percent numeric)
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
  SELECT table_name, round(100.0 * pg_total_relation_size(format('public.%I', table_name)::regclass) / quota, 1)
  FROM ops.row_policy WHERE quota IS NOT NULL
  UNION ALL
  SELECT 'recordings', round(100.0 * coalesce(sum(r.size_bytes), 0) / p.quota, 1)
  FROM ops.recording_policy p LEFT JOIN public.meeting_recordings r ON r.deleted_at IS NULL GROUP BY p.quota
  ORDER BY 1
$$;

-- What a purge looks for, and what decides the state of a recording.
CREATE INDEX idx_signaling_messages_created_at ON signaling_messages (created_at);
CREATE INDEX idx_meeting_recordings_created_at ON meeting_recordings (created_at) WHERE deleted_at IS NULL;

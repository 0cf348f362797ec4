-- A person is erased by a procedure of its own. Its role has no other right; administrators grant it to those who erase:
-- GRANT lifecycle_erasure TO ... Roles belong to the whole server: another database on it may have made this one.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lifecycle_erasure') THEN
    CREATE ROLE lifecycle_erasure NOLOGIN;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
  NULL;
END $$;

-- E-mail address, attributes and memberships go. History, executions, triggers' executions and events stay for as long as
-- they are kept: of a nameless user with a new id, without their free texts. Returns how many rows of which table.
-- Frozen months and the archive cannot change: they keep the old id, which names no user from then on.
CREATE FUNCTION ops.erase_user(p_user uuid, OUT place text, OUT rows bigint) RETURNS SETOF record
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  nameless uuid := gen_random_uuid();
  emptied  text;
  known    bigint := 0;
BEGIN
  PERFORM FROM public.users WHERE id = p_user FOR UPDATE;  -- what is written about the user now comes before this
  INSERT INTO public.users (id, email, current_lifecycle_stage, created_at)
  SELECT nameless, nameless || '@erased.invalid', current_lifecycle_stage, created_at FROM public.users WHERE id = p_user;
  FOR place, emptied IN
    VALUES ('public.user_lifecycle_history', $q$user_id = $2, metadata = '{}' WHERE user_id = $1$q$),
           ('public.workflow_executions',
            $q$user_id = $2, variables = '{}', error_message = NULL WHERE user_id = $1$q$),
           ('public.trigger_executions', 'user_id = $2, event_data = NULL WHERE user_id = $1'),
           ('public.lifecycle_events', 'user_id = $2, event_data = NULL WHERE user_id = $1'),
           ('public.workflows', 'created_by = $2 WHERE created_by = $1'),
           ('ops.quarantine',
            $q$contents = contents || jsonb_build_object('user_id', $2, 'event_data', NULL)
               WHERE contents ->> 'user_id' = $1::text$q$)
    UNION ALL
    SELECT format('cold.%I', log.name), 'user_id = $2, event_data = NULL WHERE user_id = $1' FROM ops.archive_log log
    WHERE log.parent IN ('trigger_executions', 'lifecycle_events') AND log.frozen_at IS NULL AND log.dropped_at IS NULL
  LOOP
    EXECUTE format('UPDATE %s SET %s', place, emptied) USING p_user, nameless;
    GET DIAGNOSTICS rows = ROW_COUNT;
    known := known + rows;
    RETURN NEXT;
  END LOOP;
  place := 'public.user_segment_memberships';
  DELETE FROM public.user_segment_memberships WHERE user_id = p_user;
  GET DIAGNOSTICS rows = ROW_COUNT;
  RETURN NEXT;
  place := 'public.users';
  DELETE FROM public.users WHERE id = p_user;
  GET DIAGNOSTICS rows = ROW_COUNT;
  RETURN NEXT;
  IF known + rows = 0 THEN
    RAISE EXCEPTION 'user % is not known: erased already, or another id', p_user USING ERRCODE = 'no_data_found';
  END IF;
END $$;

REVOKE ALL ON FUNCTION ops.erase_user(uuid) FROM PUBLIC;
GRANT USAGE ON SCHEMA ops TO lifecycle_erasure;
GRANT EXECUTE ON FUNCTION ops.erase_user(uuid) TO lifecycle_erasure;

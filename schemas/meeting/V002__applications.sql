-- The role that applications log in as: rows of the eleven tables, no definition of any, and nothing in holdfast.
-- It has no password. On RDS it comes in with IAM; elsewhere, whoever runs the server says how.
-- Roles belong to the whole server: another database on it may have made this one before, or at this very moment.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'meeting_app') THEN
    CREATE ROLE meeting_app LOGIN;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
  NULL;
END $$;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_iam') THEN
    IF NOT pg_has_role('meeting_app', 'rds_iam', 'MEMBER') THEN
      GRANT rds_iam TO meeting_app;
    END IF;
  END IF;
END $$;

REVOKE CREATE ON SCHEMA public FROM PUBLIC;  -- before 15, everybody could make tables there

-- Rows with deleted_at are marked, and not deleted.
GRANT SELECT, INSERT, UPDATE ON
  users, meetings, meeting_participants, meeting_recordings, system_configs TO meeting_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON
  meeting_rooms, media_streams, signaling_sessions, signaling_messages, ai_tasks TO meeting_app;
GRANT SELECT, INSERT ON operation_logs TO meeting_app;  -- an audit is added to, and never changed
GRANT SELECT ON active_meetings_stats TO meeting_app;

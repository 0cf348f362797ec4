-- The role that applications log in as: rows of the ten tables, no definition of any, and nothing in ops, cold and
-- holdfast. It has no password. On RDS it comes in with IAM; elsewhere, whoever runs the server says how.
-- Roles belong to the whole server: another database on it may have made this one before, or at this very moment.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'lifecycle_app') THEN
    CREATE ROLE lifecycle_app LOGIN;
  END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
  NULL;
END $$;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_iam') THEN
    IF NOT pg_has_role('lifecycle_app', 'rds_iam', 'MEMBER') THEN
      GRANT rds_iam TO lifecycle_app;
    END IF;
  END IF;
END $$;

REVOKE CREATE ON SCHEMA public FROM PUBLIC;  -- before 15, everybody could make tables there

GRANT SELECT, INSERT, UPDATE, DELETE ON
  users, workflows, user_segments, user_segment_memberships, triggers TO lifecycle_app;
-- Old rows of these go by the retention's rules alone.
GRANT SELECT, INSERT, UPDATE ON workflow_executions, trigger_executions, metrics_daily TO lifecycle_app;
-- What has happened is added to, and never changed.
GRANT SELECT, INSERT ON user_lifecycle_history, lifecycle_events TO lifecycle_app;
GRANT USAGE ON SEQUENCE
  user_lifecycle_history_id_seq, lifecycle_events_id_seq, metrics_daily_id_seq TO lifecycle_app;

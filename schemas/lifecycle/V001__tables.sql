-- The lifecycle platform's ten tables. Where they depart from the document, deviations.toml says why (D1 to D7).
SET LOCAL timezone = 'UTC';  -- D6: bounds are read in the zone of the session

CREATE TABLE users (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  email varchar(255) UNIQUE NOT NULL,
  current_lifecycle_stage varchar(50) NOT NULL,
  attributes jsonb DEFAULT '{}',
  created_at timestamptz DEFAULT now(),
  updated_at timestamptz DEFAULT now(),
  CONSTRAINT valid_lifecycle_stage CHECK (
    current_lifecycle_stage IN ('Acquisition', 'Activation', 'Retention', 'Revenue', 'Referral')
  )
);
CREATE INDEX idx_users_lifecycle_stage ON users (current_lifecycle_stage);
CREATE INDEX idx_users_attributes ON users USING gin (attributes);
CREATE INDEX idx_users_created_at ON users (created_at);

CREATE TABLE user_lifecycle_history (
  id bigserial PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  from_stage varchar(50),
  to_stage varchar(50) NOT NULL,
  transitioned_at timestamptz DEFAULT now(),
  workflow_execution_id uuid,
  metadata jsonb DEFAULT '{}',
  CONSTRAINT valid_stages CHECK (
    (from_stage IS NULL OR from_stage IN ('Acquisition', 'Activation', 'Retention', 'Revenue', 'Referral'))
    AND to_stage IN ('Acquisition', 'Activation', 'Retention', 'Revenue', 'Referral')
  )
);
CREATE INDEX idx_lifecycle_history_user ON user_lifecycle_history (user_id, transitioned_at DESC);
CREATE INDEX idx_lifecycle_history_stage ON user_lifecycle_history (to_stage, transitioned_at DESC);

CREATE TABLE workflows (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name varchar(255) NOT NULL,
  description text,
  bpmn_xml text NOT NULL,
  version varchar(50) NOT NULL DEFAULT '1.0.0',
  lifecycle_stages varchar(50)[] DEFAULT '{}',
  status varchar(50) NOT NULL DEFAULT 'draft',
  created_by uuid,
  created_at timestamptz DEFAULT now(),
  updated_at timestamptz DEFAULT now(),
  CONSTRAINT valid_workflow_status CHECK (status IN ('draft', 'active', 'inactive', 'archived'))
);
CREATE INDEX idx_workflows_status ON workflows (status);
CREATE INDEX idx_workflows_lifecycle ON workflows USING gin (lifecycle_stages);

CREATE TABLE workflow_executions (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  workflow_id uuid NOT NULL REFERENCES workflows (id),
  user_id uuid NOT NULL REFERENCES users (id),
  status varchar(50) NOT NULL DEFAULT 'pending',
  variables jsonb DEFAULT '{}',
  current_node_id varchar(255),
  started_at timestamptz DEFAULT now(),
  completed_at timestamptz,
  error_message text,
  CONSTRAINT valid_execution_status CHECK (status IN ('pending', 'running', 'completed', 'failed', 'cancelled'))
);
CREATE INDEX idx_executions_workflow ON workflow_executions (workflow_id, started_at DESC);
CREATE INDEX idx_executions_user ON workflow_executions (user_id, started_at DESC);
CREATE INDEX idx_executions_status ON workflow_executions (status, started_at DESC);

CREATE TABLE user_segments (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name varchar(255) NOT NULL,
  description text,
  conditions jsonb NOT NULL,
  lifecycle_stages varchar(50)[] DEFAULT '{}',
  created_at timestamptz DEFAULT now(),
  updated_at timestamptz DEFAULT now()
);
CREATE INDEX idx_segments_stages ON user_segments USING gin (lifecycle_stages);

CREATE TABLE user_segment_memberships (
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  segment_id uuid NOT NULL REFERENCES user_segments (id) ON DELETE CASCADE,
  evaluated_at timestamptz DEFAULT now(),
  valid_until timestamptz,
  PRIMARY KEY (user_id, segment_id)
);
CREATE INDEX idx_memberships_segment ON user_segment_memberships (segment_id, evaluated_at DESC);
CREATE INDEX idx_memberships_expiry ON user_segment_memberships (valid_until) WHERE valid_until IS NOT NULL;

CREATE TABLE triggers (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name varchar(255) NOT NULL,
  event_type varchar(255) NOT NULL,
  conditions jsonb NOT NULL,
  workflow_id uuid REFERENCES workflows (id),
  enabled boolean DEFAULT true,
  created_at timestamptz DEFAULT now(),
  updated_at timestamptz DEFAULT now()
);
CREATE INDEX idx_triggers_event_type ON triggers (event_type) WHERE enabled = true;
CREATE INDEX idx_triggers_workflow ON triggers (workflow_id) WHERE enabled = true;

CREATE TABLE trigger_executions (
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  trigger_id uuid NOT NULL REFERENCES triggers (id),
  user_id uuid REFERENCES users (id),
  event_data jsonb,
  condition_met boolean NOT NULL,
  workflow_execution_id uuid REFERENCES workflow_executions (id) ON DELETE SET NULL,  -- D3
  executed_at timestamptz NOT NULL DEFAULT now(),  -- D2
  PRIMARY KEY (id, executed_at)  -- D1
) PARTITION BY RANGE (executed_at);  -- D6
CREATE INDEX idx_trigger_executions_trigger ON trigger_executions (trigger_id, executed_at DESC);
CREATE INDEX idx_trigger_executions_user ON trigger_executions (user_id, executed_at DESC);
CREATE INDEX idx_trigger_executions_execution ON trigger_executions (workflow_execution_id)  -- D4
  WHERE workflow_execution_id IS NOT NULL;
CREATE TABLE trigger_executions_default PARTITION OF trigger_executions DEFAULT;  -- D7

CREATE TABLE lifecycle_events (
  id bigserial,
  event_type varchar(100) NOT NULL,
  user_id uuid REFERENCES users (id),
  workflow_execution_id uuid REFERENCES workflow_executions (id) ON DELETE SET NULL,  -- D3
  lifecycle_stage varchar(50),
  event_data jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),  -- D2
  PRIMARY KEY (id, created_at)  -- D1
) PARTITION BY RANGE (created_at);  -- D6
CREATE INDEX idx_lifecycle_events_user ON lifecycle_events (user_id, created_at DESC);
CREATE INDEX idx_lifecycle_events_type ON lifecycle_events (event_type, created_at DESC);
CREATE INDEX idx_lifecycle_events_stage ON lifecycle_events (lifecycle_stage, created_at DESC);
CREATE INDEX idx_lifecycle_events_created ON lifecycle_events (created_at DESC);
CREATE INDEX idx_lifecycle_events_execution ON lifecycle_events (workflow_execution_id)  -- D4
  WHERE workflow_execution_id IS NOT NULL;
CREATE TABLE lifecycle_events_default PARTITION OF lifecycle_events DEFAULT;  -- D7

CREATE TABLE metrics_daily (
  id bigserial,
  metric_date date NOT NULL,
  lifecycle_stage varchar(50) NOT NULL,
  metric_name varchar(100) NOT NULL,
  metric_value numeric NOT NULL,
  dimensions jsonb NOT NULL DEFAULT '{}',  -- D5
  PRIMARY KEY (id, metric_date),  -- D1
  UNIQUE (metric_date, lifecycle_stage, metric_name, dimensions)
) PARTITION BY RANGE (metric_date);  -- D6
CREATE INDEX idx_metrics_date_stage ON metrics_daily (metric_date DESC, lifecycle_stage);
CREATE INDEX idx_metrics_name ON metrics_daily (metric_name, metric_date DESC);
CREATE TABLE metrics_daily_default PARTITION OF metrics_daily DEFAULT;  -- D7

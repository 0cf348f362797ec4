-- The documented unique keys hold among all rows, so that ON CONFLICT (email) finds one to rest on. V001 left the rows
-- that are marked deleted out; where one of them has the key of another row, it has to give it up first.
UPDATE users u SET username = left(username, 40) || '~' || id
WHERE deleted_at IS NOT NULL AND EXISTS (SELECT FROM users o WHERE o.username = u.username AND o.id <> u.id);
UPDATE users u SET email = left(email, 230) || '~' || id
WHERE deleted_at IS NOT NULL AND EXISTS (SELECT FROM users o WHERE o.email = u.email AND o.id <> u.id);
UPDATE system_configs c SET config_key = left(config_key, 100) || '~' || id
WHERE deleted_at IS NOT NULL
  AND EXISTS (SELECT FROM system_configs o WHERE o.config_key = c.config_key AND o.id <> c.id);
-- A participant is a pair of ids, which cannot be changed: the row that is not marked stays, else the latest.
DELETE FROM meeting_participants p
WHERE deleted_at IS NOT NULL AND EXISTS (
  SELECT FROM meeting_participants o
  WHERE (o.meeting_id, o.user_id) = (p.meeting_id, p.user_id) AND (o.deleted_at IS NULL OR o.id > p.id)
    AND o.id <> p.id
);

DROP INDEX uq_users_username;
ALTER TABLE users ADD CONSTRAINT uq_users_username UNIQUE (username);
DROP INDEX uq_users_email;
ALTER TABLE users ADD CONSTRAINT uq_users_email UNIQUE (email);
DROP INDEX uq_meeting_participants;
ALTER TABLE meeting_participants ADD CONSTRAINT uq_meeting_participants UNIQUE (meeting_id, user_id);
DROP INDEX uq_system_configs_config_key;
ALTER TABLE system_configs ADD CONSTRAINT uq_system_configs_config_key UNIQUE (config_key);

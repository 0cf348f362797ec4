-- Each number is counted by itself: joined to one another, participants and streams made a row for every pair of them.
CREATE OR REPLACE VIEW active_meetings_stats AS
SELECT m.id AS meeting_id, m.title, m.creator_id, m.start_time, p.participants, r.open_rooms, s.active_streams
FROM meetings m
CROSS JOIN LATERAL (
  SELECT count(*) AS participants FROM meeting_participants p
  WHERE p.meeting_id = m.id AND p.status = 'joined' AND p.deleted_at IS NULL
) p
CROSS JOIN LATERAL (
  SELECT count(*) AS open_rooms FROM meeting_rooms r WHERE r.meeting_id = m.id AND r.status = 'open'
) r
CROSS JOIN LATERAL (
  SELECT count(*) AS active_streams FROM meeting_rooms r JOIN media_streams s ON s.room_id = r.room_id
  WHERE r.meeting_id = m.id AND s.status = 'active'
) s
WHERE m.status = 'ongoing' AND m.deleted_at IS NULL;

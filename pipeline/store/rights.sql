-- What the roles may do. `research store init` runs this again where the roles have rights already.
REVOKE ALL ON streams, events, branch_events, objects, written_off FROM research_app, research_maintenance;
GRANT SELECT ON streams, events, branch_events, objects, written_off, store_migrations TO research_app, research_maintenance;
GRANT USAGE ON SEQUENCE store_connections TO research_app, research_maintenance;
GRANT EXECUTE ON FUNCTION append_event, take_up, hand_on TO research_app, research_maintenance;
GRANT INSERT ON objects TO research_app, research_maintenance;
-- The nights that many machines share, and the queue of their jobs.
GRANT SELECT, INSERT, UPDATE, DELETE ON nights, night_jobs, pace, pgqueuer, pgqueuer_log, pgqueuer_statistics, pgqueuer_schedules
    TO research_app, research_maintenance;
GRANT USAGE ON SEQUENCE pgqueuer_id_seq, pgqueuer_log_id_seq, pgqueuer_statistics_id_seq, pgqueuer_schedules_id_seq
    TO research_app, research_maintenance;

GRANT INSERT ON streams, events, branch_events, written_off TO research_maintenance;
GRANT UPDATE ON streams TO research_maintenance;
GRANT DELETE ON streams, events, branch_events, objects TO research_maintenance;

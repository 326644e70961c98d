-- The roles of an event store in PostgreSQL. Run this once, after `research store init`, as the role that owns the tables or as a
-- superuser, in the same database:  research store init --print-roles | psql DATABASE
--
--   research_app          researches: it appends and reads. It can neither change nor delete an event or an object.
--   research_maintenance  also removes: for research prune, research forget and research store copy.
--
-- Whoever owns the tables upgrades them with `research store init`. Set passwords with  \password research_app
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'research_app') THEN
        CREATE ROLE research_app LOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'research_maintenance') THEN
        CREATE ROLE research_maintenance LOGIN;
    END IF;
END
$$;

GRANT SELECT ON streams, events, branch_events, objects, written_off, store_migrations TO research_app, research_maintenance;
GRANT USAGE ON SEQUENCE store_connections TO research_app, research_maintenance;
GRANT INSERT ON streams, events, objects TO research_app, research_maintenance;
GRANT UPDATE (version, head, bytes, fence, owner, writer) ON streams TO research_app, research_maintenance;
-- The nights that many machines share, and the queue of their jobs.
GRANT SELECT, INSERT, UPDATE, DELETE ON nights, night_jobs, pace, pgqueuer, pgqueuer_log, pgqueuer_statistics, pgqueuer_schedules
    TO research_app, research_maintenance;
GRANT USAGE ON SEQUENCE pgqueuer_id_seq, pgqueuer_log_id_seq, pgqueuer_statistics_id_seq, pgqueuer_schedules_id_seq
    TO research_app, research_maintenance;


GRANT INSERT ON branch_events, written_off TO research_maintenance;
GRANT UPDATE (segment, line, hash, prev) ON events TO research_maintenance;
GRANT DELETE ON streams, events, branch_events, objects TO research_maintenance;

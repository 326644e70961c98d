-- The roles of an event store in PostgreSQL. Run this once, after `research store init`, as the role that owns the tables or as a
-- superuser, in the same database:  research store init --print-roles | psql DATABASE
--
--   research_app          researches: it reads, and appends by the one function that does. It can neither change nor delete an
--                         event or an object, nor say that a stream ends earlier than it does.
--   research_maintenance  also removes: for research forget and research store copy.
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

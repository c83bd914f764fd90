-- Order by position, uncertain outcomes, circuits and budgets of destinations, wider pauses, alarms.

-- `place` orders the waiting jobs of a lane, `position` is what the sender said (NULL: unknown).
ALTER TABLE jobs ADD COLUMN position INTEGER;
ALTER TABLE jobs ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN earliest_us INTEGER;
ALTER TABLE jobs ADD COLUMN stale INTEGER NOT NULL DEFAULT 0 CHECK (stale IN (0, 1));
ALTER TABLE jobs ADD COLUMN superseded_by INTEGER;
ALTER TABLE jobs ADD COLUMN fault TEXT
    CHECK (fault IN ('refused', 'unreachable', 'handler', 'posthouse'));
ALTER TABLE jobs ADD COLUMN probe_us INTEGER CHECK (probe_us IS NULL OR state = 'uncertain');
DROP INDEX jobs_waiting;
CREATE INDEX jobs_waiting ON jobs (lane, rank, place, id) WHERE state = 'waiting';
-- One head a lane, and so at most one running job.
DROP INDEX jobs_running;
CREATE UNIQUE INDEX jobs_head ON jobs (lane) WHERE state IN ('ready', 'running', 'retrying');
CREATE INDEX jobs_faults ON jobs (route, fault) WHERE state = 'dead';
CREATE INDEX jobs_uncertain ON jobs (route, id) WHERE state = 'uncertain';
CREATE INDEX jobs_superseded ON jobs (route) WHERE state = 'superseded';
CREATE INDEX jobs_probed ON jobs (probe_us) WHERE probe_us IS NOT NULL;

-- `measure` says what positions of the lane are: 1 the sender's numbers, 2 times. `seen` is the
-- highest that arrived, `done` the highest whose job succeeded: older ones are stale. `background`
-- is set while jobs may be there that yield to live ones.
ALTER TABLE lanes ADD COLUMN latest INTEGER NOT NULL DEFAULT 0 CHECK (latest IN (0, 1));
ALTER TABLE lanes ADD COLUMN measure INTEGER CHECK (measure IN (1, 2));
ALTER TABLE lanes ADD COLUMN seen INTEGER;
ALTER TABLE lanes ADD COLUMN done INTEGER;
ALTER TABLE lanes ADD COLUMN done_by INTEGER;
ALTER TABLE lanes ADD COLUMN background INTEGER NOT NULL DEFAULT 0 CHECK (background IN (0, 1));
CREATE INDEX lanes_halted ON lanes (route) WHERE halted_by IS NOT NULL;

-- What takes no jobs, and why. A lane also has its number.
CREATE TABLE stops (
    scope TEXT NOT NULL CHECK (scope IN ('source', 'route', 'destination', 'lane')),
    name TEXT NOT NULL,
    lane INTEGER,
    reason TEXT NOT NULL,
    since_us INTEGER NOT NULL,
    PRIMARY KEY (scope, name)
) STRICT, WITHOUT ROWID;
INSERT INTO stops (scope, name, reason, since_us)
    SELECT 'route', route, reason, since_us FROM pauses;
DROP TABLE pauses;
ALTER TABLE stops RENAME TO pauses;

-- Destinations whose circuit is not closed.
CREATE TABLE circuits (
    destination TEXT NOT NULL PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('open', 'half_open')),
    since_us INTEGER NOT NULL,
    until_us INTEGER NOT NULL,
    opens INTEGER NOT NULL,
    reason TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Destinations with a rate: when the next job may start. The row is also the lock of their claims.
CREATE TABLE budgets (
    destination TEXT NOT NULL PRIMARY KEY,
    next_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Causes for alarm that have not cleared. `told_us` is when the last one to be told was told,
-- `telling_until_us` until when somebody is at it; `clears_us` is set for what merely happened.
CREATE TABLE alarms (
    cause TEXT NOT NULL,
    subject TEXT NOT NULL,
    raised_us INTEGER NOT NULL,
    last_us INTEGER NOT NULL,
    count INTEGER NOT NULL,
    detail TEXT NOT NULL,
    clears_us INTEGER,
    told_us INTEGER,
    telling_until_us INTEGER,
    PRIMARY KEY (cause, subject)
) STRICT, WITHOUT ROWID;

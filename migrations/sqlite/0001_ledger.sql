-- The ledger: what was received, what is to be done about it, and what came of it.
-- Column types are INTEGER (integers, times in microseconds since 1970 as *_us), TEXT and BLOB only.

-- `body` stays the last column: SQLite then reads the others without touching its overflow pages.
-- INTEGER PRIMARY KEY makes the id the row's address; AUTOINCREMENT never gives a number twice.
CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    entity TEXT,
    occurred_us INTEGER,
    sequence INTEGER,
    received_us INTEGER NOT NULL,
    coverage TEXT NOT NULL CHECK (coverage IN ('body', 'sender', 'nothing')),
    secret INTEGER,
    fingerprint BLOB NOT NULL,
    repeats INTEGER NOT NULL DEFAULT 0,
    conflicts INTEGER NOT NULL DEFAULT 0,
    repeated_us INTEGER,
    headers BLOB NOT NULL,
    body_bytes INTEGER NOT NULL,
    encoding TEXT NOT NULL CHECK (encoding IN ('plain', 'zstd', 'forgotten')),
    body BLOB NOT NULL,
    UNIQUE (source, key)
) STRICT;

-- `due_us` is set exactly while the job may be claimed, `lease_until_us` exactly while it runs:
-- the partial indexes then hold only the jobs that somebody looks for.
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    route TEXT NOT NULL,
    lane INTEGER,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'ready', 'running',
        'retrying', 'succeeded', 'dead', 'uncertain', 'superseded', 'cancelled')),
    rank INTEGER NOT NULL DEFAULT 0,
    due_us INTEGER,
    lease_until_us INTEGER,
    worker TEXT,
    token INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    tries INTEGER NOT NULL DEFAULT 0,
    sequence INTEGER,
    created_us INTEGER NOT NULL,
    since_us INTEGER NOT NULL,
    settled_us INTEGER,
    reason TEXT,
    replays INTEGER,
    nonce TEXT,
    CHECK ((due_us IS NOT NULL) = (state IN ('ready', 'retrying'))),
    CHECK ((lease_until_us IS NOT NULL) = (state = 'running'))
) STRICT;
CREATE INDEX jobs_due ON jobs (route, rank, due_us) WHERE due_us IS NOT NULL;
CREATE INDEX jobs_waiting ON jobs (lane, rank) WHERE state = 'waiting';
CREATE UNIQUE INDEX jobs_running ON jobs (lane) WHERE state = 'running';
CREATE INDEX jobs_dead ON jobs (id) WHERE state = 'dead';
CREATE INDEX jobs_leased ON jobs (lease_until_us) WHERE lease_until_us IS NOT NULL;

-- The lock and the counters of a lane. `open` counts its jobs that are not finished, and the dead
-- one that halts it.
CREATE TABLE lanes (
    lane INTEGER PRIMARY KEY,
    route TEXT NOT NULL,
    entity TEXT NOT NULL,
    open INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    halted_by INTEGER,
    touched_us INTEGER NOT NULL
) STRICT;

CREATE TABLE attempts (
    job INTEGER NOT NULL,
    n INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    status INTEGER,
    started_us INTEGER NOT NULL,
    ended_us INTEGER NOT NULL,
    worker TEXT NOT NULL,
    detail TEXT NOT NULL,
    excerpt BLOB NOT NULL,
    PRIMARY KEY (job, n)
) STRICT, WITHOUT ROWID;

-- Refused requests, counted by source and reason: bounded by construction.
CREATE TABLE rejections (
    source TEXT NOT NULL,
    reason TEXT NOT NULL,
    count INTEGER NOT NULL,
    first_us INTEGER NOT NULL,
    last_us INTEGER NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (source, reason)
) STRICT, WITHOUT ROWID;

-- Routes that take no jobs, and why.
CREATE TABLE pauses (
    route TEXT NOT NULL PRIMARY KEY,
    reason TEXT NOT NULL,
    since_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What operators did.
CREATE TABLE operations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_us INTEGER NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;

-- One row that is written to find out whether anything can be.
CREATE TABLE probes (
    id INTEGER PRIMARY KEY,
    at_us INTEGER NOT NULL
) STRICT;

-- Refused requests one by one, a bounded number of each source's, the oldest out first. What could
-- be a secret, the URL's query and most headers, is in `sealed`, encrypted under a key that is not
-- in the database; `headers` is what may be shown.
CREATE TABLE quarantine (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    received_us INTEGER NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    cause TEXT,
    likely TEXT,
    headers BLOB NOT NULL,
    sealed BLOB NOT NULL,
    kept_bytes INTEGER NOT NULL,
    body_bytes INTEGER NOT NULL,
    encoding TEXT NOT NULL CHECK (encoding IN ('plain', 'zstd', 'forgotten')),
    body BLOB NOT NULL
) STRICT;
CREATE INDEX quarantine_source ON quarantine (source, id);
CREATE INDEX quarantine_received ON quarantine (received_us);

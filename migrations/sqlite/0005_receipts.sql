-- Every later receipt of a delivery, up to a bound: when, from where, and whether it said the same.
CREATE TABLE receipts (
    delivery INTEGER NOT NULL,
    n INTEGER NOT NULL,
    at_us INTEGER NOT NULL,
    peer TEXT NOT NULL,
    same INTEGER NOT NULL CHECK (same IN (0, 1)),
    PRIMARY KEY (delivery, n)
) STRICT, WITHOUT ROWID;

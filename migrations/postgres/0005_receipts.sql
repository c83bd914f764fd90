-- Every later receipt of a delivery, up to a bound: when, from where, and whether it said the same.
CREATE TABLE receipts (
    delivery BIGINT NOT NULL,
    n BIGINT NOT NULL,
    at_us BIGINT NOT NULL,
    peer TEXT NOT NULL,
    same BIGINT NOT NULL CHECK (same IN (0, 1)),
    PRIMARY KEY (delivery, n)
);

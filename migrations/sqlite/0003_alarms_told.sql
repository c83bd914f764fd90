-- Who has been told of an alarm, and how long a source has been silent.

-- The log is told first: `told_us` is when, `telling_until_us` until when somebody is at it. Then
-- comes the http destination: `sent` is 0 while it cannot know, 1 while the first try is under
-- way, 2 when that may have arrived, 3 when it has. `cleared_us` is set while the end is still to
-- be told.
ALTER TABLE alarms ADD COLUMN cleared_us INTEGER;
ALTER TABLE alarms ADD COLUMN sent INTEGER NOT NULL DEFAULT 0 CHECK (sent IN (0, 1, 2, 3));
ALTER TABLE alarms ADD COLUMN sending_until_us INTEGER;

CREATE INDEX deliveries_received ON deliveries (source, received_us);

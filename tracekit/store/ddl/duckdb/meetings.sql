-- Boundaries of which there is more than one observation: what has to be compared and fused. All others, by far the most, stand
-- as they were seen, and reading them costs nothing more.
CREATE TABLE meetings (
    session_id VARCHAR NOT NULL,
    boundary VARCHAR NOT NULL,
    key VARCHAR NOT NULL        -- the name under which all witnesses meet
);

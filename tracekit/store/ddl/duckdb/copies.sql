-- Copies of another session's entries, as forks and resumes make them. The session that began first owns the boundary.
CREATE TABLE copies (
    session_id VARCHAR NOT NULL,  -- the session that holds the copy
    boundary VARCHAR NOT NULL,
    key VARCHAR NOT NULL,
    owner VARCHAR NOT NULL        -- the session that owns it
);

-- What each witness saw: one row an observation, never altered.
CREATE TABLE spans (
    file_id BIGINT NOT NULL,
    position BIGINT NOT NULL,        -- byte of the first line that the observation rests on
    source VARCHAR NOT NULL,         -- the witness
    session_id VARCHAR NOT NULL,
    agent_id VARCHAR,                -- NULL: the main agent
    boundary VARCHAR NOT NULL,
    key VARCHAR NOT NULL,            -- the identity that the world gave the thing
    parent_key VARCHAR,
    name VARCHAR NOT NULL,
    start_ns BIGINT NOT NULL,        -- earliest start, Unix nanoseconds
    start_slack_ns BIGINT NOT NULL,  -- latest start minus earliest
    end_ns BIGINT,                   -- latest end; NULL: seen to begin, not to end
    end_slack_ns BIGINT NOT NULL,    -- latest end minus earliest
    status VARCHAR NOT NULL,         -- unset, ok, error, cancelled
    attributes MAP(VARCHAR, VARCHAR) NOT NULL,
    events VARCHAR                   -- JSON text: moments that the witness marked inside the span
);

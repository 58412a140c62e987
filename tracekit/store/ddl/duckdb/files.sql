-- The ledger: what has been read of each file. A row changes in the same transaction as the spans of its file.
CREATE TABLE files (
    file_id BIGINT PRIMARY KEY,     -- hash of the path
    path VARCHAR NOT NULL,          -- absolute
    form VARCHAR NOT NULL,          -- transcript, stream_json, otlp, …
    size BIGINT NOT NULL,           -- bytes when it was read
    modified_ns BIGINT NOT NULL,    -- mtime when it was read
    inode BIGINT NOT NULL,
    head_digest VARCHAR NOT NULL,   -- of the first bytes: another file under the same name is read anew
    read_to BIGINT NOT NULL,        -- byte after the last complete line
    read_to_line BIGINT NOT NULL,   -- number of the line that begins there
    resume_at BIGINT NOT NULL,      -- spans from here on may change when the file grows
    resume_line BIGINT NOT NULL,
    resume_entries BIGINT NOT NULL, -- JSON objects before resume_at
    entries BIGINT NOT NULL,        -- JSON objects read so far
    imported_ns BIGINT NOT NULL
);

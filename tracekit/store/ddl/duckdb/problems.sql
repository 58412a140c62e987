-- What could not be read. The rest of its file was.
CREATE TABLE problems (
    file_id BIGINT NOT NULL,
    line BIGINT NOT NULL,      -- from 1; 0: the file as a whole
    position BIGINT NOT NULL,
    reason VARCHAR NOT NULL,
    detail VARCHAR NOT NULL
);

-- What this store is. One row a fact.
CREATE TABLE meta (
    name VARCHAR PRIMARY KEY,  -- schema_version, created_by
    value VARCHAR NOT NULL
);

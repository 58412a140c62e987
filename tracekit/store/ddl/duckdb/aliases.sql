-- Other names of one thing: a witness without the world's id for it gave it one of its own, and what the thing is made of tells.
CREATE TABLE aliases (
    session_id VARCHAR NOT NULL,
    key VARCHAR NOT NULL,       -- the name that a witness gave it
    canonical VARCHAR NOT NULL  -- the name under which all witnesses meet
);

-- The network's mirrors, as its coordinator names them to nodes: gym-api names them to owners, who fetch public models there.
CREATE TABLE registry.mirror (
    position integer PRIMARY KEY CHECK (position BETWEEN 0 AND 63),
    url text NOT NULL CHECK (octet_length(url) BETWEEN 1 AND 512)
);
GRANT SELECT, INSERT, DELETE ON registry.mirror TO gym_coordinator;
GRANT SELECT ON registry.mirror TO gym_api;

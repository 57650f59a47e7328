-- A unit that no beacon drew is verified after all if its delta was left out for its norm (docs/PROTOCOL.md, "Sampling").
INSERT INTO registry.unit_transition VALUES ('unsampled', 'sampled');

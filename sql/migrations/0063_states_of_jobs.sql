-- Weights that the network has trained are known by their root, whatever way they come back.
CREATE INDEX round_next_base ON registry.round (next_base_root) WHERE next_base_root IS NOT NULL;

-- CommitmentLog has the aggregates: each with the record of the next round, or alone behind a job's last one
-- (docs/adr/0047-aggregates-on-chain.md).

-- The block in which the aggregate of the round is on chain, once it is known.
ALTER TABLE registry.round ADD COLUMN aggregate_block registry.counter,
    ADD CONSTRAINT round_aggregate_block_check CHECK (aggregate_block IS NULL OR next_base_root IS NOT NULL);

-- The block from which the window counts in which games about a unit are opened. A game about an aggregate needs the epoch of
-- its round, and nobody can have seen the aggregate before it is on chain.
CREATE FUNCTION registry.window_block(kind text, posted bigint, aggregate bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN kind <> 'aggregate' THEN posted
                WHEN posted IS NOT NULL AND aggregate IS NOT NULL THEN greatest(posted, aggregate) END
$$;

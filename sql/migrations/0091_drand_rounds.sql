-- What draws a round's units is prevrandao of a block or, where the network's CommitmentLog names a drand chain, a round of that.
ALTER TABLE registry.round ADD COLUMN drand_round registry.counter CHECK (drand_round >= 1);
ALTER TABLE registry.round DROP CONSTRAINT round_check2;
ALTER TABLE registry.round ADD CONSTRAINT round_is_drawn CHECK (
    state IN ('recorded', 'open', 'sealed')
    OR (posted_block IS NOT NULL AND num_nonnulls(beacon_block, drand_round) = 1));

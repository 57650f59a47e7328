-- The validation loss of a round's next base state follows while the workers of the next round compute; a closed round has one.
ALTER TABLE registry.round DROP CONSTRAINT round_check5;
ALTER TABLE registry.round
    ADD CONSTRAINT round_aggregated_check CHECK (state NOT IN ('aggregated', 'closed')
        OR num_nonnulls(next_base_root, next_base_blob, next_momentum_root, next_momentum_blob, aggregated_at_ms) = 5),
    ADD CONSTRAINT round_loss_check CHECK (state <> 'closed' OR validation_loss IS NOT NULL);

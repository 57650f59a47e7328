-- When the games of a unit were opened (docs/PROTOCOL.md, "Disputes"): a unit whose window on chain was over by then does
-- not wait for them, or games about ever newer units of one worker would keep all that it has from ever being paid.
ALTER TABLE registry.disputed_unit
    ADD COLUMN opened_block bigint CHECK (opened_block >= 0);  -- of the first that is open; NULL: not known

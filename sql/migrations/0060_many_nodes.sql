-- Rounds of thousands of units, and nodes that wait without asking (docs/ARCHITECTURE.md, "What the coordinator carries").

-- The feed is written once a statement, not once a row: a counter that is updated for each of thousands of rows in one
-- transaction is read through all of its dead versions each time.
DROP TRIGGER write_unit_event ON registry.unit;
DROP FUNCTION registry.write_unit_event();

-- Takes so many numbers at once. Returns the number before the first.
CREATE FUNCTION registry.next_numbers(which text, many bigint) RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    UPDATE registry.sequence SET last = last + many WHERE name = which RETURNING last::bigint - many
$$;

-- What an event says about a unit.
CREATE FUNCTION registry.unit_event_detail(verifier bytea, tokens bigint, flops bigint, draws integer, reason_code text,
                                           reason text) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('verifier', encode(verifier, 'hex'), 'tokens', tokens, 'flops', flops, 'draws', draws,
                              'reason_code', reason_code, 'reason', reason)
$$;

-- Both run as the owner: no other role may write the feed, so there is no state without its event.
CREATE FUNCTION registry.write_new_unit_events() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    units bigint := (SELECT count(*) FROM added);
    before bigint;
BEGIN
    IF units = 0 THEN
        RETURN NULL;
    END IF;
    before := registry.next_numbers('unit_event', units);
    INSERT INTO registry.unit_event (seq, unit_id, from_state, to_state, at_ms, detail)
    SELECT before + row_number() OVER (ORDER BY n.job_id, n.round, n.slot, n.attempt), n.id, NULL, n.state,
           n.changed_at_ms, registry.unit_event_detail(n.verifier, n.tokens, n.flops, n.draws, n.reason_code, n.reason)
    FROM added n;
    PERFORM pg_notify('gym_tasks', '');
    RETURN NULL;
END
$$;
CREATE TRIGGER write_new_unit_events AFTER INSERT ON registry.unit REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION registry.write_new_unit_events();

-- The plans of a function stay as they were first made, most often for one row: thousands are not to be joined by loops.
CREATE FUNCTION registry.write_unit_events() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_nestloop = off AS $$
DECLARE
    units bigint;
    drawn boolean;
    before bigint;
BEGIN
    SELECT count(*) FILTER (WHERE n.state <> o.state OR n.draws <> o.draws),
           coalesce(bool_or(n.verifier IS NOT NULL AND n.verifier IS DISTINCT FROM o.verifier), false)
    INTO units, drawn FROM after_update n JOIN before_update o USING (id);
    IF units > 0 THEN
        before := registry.next_numbers('unit_event', units);
        INSERT INTO registry.unit_event (seq, unit_id, from_state, to_state, at_ms, detail)
        SELECT before + row_number() OVER (ORDER BY n.job_id, n.round, n.slot, n.attempt), n.id, o.state, n.state,
               n.changed_at_ms, registry.unit_event_detail(n.verifier, n.tokens, n.flops, n.draws, n.reason_code, n.reason)
        FROM after_update n JOIN before_update o USING (id)
        WHERE n.state <> o.state OR n.draws <> o.draws;
    END IF;
    IF drawn THEN
        PERFORM pg_notify('gym_tasks', '');
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER write_unit_events AFTER UPDATE ON registry.unit
    REFERENCING OLD TABLE AS before_update NEW TABLE AS after_update
    FOR EACH STATEMENT EXECUTE FUNCTION registry.write_unit_events();

-- A node that is excluded while it waits for a task is told so at once.
CREATE FUNCTION registry.announce_exclusion() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('gym_node', encode(NEW.address, 'hex'));
    RETURN NULL;
END
$$;
CREATE TRIGGER announce_exclusion AFTER UPDATE ON registry.node FOR EACH ROW
    WHEN (OLD.excluded_at_ms IS NULL AND NEW.excluded_at_ms IS NOT NULL)
    EXECUTE FUNCTION registry.announce_exclusion();

-- Who has something to do.
CREATE INDEX unit_busy ON registry.unit (worker) WHERE state IN ('assigned', 'disputed');
CREATE INDEX unit_drawn ON registry.unit (verifier) WHERE state IN ('sampled', 'reported');

-- Heartbeats rewrite the rows: room for the next version on the same page.
ALTER TABLE registry.node SET (fillfactor = 50);

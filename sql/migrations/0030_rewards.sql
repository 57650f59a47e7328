-- Epoch accounting (docs/REWARDS.md): what turned into which credit, which epoch pays it, how far the epoch
-- is on its way to the chain. Money itself is in schema ledger. Times ending in _ms are Unix milliseconds.
CREATE SCHEMA rewards;

CREATE DOMAIN rewards.address AS bytea CHECK (octet_length(VALUE) = 20);
CREATE DOMAIN rewards.digest AS bytea CHECK (octet_length(VALUE) = 32);

-- How far each feed of the registry has been read; moves in the transaction of the postings.
CREATE TABLE rewards.cursor (
    name text PRIMARY KEY CHECK (name IN ('unit_event', 'accepted_report')),
    position bigint NOT NULL CHECK (position >= 0)
);
INSERT INTO rewards.cursor VALUES ('unit_event', 0), ('accepted_report', 0);

-- Finalized events that were booked, by (chain, block hash, log index).
CREATE TABLE rewards.chain_event (
    key rewards.digest PRIMARY KEY,
    kind text NOT NULL,
    block bigint NOT NULL,
    handled_at_ms bigint NOT NULL
);

CREATE TABLE rewards.settlement (
    epoch bigint PRIMARY KEY CHECK (epoch >= 1),
    -- closed: booked and file made; released: tokens are in the distributor; submitted: the root is on chain.
    state text NOT NULL CHECK (state IN ('closed', 'released', 'submitted', 'disabled')),
    payout_root rewards.digest NOT NULL,
    total_cumulative ledger.amount NOT NULL,
    file text NOT NULL,
    file_root rewards.digest NOT NULL,
    problem text NOT NULL DEFAULT '',
    active_at_ms bigint,                 -- from the chain
    closed_at_ms bigint NOT NULL,
    changed_at_ms bigint NOT NULL,
    -- The ledger's seal at the epoch's close, also in its published file, whose root is posted with the payout root.
    seal_number bigint,
    seal_hash rewards.digest,
    CHECK (state <> 'submitted' OR active_at_ms IS NOT NULL),
    CHECK ((seal_number IS NULL) = (seal_hash IS NULL))
);
-- One epoch is under way at a time.
CREATE UNIQUE INDEX settlement_under_way ON rewards.settlement ((true)) WHERE state IN ('closed', 'released');

CREATE TABLE rewards.credit (
    id uuid PRIMARY KEY,  -- of the ledger transfer that makes it
    kind text NOT NULL
        CHECK (kind IN ('compute', 'verification', 'uptime', 'data', 'fee', 'burn', 'emission')),
    state text NOT NULL CHECK (state IN ('pending', 'posted', 'void', 'unfunded')),
    -- The transfer that decided it: a post, a void, or the transfer itself.
    posting uuid UNIQUE,
    -- Unfunded and nothing but money is missing: the unit is final.
    due boolean NOT NULL DEFAULT false,
    earner rewards.address NOT NULL,
    node rewards.address,
    job_id rewards.digest NOT NULL,
    round bigint NOT NULL,
    unit_id rewards.digest,
    flops bigint NOT NULL DEFAULT 0 CHECK (flops >= 0),
    tokens bigint NOT NULL DEFAULT 0 CHECK (tokens >= 0),
    price ledger.amount NOT NULL DEFAULT 0,
    premium_ppm bigint NOT NULL DEFAULT 0,
    quality_ppm bigint NOT NULL DEFAULT 0,
    compute ledger.amount NOT NULL DEFAULT 0,
    uptime_ppm bigint NOT NULL DEFAULT 0,
    bonus_max_ppm bigint NOT NULL DEFAULT 0,
    amount ledger.amount NOT NULL,
    reason text NOT NULL DEFAULT '',
    epoch bigint REFERENCES rewards.settlement,  -- whose payout root includes it
    created_at_ms bigint NOT NULL,
    changed_at_ms bigint NOT NULL,
    -- Of credits of a round as a whole, the inputs that explain them.
    challenges bigint NOT NULL DEFAULT 0 CHECK (challenges >= 0),  -- uptime
    answered bigint NOT NULL DEFAULT 0,
    charged ledger.amount NOT NULL DEFAULT 0,                      -- fee, burn: the credits it is on
    fee_ppm bigint NOT NULL DEFAULT 0 CHECK (fee_ppm BETWEEN 0 AND 1000000),
    burned_ppm bigint NOT NULL DEFAULT 0 CHECK (burned_ppm BETWEEN 0 AND 1000000),
    burned ledger.amount NOT NULL DEFAULT 0,                       -- emission: what the round burned
    emission_ppm bigint NOT NULL DEFAULT 0 CHECK (emission_ppm BETWEEN 0 AND 1000000),
    compute_total ledger.amount NOT NULL DEFAULT 0,
    payer rewards.address,  -- NULL: the job's escrow
    -- Of a credit for a part of a mix: the part, the tokens taken of it, of how many, and the parts before it.
    dataset rewards.digest,
    part_tokens bigint NOT NULL DEFAULT 0,
    mix_tokens bigint NOT NULL DEFAULT 0,
    weight_before ledger.amount NOT NULL DEFAULT 0,
    CHECK ((posting IS NOT NULL) = (state IN ('posted', 'void')) OR (state = 'void' AND posting IS NULL)),
    CHECK (epoch IS NULL OR state = 'posted'),
    CHECK (NOT due OR state = 'unfunded' OR state = 'posted'),
    CHECK (answered BETWEEN 0 AND challenges),
    CONSTRAINT credit_has_unit CHECK ((kind IN ('compute', 'verification', 'data')) = (unit_id IS NOT NULL)),
    CONSTRAINT credit_has_payer CHECK ((kind = 'emission') = (payer IS NOT NULL)),
    CONSTRAINT credit_has_part CHECK (CASE WHEN dataset IS NULL THEN (part_tokens, mix_tokens, weight_before) = (0, 0, 0)
                                      ELSE kind = 'data' AND part_tokens > 0 AND mix_tokens > part_tokens END)
);
CREATE INDEX credit_earner ON rewards.credit (earner, created_at_ms DESC);
CREATE INDEX credit_unit ON rewards.credit (unit_id);
CREATE INDEX credit_open ON rewards.credit (job_id, round) WHERE epoch IS NULL;
CREATE INDEX credit_unfunded ON rewards.credit (created_at_ms) WHERE state = 'unfunded';

-- Rounds whose units are all decided and whose uptime bonuses are booked.
CREATE TABLE rewards.finished_round (
    job_id rewards.digest NOT NULL,
    round bigint NOT NULL,
    registry_epoch bigint NOT NULL UNIQUE,
    epoch bigint REFERENCES rewards.settlement,  -- whose file lists it
    finished_at_ms bigint NOT NULL,
    -- The span over which the round's uptime credits count.
    uptime_from_ms bigint CHECK (uptime_from_ms >= 0),
    uptime_to_ms bigint CHECK (uptime_to_ms >= uptime_from_ms),
    -- Why no epoch can pay this round: the limit of the contracts that it exceeds. It waits until the limit is raised.
    held text NOT NULL DEFAULT '',
    PRIMARY KEY (job_id, round),
    CONSTRAINT finished_round_uptime CHECK ((uptime_from_ms IS NULL) = (uptime_to_ms IS NULL))
);
CREATE INDEX finished_round_held ON rewards.finished_round (job_id, round) WHERE held <> '';

-- The amount that an epoch adds per earner, and the sum that its root pays.
CREATE TABLE rewards.payout (
    epoch bigint NOT NULL REFERENCES rewards.settlement,
    earner rewards.address NOT NULL,
    earned ledger.amount NOT NULL CHECK (earned > 0),
    cumulative ledger.amount NOT NULL CHECK (cumulative >= earned),
    PRIMARY KEY (epoch, earner)
);
CREATE INDEX payout_earner ON rewards.payout (earner, epoch DESC);

CREATE TABLE rewards.release (
    epoch bigint NOT NULL REFERENCES rewards.settlement,
    owner rewards.address NOT NULL,
    amount ledger.amount NOT NULL CHECK (amount > 0),
    PRIMARY KEY (epoch, owner)
);

-- Orders to the chain by name ("release:7:0", "root:7"). One that failed in a block gets the next attempt.
CREATE TABLE rewards.chain_order (
    name text PRIMARY KEY,
    attempt integer NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    done boolean NOT NULL DEFAULT false
);

-- Withdrawals of more than was free, to be reduced on chain.
CREATE TABLE rewards.trim (
    id text PRIMARY KEY,
    owner rewards.address NOT NULL,
    amount ledger.amount NOT NULL,
    done boolean NOT NULL DEFAULT false,
    -- Trims go out in the order of their requests: an owner with many of them must not push back anybody else's.
    seq bigint GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX trim_open ON rewards.trim (seq) WHERE NOT done;
CREATE INDEX trim_owner ON rewards.trim (owner) WHERE NOT done;

CREATE TABLE rewards.reconciliation (
    block bigint PRIMARY KEY,
    escrow_ledger ledger.amount NOT NULL,
    escrow_chain ledger.amount NOT NULL,
    distributor_ledger ledger.amount NOT NULL,
    distributor_chain ledger.amount NOT NULL,
    at_ms bigint NOT NULL,
    claimed_ledger ledger.amount,
    claimed_chain ledger.amount,
    CHECK ((claimed_ledger IS NULL) = (claimed_chain IS NULL))
);

-- The terms that gym-rewards was last configured with; credits keep the terms that they were booked by.
CREATE TABLE rewards.fee_terms (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    fee_ppm bigint NOT NULL CHECK (fee_ppm BETWEEN 0 AND 1000000),
    burned_ppm bigint NOT NULL CHECK (burned_ppm BETWEEN 0 AND 1000000),
    changed_at_ms bigint NOT NULL,
    verification_premium_ppm bigint CHECK (verification_premium_ppm BETWEEN 0 AND 10000000),
    uptime_bonus_max_ppm bigint CHECK (uptime_bonus_max_ppm BETWEEN 0 AND 10000000)
);

GRANT USAGE ON SCHEMA rewards TO gym_rewards, gym_api;
GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA rewards TO gym_rewards;
REVOKE UPDATE ON rewards.payout, rewards.release, rewards.chain_event FROM gym_rewards;
GRANT SELECT ON ALL TABLES IN SCHEMA rewards TO gym_api;
GRANT USAGE ON SCHEMA rewards TO gym_auditor;
GRANT SELECT (epoch, seal_number, seal_hash, closed_at_ms) ON rewards.settlement TO gym_auditor;

-- Invariants --------------------------------------------------------------------------------------------
CREATE VIEW audit.rewards_credit_without_transfer AS
    SELECT format('credit %s is %s, its transfer is not', c.id, c.state) AS problem
    FROM rewards.credit c
    LEFT JOIN ledger.transfer t ON t.id = c.id
    LEFT JOIN ledger.transfer p ON p.id = c.posting
    WHERE CASE c.state
        WHEN 'pending' THEN t.kind IS DISTINCT FROM 'pending'
            OR EXISTS (SELECT FROM ledger.transfer r WHERE r.pending_id = c.id)
        WHEN 'posted' THEN p.kind IS NULL OR p.kind NOT IN ('post', 'transfer')
            OR p.amount <> c.amount OR (p.kind = 'post' AND p.pending_id <> c.id)
        WHEN 'void' THEN c.posting IS NOT NULL AND (p.kind, p.pending_id) IS DISTINCT FROM ('void', c.id)
        ELSE t.id IS NOT NULL END;

CREATE VIEW audit.rewards_paid_without_final_unit AS
    SELECT format('credit %s is posted, unit %s is %s', c.id, encode(c.unit_id, 'hex'), u.state) AS problem
    FROM rewards.credit c JOIN registry.unit u ON u.id = c.unit_id
    WHERE c.kind IN ('compute', 'data') AND c.state = 'posted' AND u.state <> 'final';

CREATE VIEW audit.rewards_paid_twice AS
    SELECT format('unit %s has %s compute credits', encode(unit_id, 'hex'), count(*)) AS problem
    FROM rewards.credit WHERE kind = 'compute' GROUP BY unit_id HAVING count(*) > 1;

CREATE VIEW audit.rewards_cumulative AS
    SELECT format('epoch %s, earner %s: cumulative %s is not the sum of its epochs', s.epoch,
                  encode(s.earner, 'hex'), s.cumulative) AS problem
    FROM (SELECT p.*, sum(p.earned) OVER (PARTITION BY p.earner ORDER BY p.epoch) AS expected
          FROM rewards.payout p) s
    WHERE s.cumulative <> s.expected;

CREATE VIEW audit.rewards_payable AS
    SELECT format('earner %s: payable credits %s, payout roots %s', a.owner, a.credits,
                  coalesce(p.cumulative, 0)) AS problem
    FROM ledger.account a
    LEFT JOIN LATERAL (SELECT cumulative FROM rewards.payout
                       WHERE '0x' || encode(earner, 'hex') = a.owner
                       ORDER BY epoch DESC LIMIT 1) p ON true
    WHERE a.kind = 'payable' AND a.credits <> coalesce(p.cumulative, 0);

CREATE VIEW audit.rewards_released AS
    SELECT format('epoch %s: released %s, credits %s', r.epoch, r.amount, coalesce(c.amount, 0)) AS problem
    FROM (SELECT epoch, sum(amount) AS amount FROM rewards.release GROUP BY epoch) r
    FULL JOIN (SELECT epoch, sum(amount) AS amount FROM rewards.credit
               WHERE epoch IS NOT NULL GROUP BY epoch) c ON c.epoch = r.epoch
    WHERE r.amount IS DISTINCT FROM c.amount;

-- Anybody can send tokens to the distributor, so it may hold more than is owed. What must hold to the last unit: the
-- escrow's own total and the claims that were paid; and the distributor has tokens for all that is owed.
CREATE VIEW audit.rewards_reconciliation AS
    SELECT format('block %s: contracts hold %s and %s and paid %s, the ledger says %s and %s and %s', r.block,
                  r.escrow_chain, r.distributor_chain, r.claimed_chain, r.escrow_ledger, r.distributor_ledger,
                  r.claimed_ledger) AS problem
    FROM rewards.reconciliation r
    WHERE r.block = (SELECT max(block) FROM rewards.reconciliation)
      AND (r.escrow_chain <> r.escrow_ledger OR r.claimed_chain <> r.claimed_ledger
           OR r.distributor_chain < r.distributor_ledger);

CREATE VIEW audit.rewards_data_terms AS
    SELECT format('data credit %s was booked with other terms than job %s has', c.id, encode(j.id, 'hex')) AS problem
    FROM rewards.credit c JOIN registry.job j ON j.id = c.job_id
    LEFT JOIN registry.job_data p ON p.job_id = c.job_id AND p.dataset = c.dataset
    WHERE c.kind = 'data' AND CASE
        WHEN c.dataset IS NULL THEN
            (c.price, c.quality_ppm) IS DISTINCT FROM (j.data_price_wei_per_mtoken, j.data_quality_ppm)
            OR EXISTS (SELECT FROM registry.job_data x WHERE x.job_id = j.id)
        ELSE (c.earner, c.price, c.quality_ppm, c.part_tokens, c.mix_tokens, c.weight_before)
             IS DISTINCT FROM (p.owner, p.price_wei_per_mtoken, p.quality_ppm, p.part_tokens, p.mix_tokens, p.weight_before)
        END;

CREATE VIEW audit.rewards_data_paid_twice AS
    SELECT format('unit %s has %s data credits for dataset %s', encode(unit_id, 'hex'), count(*),
                  coalesce(encode(dataset, 'hex'), 'of its job')) AS problem
    FROM rewards.credit WHERE kind = 'data' GROUP BY unit_id, dataset HAVING count(*) > 1;

-- All parts of a unit's mix together are paid the unit's tokens at the mix's price, rounded down once.
CREATE VIEW audit.rewards_data_shares AS
    SELECT format('unit %s: the providers of its mix have credits of %s, its tokens cost %s', encode(u.unit_id, 'hex'),
                  u.amount, m.amount) AS problem
    FROM (SELECT job_id, unit_id, max(tokens) AS tokens, sum(amount) AS amount, min(tokens) <> max(tokens) AS differ
          FROM rewards.credit WHERE kind = 'data' AND dataset IS NOT NULL GROUP BY job_id, unit_id) u
    JOIN LATERAL (
        SELECT div(u.tokens * sum(p.part_tokens * p.price_wei_per_mtoken * p.quality_ppm),
                   max(p.mix_tokens)::numeric * 1000000000000) AS amount
        FROM registry.job_data p WHERE p.job_id = u.job_id) m ON true
    WHERE u.differ OR u.amount IS DISTINCT FROM m.amount;

-- Self-dealing must never pay: the owner of a job and of its workers gets back less than the job destroyed.
CREATE VIEW audit.rewards_emission_above_burned AS
    SELECT format('job %s: emission %s, burned %s', encode(job_id, 'hex'), emission, burned) AS problem
    FROM (SELECT job_id, coalesce(sum(amount) FILTER (WHERE kind = 'emission'), 0) AS emission,
                 coalesce(sum(amount) FILTER (WHERE kind = 'burn'), 0) AS burned
          FROM rewards.credit WHERE state = 'posted' GROUP BY job_id) j
    WHERE emission > burned;

CREATE VIEW audit.rewards_fee_above_charge AS
    SELECT format('job %s, round %s: fees on %s, credits are %s', encode(job_id, 'hex'), round, charged, credits)
        AS problem
    FROM (SELECT job_id, round, coalesce(sum(charged) FILTER (WHERE kind = 'fee'), 0) AS charged,
                 coalesce(sum(amount) FILTER (WHERE kind IN ('compute', 'verification', 'uptime', 'data')), 0) AS credits
          FROM rewards.credit WHERE state = 'posted' GROUP BY job_id, round) r
    WHERE charged > credits;

CREATE VIEW audit.ledger_seal_anchors AS
    SELECT format('epoch %s names seal %s as %s, the ledger has %s', e.epoch, e.seal_number,
                  encode(e.seal_hash, 'hex'), coalesce(encode(s.hash, 'hex'), 'none')) AS problem
    FROM rewards.settlement e LEFT JOIN ledger.seal s ON s.number = e.seal_number
    WHERE e.seal_hash <> s.hash OR (e.seal_number IS NOT NULL AND s.hash IS NULL)
    UNION ALL
    SELECT format('epoch %s: its file names another seal than its row', e.epoch)
    FROM rewards.settlement e
    WHERE (e.file::jsonb #>> '{ledger_seal,number}', e.file::jsonb #>> '{ledger_seal,hash}')
          IS DISTINCT FROM (e.seal_number::text, '0x' || encode(e.seal_hash, 'hex'));

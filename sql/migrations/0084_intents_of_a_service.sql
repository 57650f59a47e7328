-- No row of one service is in the way of another's, whatever it names (docs/SECURITY.md). A nonce and a signed version belong to a
-- service's sender. While a nonce was unique over all services, the role of one could take the next nonces of another's sender, and
-- no transaction of it was signed any more. A sender is not bound to the service that names it first either: whoever came first could
-- stop the other in the same way. What a service signs with is its key, and row security keeps its rows its own.
ALTER TABLE chain.intent DROP CONSTRAINT intent_chain_id_sender_nonce_key;
ALTER TABLE chain.intent ADD CONSTRAINT intent_nonce_of_sender UNIQUE (service, chain_id, sender, nonce);
ALTER TABLE chain.attempt DROP CONSTRAINT attempt_hash_key;
ALTER TABLE chain.attempt ADD CONSTRAINT attempt_hash_of_sender UNIQUE (service, chain_id, sender, hash);

-- Senders that two services name: two programs sign with one key and take each other's nonces, or a service's role was taken over and
-- named another's sender. Must be empty.
CREATE VIEW audit.chain_sender_of_two_services AS
SELECT chain_id, sender, string_agg(DISTINCT service, ', ' ORDER BY service) AS services
FROM chain.intent
GROUP BY chain_id, sender
HAVING count(DISTINCT service) > 1;

-- What a unit of a job takes, so that its rounds are given to workers that have as much.
ALTER TABLE registry.job ADD COLUMN worker_memory_bytes registry.counter;

-- A unit can take more memory of a GPU than of a host.
ALTER TABLE registry.job ADD COLUMN worker_gpu_memory_bytes registry.counter;

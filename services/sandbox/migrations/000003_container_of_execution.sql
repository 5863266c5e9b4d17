-- The container that an execution got. A container that was started ahead has no run on its label, and only this row knows whose it is.
ALTER TABLE execution ADD COLUMN container_id text;
CREATE INDEX execution_of_container ON execution (container_id) WHERE container_id IS NOT NULL;

-- Both legs read the rows of one collection. Under row-level security only leakproof operators reach an index, and
-- neither @@ nor <=> is one: this index cost writes and was never used.
DROP INDEX chunk_terms;

-- What a compiler wrote, masked like the other streams: {"stdout": [head, tail], "stderr": [head, tail]}, Base64. Lists leave it out.
ALTER TABLE execution ADD COLUMN compile_output jsonb;

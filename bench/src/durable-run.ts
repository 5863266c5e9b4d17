import pg from "pg";

/** Tasks at once, tool rounds of each, and how long the model takes. */
export interface DurableRun {
  readonly tasks: number;
  readonly rounds: number;
  readonly modelMs: number;
}

/** What a side of `durable-steps` is told, as JSON in BENCH_OPTIONS. */
export interface DurableOptions {
  readonly url: string;
  readonly connections: number;
  readonly runs: readonly DurableRun[];
  /** Rounds of one more task of which the WAL is measured; 0 for none. */
  readonly walRounds: number;
}

/** What a side answers, as the last line of its output. */
export interface DurableSide {
  readonly runs: readonly (DurableRun & {
    readonly wallMs: number;
    /** The model's time, of all tasks together. */
    readonly modelTotalMs: number;
  })[];
  /** Position in the WAL at the beginning of each round, bytes. */
  readonly wal: readonly number[];
}

/** Reads the options of the process. */
export function readOptions(): DurableOptions {
  return JSON.parse(process.env.BENCH_OPTIONS ?? "");
}

/** Reads positions in the WAL over a connection of its own. */
export async function createWalMeter(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const marks: number[] = [];
  return {
    marks,
    mark: async () => {
      const { rows } = await client.query("SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes");
      marks.push(Number(rows[0].bytes));
    },
    close: () => client.end(),
  };
}

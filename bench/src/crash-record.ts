import pg from "pg";

/** A task as it was when its worker was killed. */
export interface HeldTask {
  readonly id: string;
  readonly epoch: number;
  readonly version: number;
}

const givenUpMs = 60_000;

/** Reads the record past row-level security, as its owner. */
export async function createWatcher(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const rows = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows;

  return {
    /** The tasks that the replica of this name holds. */
    async heldBy(name: string): Promise<HeldTask[]> {
      return await rows(
        `SELECT id, lease_epoch::int AS epoch, version::int FROM orchestrator.task
         WHERE lease_owner = $1 AND state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED')`,
        [name],
      );
    },
    /** Milliseconds from `since` to the first commit of another claim, for each of the tasks. */
    async workedOn(held: readonly HeldTask[], since: number): Promise<number[]> {
      const times: number[] = [];
      let left = [...held];
      while (left.length > 0) {
        if (performance.now() - since > givenUpMs) throw new Error(`Nobody took up ${left.map(({ id }) => id)}.`);
        const now = await rows(
          `SELECT id FROM orchestrator.task k JOIN unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS h(id, epoch, version)
           USING (id) WHERE k.lease_epoch > h.epoch AND k.version > h.version`,
          [left.map((task) => task.id), left.map((task) => task.epoch), left.map((task) => task.version)],
        );
        const found = new Set(now.map((task) => task.id));
        times.push(...Array.from(found, () => performance.now() - since));
        left = left.filter((task) => !found.has(task.id));
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return times;
    },
    /** What is wrong with the tasks, one line each: an end, a step, a result or an event that is missing or too many. */
    async faults(rounds: number, submitted: number): Promise<string[]> {
      const wrong = await rows(
        `SELECT * FROM (SELECT k.id, k.state, k.failure_message, k.answer, k.last_sequence::int AS last,
           (SELECT count(*)::int FROM orchestrator.event e WHERE e.task_id = k.id) AS events,
           (SELECT count(*)::int FROM orchestrator.event e WHERE e.task_id = k.id AND e.body->>'type' = 'task_completed') AS ends,
           (SELECT count(*)::int FROM orchestrator.step s WHERE s.task_id = k.id) AS steps,
           (SELECT max(seq)::int FROM orchestrator.step s WHERE s.task_id = k.id) AS step,
           (SELECT count(*)::int FROM orchestrator.tool_call c WHERE c.task_id = k.id AND c.state = 'SUCCEEDED') AS results,
           (SELECT count(*)::int FROM orchestrator.tool_call c WHERE c.task_id = k.id) AS calls
         FROM orchestrator.task k) AS t
         WHERE state <> 'SUCCEEDED' OR ends <> 1 OR events <> last OR steps <> step OR steps <> 2 * $1 + 3
           OR calls <> 2 * $1 OR results <> calls OR answer NOT LIKE '% has ' || 2 * $1 || ' results'`,
        [rounds],
      );
      const [all] = await rows("SELECT count(*)::int AS tasks FROM orchestrator.task");
      const faults = wrong.map((task) => JSON.stringify(task));
      return all?.tasks === submitted
        ? faults
        : [...faults, `${submitted} tasks were submitted, ${all?.tasks} are there`];
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}

import type { TestProject } from "vitest/node";
import { startNats, startPostgres } from "./containers.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Superuser's address on the Postgres server of this run; tests take a database of their own from it. */
    postgresUrl: string;
    /** The NATS server of this run; tests share it and must use tenants of their own. */
    natsUrl: string;
  }
}

/** Starts one Postgres and one NATS for a run of vitest and removes them after it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await using started = new AsyncDisposableStack();
  const [postgres, nats] = await Promise.all([
    startPostgres().then((it) => started.use(it)),
    startNats().then((it) => started.use(it)),
  ]);
  project.provide("postgresUrl", postgres.url);
  project.provide("natsUrl", nats.url);
  const running = started.move();
  return () => running.disposeAsync();
}

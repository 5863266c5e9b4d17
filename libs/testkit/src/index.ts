export { type StartedNats, type StartedPostgres, startNats, startPostgres } from "./containers.ts";
export { type FakeClock, fakeClock } from "./fake-clock.ts";
export { type FreshDatabase, freshDatabase } from "./fresh-database.ts";

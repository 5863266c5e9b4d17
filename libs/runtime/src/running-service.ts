import type { Environment } from "./environment.ts";

/** A service that serves; disposing of it drains what runs and gives everything back. */
export interface RunningService extends AsyncDisposable {
  readonly name: string;
  /** `host:port` of the gRPC server, with the port that was really bound. */
  readonly address: string;
  /** `host:port` of the admin server, likewise. */
  readonly adminAddress: string;
}

/** A service's door: starts it from its environment. */
export type StartService = (environment: Environment) => Promise<RunningService>;

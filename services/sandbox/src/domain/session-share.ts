import { byteSize, counted } from "./quantities.ts";

/** What one tenant may have of the sessions of an instance. */
export interface SessionShare {
  readonly sessions: number;
  /** Sum of the memory limits of its sessions. */
  readonly memoryBytes: number;
}

/** A limit that is reached, by the name of its variable. */
export interface ReachedLimit {
  readonly limit: "DROVER_SANDBOX_SESSIONS_PER_TENANT" | "DROVER_SANDBOX_SESSION_MEMORY_PER_TENANT";
  /** What is there and what is allowed, in words. */
  readonly full: string;
}

/** The limit that keeps a tenant with `open` from one session more of `memoryBytes`; undefined where none does. */
export function reachedLimit(open: SessionShare, memoryBytes: number, share: SessionShare): ReachedLimit | undefined {
  if (open.sessions >= share.sessions) {
    const full = `this tenant has ${counted(open.sessions, "session")}, its share is ${share.sessions}`;
    return { limit: "DROVER_SANDBOX_SESSIONS_PER_TENANT", full };
  }
  if (open.sessions > 0 && open.memoryBytes + memoryBytes > share.memoryBytes) {
    const full = `sessions of this tenant hold ${byteSize(open.memoryBytes)} of memory, its share is ${byteSize(share.memoryBytes)}`;
    return { limit: "DROVER_SANDBOX_SESSION_MEMORY_PER_TENANT", full };
  }
  return undefined;
}

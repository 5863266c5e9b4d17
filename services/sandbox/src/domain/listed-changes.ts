import type { ChangeOutcome } from "./change-set.ts";

/** What an execution tells of the changes that it made. */
export interface ListedChanges {
  readonly changes: readonly ChangeOutcome[];
  /** Further changes that are counted only. */
  readonly changesOmitted: number;
}

/** Bytes of listed changes: an execution is one message, together with its output. */
const mostBytes = 256 * 1024;
/** Of one change beside its texts, at the most. */
const fixedBytes = 32;

/**
 * The changes that an execution lists: all of them while their paths and reasons are short enough, else as many
 * as fit in their order, what was not taken over (conflicts, then skipped ones) before the rest. `omitted` are
 * those that were left out before. Listing what is listed already changes nothing.
 */
export function listedChanges(changes: readonly ChangeOutcome[], omitted = 0): ListedChanges {
  const sizes = new Map(changes.map((change) => [change, sizeOf(change)]));
  let room = mostBytes;
  const kept = new Set<ChangeOutcome>();
  for (const change of [...changes].sort((a, b) => rank(a) - rank(b))) {
    room -= sizes.get(change) ?? 0;
    if (room < 0) break;
    kept.add(change);
  }
  return {
    changes: changes.filter((change) => kept.has(change)),
    changesOmitted: omitted + changes.length - kept.size,
  };
}

function rank({ kind }: ChangeOutcome): number {
  if (kind === "CONFLICT") return 0;
  return kind === "SKIPPED" ? 1 : 2;
}

function sizeOf({ path, reason }: ChangeOutcome): number {
  return new TextEncoder().encode(path + reason).length + fixedBytes;
}

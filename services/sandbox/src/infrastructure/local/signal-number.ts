import { constants } from "node:os";

/** Number of a signal on this host. */
export function signalNumber(name: NodeJS.Signals): number {
  return constants.signals[name];
}

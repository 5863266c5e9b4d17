import { type Bus, connectNats } from "@drover/bus";
import { DroverError } from "@drover/kernel";
import type { Logger } from "@drover/runtime";

/** Connects to NATS. FAILED_PRECONDITION without an address. */
export async function openBus(url: string | undefined, name: string, logger: Logger): Promise<Bus> {
  if (url === undefined) throw new DroverError("FAILED_PRECONDITION", "NATS_URL is required: no bus was given.");
  return await connectNats({ url, logger, name });
}

import { createInProcessBus } from "@drover/bus";
import { startSandbox } from "@drover/sandbox/wiring";

/** The sandbox service in a process of its own, so that its memory can be looked at; ends when its input does. */
await using bus = createInProcessBus();
await using service = await startSandbox(process.env, { bus });
process.stdout.write(`${service.address} ${service.adminAddress}\n`);
await new Promise((resolve) => process.stdin.on("end", resolve).resume());

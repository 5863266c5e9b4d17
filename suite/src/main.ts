import { createLogger } from "@drover/runtime";
import { dataFolderOf } from "./data-folder.ts";
import { gatewayListenOf, startEmbeddedSuite } from "./embedded-suite.ts";
import { runCommand } from "./run-command.ts";

/** The embedded profile as one process, until SIGTERM or SIGINT; says on one line where it serves. */
await runCommand(async () => {
  await using suite = await startEmbeddedSuite({
    dataFolder: dataFolderOf(process.env, "embedded"),
    environment: process.env,
    gatewayListen: gatewayListenOf(process.env),
  });
  createLogger({ service: "suite" }).info(
    { url: suite.url, keyFile: suite.keyFile, addresses: suite.addresses },
    "serving",
  );
  await new Promise<void>((resolve) => {
    process.once("SIGTERM", resolve);
    process.once("SIGINT", resolve);
  });
});

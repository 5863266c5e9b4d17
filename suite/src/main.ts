import { createLogger } from "@drover/runtime";
import { dataFolderOf } from "./data-folder.ts";
import { startEmbeddedSuite } from "./embedded-suite.ts";

/** The embedded profile as one process, until SIGTERM or SIGINT; says on one line where it serves. */
await using suite = await startEmbeddedSuite({
  dataFolder: dataFolderOf(process.env, "embedded"),
  environment: process.env,
  gatewayListen: process.env.DROVER_LISTEN ?? "127.0.0.1:7700",
});
createLogger({ service: "suite" }).info(
  { url: suite.url, keyFile: suite.keyFile, addresses: suite.addresses },
  "serving",
);
await new Promise<void>((resolve) => {
  process.once("SIGTERM", resolve);
  process.once("SIGINT", resolve);
});

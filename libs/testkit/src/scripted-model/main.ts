import { paymentPendingScript } from "./payment-pending.ts";
import { callsScript, echoScript, failingScript, slowScript } from "./plain-scripts.ts";
import type { Script } from "./script.ts";
import { startScriptedModel } from "./server.ts";

const scripts: Readonly<Record<string, Script>> = {
  "payment-pending": paymentPendingScript,
  echo: echoScript,
  slow: slowScript(2_000, 200),
  calls: callsScript([
    { name: "list_directory", arguments: { path: "/workspace" } },
    { name: "glob", arguments: { pattern: "**/*" } },
  ]),
  failing: failingScript(503),
};

const name = process.env.SCRIPT ?? "payment-pending";
const script = Object.hasOwn(scripts, name) ? scripts[name] : undefined;
if (script === undefined) {
  process.stderr.write(`SCRIPT: found ${JSON.stringify(name)}, allowed ${Object.keys(scripts).join(", ")}\n`);
  process.exit(1);
}
const model = await startScriptedModel({
  host: process.env.HOST ?? "127.0.0.1",
  port: Number(process.env.PORT ?? 0),
  script,
});
process.stdout.write(`scripted model ${name}: OPENAI_BASE_URL=${model.baseUrl} OPENAI_API_KEY=${model.apiKey}\n`);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void model[Symbol.asyncDispose]());

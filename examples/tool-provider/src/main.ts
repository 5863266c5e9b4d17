import { startProvider } from "./provider.ts";

const { PORT = "7900", HOST = "127.0.0.1", DROVER_IDENTITY_PUBLIC_KEYS: publicKeys, NAME = "orders" } = process.env;
if (publicKeys === undefined) throw new Error("DROVER_IDENTITY_PUBLIC_KEYS is required: the public keys of Drover.");
const provider = await startProvider({ host: HOST, port: Number(PORT), publicKeys, audience: `tool.${NAME}` });
console.log(`listening on ${provider.address}`);
process.once("SIGTERM", () => void provider[Symbol.asyncDispose]());
process.once("SIGINT", () => void provider[Symbol.asyncDispose]());

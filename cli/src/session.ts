import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import type { DroverError } from "@drover/kernel";
import { createRpcTransport } from "@drover/rpc";
import { type Environment, type Key, keyOf, type Target, targetOf } from "./config.ts";
import { CommandFailure, failureOf } from "./failure.ts";
import type { Terminal } from "./terminal.ts";

/** Options that every command has. */
export interface CommonOptions {
  readonly url?: string;
  readonly key?: string;
  readonly json?: boolean;
  /** Set by a command that goes on without a key and says so itself. */
  readonly keyOptional?: boolean;
}

/** What the process gives a command. */
export interface Surroundings {
  readonly terminal: Terminal;
  readonly environment: Environment;
  readonly cwd: string;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
}

/** One run of a command against one gateway. */
export interface Session extends Surroundings, AsyncDisposable {
  readonly target: Target;
  /** A failure only where the command allows it. */
  readonly key: Key | CommandFailure;
  /** What went wrong with a call, in words. */
  failure(error: DroverError): CommandFailure;
  readonly json: boolean;
  /** A client of a service behind the gateway. Its calls throw DroverError. */
  client<S extends DescService>(service: S): Client<S>;
}

/** Opens a session; nothing connects before its first call. Throws CommandFailure for a bad address or no key. */
export function openSession(surroundings: Surroundings, options: CommonOptions): Session {
  const { environment, cwd } = surroundings;
  const target = targetOf(options.url, environment);
  const key = keyOrFailure(() => keyOf(options.key, environment, cwd, target));
  if (key instanceof CommandFailure && options.keyOptional !== true) throw key;
  const transport = createRpcTransport({ addresses: target.address, audience: "gateway" });
  const keyed = key instanceof CommandFailure ? transport : withKey(transport, key.text);
  return {
    ...surroundings,
    target,
    key,
    json: options.json === true,
    failure: (error) =>
      key instanceof CommandFailure && error.code === "UNAUTHENTICATED"
        ? key
        : failureOf(error, { url: target.url, keySource: key instanceof CommandFailure ? "nowhere" : key.source }),
    client: (service) => createClient(service, keyed),
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

function keyOrFailure(find: () => Key): Key | CommandFailure {
  try {
    return find();
  } catch (error) {
    if (error instanceof CommandFailure) return error;
    throw error;
  }
}

function withKey(transport: Transport, key: string): Transport {
  const headers = (given: ConstructorParameters<typeof Headers>[0]) => {
    const all = new Headers(given);
    all.set("authorization", `Bearer ${key}`);
    return all;
  };
  return {
    unary: (method, signal, timeoutMs, header, input, values) =>
      transport.unary(method, signal, timeoutMs, headers(header), input, values),
    stream: (method, signal, timeoutMs, header, input, values) =>
      transport.stream(method, signal, timeoutMs, headers(header), input, values),
  };
}

import pino from "pino";
import { redacted } from "./log-redaction.ts";

/** A log line is a message, with or without fields before it. */
interface LogMethod {
  (message: string): void;
  (fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** A structured logger; one JSON object a line. Errors go in the field `err`. */
export interface Logger {
  readonly debug: LogMethod;
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
  readonly fatal: LogMethod;
  /** A logger whose lines all carry `fields`, e.g. `{ trace_id, span_id, tenant }`. */
  child(fields: Readonly<Record<string, unknown>>): Logger;
}

/** The levels of `DROVER_LOG_LEVEL`. */
export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/**
 * A logger for one service. Secrets in messages, fields and errors are masked before a line is
 * written: by the name of the field, and by what the text looks like. `destination` is standard
 * output unless it is given; it gets whole lines.
 */
export function createLogger(options: {
  readonly service: string;
  readonly level?: LogLevel;
  readonly destination?: { write(line: string): void };
}): Logger {
  const settings: pino.LoggerOptions = {
    level: options.level ?? "info",
    base: { service: options.service },
    messageKey: "message",
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: {
      level: (label) => ({ level: label }),
      log: (fields) => redacted(fields),
    },
    hooks: {
      logMethod(input, method) {
        const last = input.length - 1;
        const message: unknown = input[last];
        if (typeof message === "string") input[last] = redacted(message);
        method.apply(this, input);
      },
    },
  };
  return wrapped(options.destination === undefined ? pino(settings) : pino(settings, options.destination));
}

/** pino does not hand a child's bindings to any formatter, so they are redacted here. */
function wrapped(inner: pino.Logger): Logger {
  return {
    debug: inner.debug.bind(inner),
    info: inner.info.bind(inner),
    warn: inner.warn.bind(inner),
    error: inner.error.bind(inner),
    fatal: inner.fatal.bind(inner),
    child: (fields) => wrapped(inner.child(redacted(fields))),
  };
}

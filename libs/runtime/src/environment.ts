/** The variables a process was started with; only a service's `config.ts` reads one. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One fault of the environment: the variable's name and what would be right, never its value. */
export interface ConfigurationFault {
  readonly variable: string;
  readonly problem: string;
}

/** Thrown when the environment does not fit; the message lists every fault, one a line. */
export class ConfigurationError extends Error {
  readonly faults: readonly ConfigurationFault[];

  constructor(faults: readonly ConfigurationFault[]) {
    super(`The configuration is not valid:\n${faults.map((f) => `  ${f.variable}: ${f.problem}`).join("\n")}`);
    this.name = "ConfigurationError";
    this.faults = faults;
  }
}

/** How one variable is read: see `env` for the builders. */
export interface Variable<T> {
  /** Reads a value that is set and not empty; throws a {@link VariableFault}. */
  parse(raw: string): T;
  /** The value when the variable is unset or empty; throws a {@link VariableFault} when it is required. */
  absent(): T;
  /** The same variable, undefined when it is unset or empty. */
  optional(): Variable<T | undefined>;
}

/** What is allowed, said by a {@link Variable} that refused; becomes a {@link ConfigurationFault}. */
export class VariableFault extends Error {}

/** The parsed form of a specification whose keys are names of variables. */
export type Parsed<Spec extends Readonly<Record<string, Variable<unknown>>>> = {
  readonly [Name in keyof Spec]: Spec[Name] extends Variable<infer T> ? T : never;
};

/**
 * Reads the variables named by the keys of `spec` and returns them as a frozen record. Empty text
 * counts as unset. Throws one {@link ConfigurationError} that lists every fault.
 */
export function parseEnvironment<Spec extends Readonly<Record<string, Variable<unknown>>>>(
  environment: Environment,
  spec: Spec,
): Parsed<Spec> {
  const faults: ConfigurationFault[] = [];
  const parsed: Record<string, unknown> = {};
  for (const [variable, reader] of Object.entries(spec)) {
    const raw = environment[variable]?.trim() ?? "";
    try {
      parsed[variable] = raw === "" ? reader.absent() : reader.parse(raw);
    } catch (error) {
      if (!(error instanceof VariableFault)) throw error;
      faults.push({ variable, problem: error.message });
    }
  }
  if (faults.length > 0) throw new ConfigurationError(faults);
  return Object.freeze(parsed) as Parsed<Spec>;
}

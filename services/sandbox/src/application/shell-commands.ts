import { DroverError, invalidField, isId, newId, notFound } from "@drover/kernel";
import { callMadeAt } from "../domain/call-time.ts";
import type { Execution } from "../domain/execution.ts";
import { imageOf, languageNamed } from "../domain/language.ts";
import { CommandContainer } from "./command-container.ts";
import { LiveRun } from "./live-run.ts";
import { recordEnd } from "./record-end.ts";
import { runCommand } from "./run-command.ts";
import type { RunCaller } from "./run-program.ts";
import type { Session } from "./session.ts";
import type { Sessions, SessionsParts } from "./sessions.ts";
import { checkShellRequest, type ShellRequest } from "./shell-request.ts";

/** Who asks, and where in a trace. */
type ShellCaller = Pick<RunCaller, "tenant" | "trace">;

/** A command of this process that is not over. */
export interface LiveCommand {
  readonly session: Session;
  readonly container: CommandContainer;
  readonly background: boolean;
  written: number;
}

const mostCommands = 16;

/** Runs shell commands in the session containers of their tasks. */
export class ShellCommands {
  readonly #parts: SessionsParts;
  readonly #sessions: Sessions;
  readonly #live = new Map<string, LiveCommand>();

  constructor(parts: SessionsParts, sessions: Sessions) {
    this.#parts = parts;
    this.#sessions = sessions;
  }

  /** The command that runs here under that execution id. */
  find(tenant: string, id: string): LiveCommand | undefined {
    const found = this.#live.get(id);
    return found?.session.run.execution.tenant === tenant ? found : undefined;
  }

  /** Resolves when the command runs, or is known to run or to be over already. */
  async start(caller: ShellCaller, request: ShellRequest): Promise<{ execution: Execution; existing: boolean }> {
    const wallMs = checkShellRequest(request, this.#parts.sessions);
    const { live, executions, workspaces, digest } = this.#parts;
    if (live.draining) {
      throw new DroverError("UNAVAILABLE", "This instance is shutting down; try again.", { retryAfterMs: 500 });
    }
    await workspaces.read(caller.tenant, request.workspaceId);
    const execution = this.#draft(caller.tenant, request, wallMs);
    const environment = Object.entries(request.environment).sort(([a], [b]) => (a < b ? -1 : 1));
    const asked = request.allowedCommands;
    const allowedCommands = asked.length === 0 ? undefined : [...asked].sort();
    const bodyHash = digest(JSON.stringify({ ...request, environment, allowedCommands }));
    const accepted = await executions.accept(execution, bodyHash, callMadeAt(request.callId));
    if (accepted.kind === "cancelled") return { execution: accepted.execution, existing: true };
    if (accepted.kind === "existing") {
      if (accepted.sameBody) return { execution: accepted.execution, existing: true };
      const message = "call_id was used for another run already.";
      throw new DroverError("ALREADY_EXISTS", message, { reason: "CALL_ID_REUSED" });
    }
    const run = new LiveRun(execution);
    const running = Promise.withResolvers<Execution>();
    running.promise.catch(() => undefined);
    live.add(run, this.#drive(run, caller, request, running));
    return { execution: await running.promise, existing: false };
  }

  /** Ends the task's sessions; see {@link Sessions.end}. */
  async endSession(tenant: string, taskId: string): Promise<void> {
    await this.#sessions.end(tenant, taskId);
  }

  /** Writes what lies behind `written` so far; gives how much that is then. */
  writeInput(tenant: string, request: { id: string; data: Uint8Array; offset: number; close: boolean }): number {
    if (!isId(request.id))
      throw invalidField("execution_id", JSON.stringify(request.id.slice(0, 40)), "a lower-case UUID");
    const live = this.find(tenant, request.id);
    const command = live?.container.command;
    if (live === undefined || command === undefined) throw notFound("running command", request.id);
    if (request.offset < 0 || request.offset > live.written) {
      const message = `offset is ${request.offset}; ${live.written} bytes were written.`;
      throw new DroverError("ABORTED", message, { reason: "INPUT_GAP" });
    }
    const fresh = request.data.subarray(live.written - request.offset);
    command.write(fresh);
    live.written += fresh.length;
    if (request.close) command.closeInput();
    return live.written;
  }

  async #drive(
    run: LiveRun,
    caller: ShellCaller,
    request: ShellRequest,
    running: PromiseWithResolvers<Execution>,
  ): Promise<void> {
    const { executions } = this.#parts;
    const { execution } = run;
    const { tenant, id } = execution;
    let session: Session | undefined;
    try {
      session = await this.#sessions.of(tenant, request.taskId, request.workspaceId);
      if (session.users > mostCommands) {
        const message = `${mostCommands} commands are running in this session; wait for one or end one.`;
        throw new DroverError("RESOURCE_EXHAUSTED", message, { reason: "TOO_MANY_COMMANDS", retryAfterMs: 1000 });
      }
      await session.sync();
    } catch (error) {
      if (session !== undefined) this.#sessions.leave(session);
      await executions.withdraw(tenant, id).catch(() => undefined);
      run.failed(error);
      return running.reject(error);
    }
    const onStarted = (startedAt: Date) => {
      executions
        .started(tenant, id, startedAt)
        .catch(() => undefined)
        .then(() => running.resolve({ ...execution, startedAt }));
    };
    const container = new CommandContainer(session);
    this.#live.set(id, { session, container, background: request.background, written: 0 });
    const place = { run, request, trace: caller.trace, session, container, onStarted };
    const ended = await runCommand(this.#parts, place).finally(() => this.#sessions.leave(session));
    await recordEnd(this.#parts, ended);
    this.#live.delete(id);
    run.ended(ended);
    running.resolve(ended);
  }

  #draft(tenant: string, request: ShellRequest, wallMs: number): Execution {
    const { clock, engine, languages, policy, settings } = this.#parts;
    return {
      id: newId(),
      tenant,
      callId: request.callId,
      taskId: request.taskId,
      language: "shell",
      image: imageOf(languageNamed("bash", languages), settings.imagePrefix),
      runtime: engine.runtime,
      limits: { ...policy.defaults, wallMs },
      workspaceId: request.workspaceId,
      workspaceVersionBefore: 0,
      acceptedAt: clock.now(),
    };
  }
}

import type { ContainerFile, ProgramReport, ProgramRequest } from "./ports.ts";

/** A command as {@link ProgramRequest}; its input comes later. */
export type CommandRequest = Omit<ProgramRequest, "stdin" | "phase">;

/** A command that runs beside others in one container. */
export interface RunningCommand {
  /** Resolves when it and all it left behind are gone; rejects where the container was lost. */
  readonly ended: Promise<ProgramReport>;
  /** Queues input; RESOURCE_EXHAUSTED where the command does not take what came before. */
  write(bytes: Uint8Array): void;
  closeInput(): void;
  /** SIGKILL reaches all its processes, any other signal its process group. Harmless after the end. */
  signal(number: number): void;
}

/** What a container of a session can do beside the Container of ports.ts. */
export interface SessionFace {
  start(command: CommandRequest): RunningCommand;
  /** Makes every process stand still, so that files move in and out; false lets go on what was made to stand still, and nothing else. */
  pause(paused: boolean): void;
  /** Puts a file, unless what commands left does not let it: {@link SessionFace.settle} tells. */
  putFile(file: ContainerFile): Promise<void>;
  /** Removes a file that the workspace does not have; one that is gone is no error. */
  deleteFile(path: string): Promise<void>;
  /** Resolves when all that was put and deleted before is in place; gives the paths for which that was not possible, with the reason in words. */
  settle(): Promise<ReadonlyMap<string, string>>;
}

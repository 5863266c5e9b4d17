import type { Container, ProgramReport, ProgramRequest, RunningCommand } from "./ports.ts";
import type { Session } from "./session.ts";

const sigterm = 15;
const sigkill = 9;

/** One command of a session, in the shape of a container that runs one program: a kill hits the command alone. */
export class CommandContainer implements Container {
  readonly id: string;
  readonly root: string;
  readonly #session: Session;
  #command: RunningCommand | undefined;

  constructor(session: Session) {
    this.id = session.container.id;
    this.root = session.container.root;
    this.#session = session;
  }

  get alive(): boolean {
    return this.#session.container.alive;
  }

  /** Present when it was started. */
  get command(): RunningCommand | undefined {
    return this.#command;
  }

  async putFile(...file: Parameters<Container["putFile"]>): Promise<void> {
    await this.#session.container.putFile(...file);
  }

  async run(program: ProgramRequest): Promise<ProgramReport> {
    this.#command = this.#session.face.start(program);
    return await this.#command.ended;
  }

  terminate(): void {
    this.#command?.signal(sigterm);
  }

  async kill(): Promise<void> {
    this.#command?.signal(sigkill);
    await this.#command?.ended.catch(() => undefined);
  }

  async collect(...request: Parameters<Container["collect"]>): Promise<void> {
    await this.#session.container.collect(...request);
  }

  async sawOutOfMemory(): Promise<boolean> {
    return this.alive ? false : await this.#session.container.sawOutOfMemory();
  }

  /** The container stays, it is the session's. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

import type {
  CollectedChange,
  CollectLimits,
  Container,
  ContainerFile,
  ProgramReport,
  ProgramRequest,
  SessionFace,
} from "../../application/ports.ts";
import { InitChannel } from "../init/init-channel.ts";
import { isOutOfMemory, lostMessage, type PodState, stateOf } from "./pod-state.ts";
import type { PodStream } from "./pod-stream.ts";
import type { Pods } from "./pods.ts";

const statusWaitMs = 3000;
const sigterm = 15;

/** The container of a Pod, spoken to through drover-init on its attached streams. */
export class PodContainer implements Container {
  readonly id: string;
  readonly root = "/workspace";
  readonly #pods: Pods;
  readonly #stream: PodStream;
  readonly #channel: InitChannel;
  readonly #over: Promise<PodState>;
  #alive = true;

  constructor(pods: Pods, id: string, stream: PodStream) {
    this.id = id;
    this.#pods = pods;
    this.#stream = stream;
    this.#channel = new InitChannel(stream);
    this.#over = this.#receive();
  }

  get alive(): boolean {
    return this.#alive && !this.#channel.lost;
  }

  get session(): SessionFace {
    return this.#channel.session;
  }

  /**
   * Resolves when process 1 takes files. Its first frame was written before anybody was attached, so it is asked for
   * the changes of an empty workspace.
   */
  async ready(): Promise<void> {
    await this.#channel.collect({ maxFiles: 0, maxBytes: 0 }, async () => undefined);
  }

  async putFile(file: ContainerFile): Promise<void> {
    await this.#channel.putFile(file);
  }

  async run(program: ProgramRequest): Promise<ProgramReport> {
    return await this.#channel.run(program);
  }

  terminate(): void {
    this.#channel.signal(sigterm);
  }

  async kill(): Promise<void> {
    await this.#end("The Pod was killed.");
  }

  async collect(limits: CollectLimits, onChange: (change: CollectedChange) => Promise<void>): Promise<void> {
    await this.#channel.collect(limits, onChange);
  }

  async sawOutOfMemory(): Promise<boolean> {
    const state = this.#alive ? stateOf(await this.#pods.get(this.id, AbortSignal.timeout(statusWaitMs))) : this.#over;
    return isOutOfMemory(await state);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#end("The Pod was removed.");
    } finally {
      this.#stream.destroy();
    }
  }

  /** Ends the input first, at which process 1 goes by itself. */
  async #end(why: string): Promise<void> {
    const wasLost = !this.#alive;
    this.#alive = false;
    if (!wasLost) this.#channel.lose(why);
    this.#stream.end();
    await this.#pods.remove(this.id);
  }

  /** Reads to the end; then the cluster's word on it is waited for, and told to whoever waits for an answer. */
  async #receive(): Promise<PodState> {
    let cause: unknown;
    try {
      for await (const chunk of this.#stream as AsyncIterable<Buffer>) await this.#channel.receive(chunk);
    } catch (error) {
      cause = error;
    }
    this.#alive = false;
    const state = await this.#lastState();
    const said = cause === undefined ? this.#stream.diagnostics : cause;
    this.#channel.lose(lostMessage(state), "CONTAINER_LOST", said);
    this.#stream.destroy();
    return state;
  }

  /** The kubelet's word comes a moment after the end of the streams; without it the Pod counts as running. */
  async #lastState(): Promise<PodState> {
    const ended = (state: PodState) => (state.kind === "running" || state.kind === "waiting" ? undefined : state);
    try {
      const signal = AbortSignal.timeout(statusWaitMs);
      return await this.#pods.until(this.id, (pod) => ended(stateOf(pod)), signal);
    } catch {
      return { kind: "running", digest: "" };
    }
  }
}

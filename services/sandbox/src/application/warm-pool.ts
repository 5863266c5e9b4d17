import type { Clock } from "@drover/kernel";
import type { Limits } from "../domain/limits.ts";
import { orAbort } from "./admission.ts";
import type {
  Container,
  ContainerRequest,
  EngineHealth,
  ExecBackend,
  FoundContainer,
  Log,
  PoolMetrics,
} from "./ports.ts";
import { type ShelfSize, type ShelfTimes, WarmShelf } from "./warm-shelf.ts";

/** The memory that containers hold while they wait. */
interface PoolMemory {
  /** Takes it for one container; gives what gives it back, undefined where none is to spare. */
  hold(): (() => void) | undefined;
  /** Whether somebody else was given memory that is held here. */
  readonly crowded: boolean;
}

/** What the pool works with. */
export interface PoolParts {
  readonly engine: ExecBackend;
  /** This instance, as its containers' owner label says it: `name/boot`. */
  readonly owner: string;
  /** Sizes by image; other images are started when they are asked for. */
  readonly sizes: ReadonlyMap<string, ShelfSize>;
  readonly times: ShelfTimes;
  /** Only a container with these limits can be kept ready. */
  readonly defaults: Limits;
  /** The longest that a request may live and still get a container that was started ahead. */
  readonly lifetimeMs: number;
  readonly memory: PoolMemory;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: PoolMetrics;
}

const tendEveryMs = 2000;
/** An image that was there this long ago is not asked for again while a container of it waits. */
const vouchMs = 5000;
/** A container that ended is left for this long to its own instance, if that lives. */
const corpseMs = 5000;
const warmLabel = /^warm-/;

/**
 * Keeps containers ready in front of another backend. A request with the default limits gets one that
 * was started ahead, once, and it is never used again; everything else passes through. The run label
 * of such a container was written before its run was known, so {@link found} puts the run's id in.
 */
export class WarmPool implements ExecBackend, AsyncDisposable {
  readonly #parts: PoolParts;
  readonly #shelves: ReadonlyMap<string, WarmShelf>;
  readonly #shape: string;
  readonly #runs = new Map<string, string>();
  readonly #corpses = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #tending: Promise<void>;

  constructor(parts: PoolParts) {
    this.#parts = parts;
    this.#shape = shapeOf(parts.defaults);
    const shelves = [...parts.sizes].filter(([, { max }]) => max > 0);
    this.#shelves = new Map(shelves.map(([image, size]) => [image, this.#shelf(image, size)]));
    parts.metrics.watch(() => this.ready);
    this.#tending = this.#shelves.size === 0 ? Promise.resolve() : this.#tend();
  }

  get name(): string {
    return this.#parts.engine.name;
  }

  get capabilities(): ExecBackend["capabilities"] {
    return this.#parts.engine.capabilities;
  }

  get runtime(): string {
    return this.#parts.engine.runtime;
  }

  /** How many containers are ready. */
  get ready(): number {
    return [...this.#shelves.values()].reduce((sum, shelf) => sum + shelf.ready, 0);
  }

  async check(image: string, signal: AbortSignal): Promise<string> {
    return this.#shelves.get(image)?.vouched(vouchMs) ?? (await this.#parts.engine.check(image, signal));
  }

  async start(request: ContainerRequest, signal: AbortSignal): Promise<Container> {
    signal.throwIfAborted();
    const { engine, metrics } = this.#parts;
    const shelf = this.#shelfFor(request);
    const warm = await shelf?.take(signal);
    const answer = shelf === undefined ? "bypass" : warm === undefined ? "miss" : "hit";
    metrics.asked(answer);
    request.onAnswer?.(answer);
    if (warm === undefined) {
      await this.#makeRoom(signal);
      return await engine.start(request, signal);
    }
    this.#runs.set(warm.warmId, request.runId);
    return warm.container;
  }

  async health(signal: AbortSignal): Promise<EngineHealth> {
    return await this.#parts.engine.health(signal);
  }

  /** What waits here is left out. What was left behind, here, by a dead process of the same name, or ended by any, is past its expiry. */
  async found(signal: AbortSignal): Promise<readonly FoundContainer[]> {
    const known = [...this.#runs.keys()];
    const found = await this.#parts.engine.found(signal);
    const listed = new Set(found.map(({ runId }) => runId));
    for (const warmId of known) if (!listed.has(warmId)) this.#runs.delete(warmId);
    for (const warmId of this.#corpses.keys()) if (!listed.has(warmId)) this.#corpses.delete(warmId);
    return found.filter(({ runId }) => !this.#holds(runId)).map((container) => this.#named(container));
  }

  async remove(id: string): Promise<void> {
    await this.#parts.engine.remove(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#tending, ...[...this.#shelves.values()].map((shelf) => shelf.close())]);
  }

  #shelf(image: string, size: ShelfSize): WarmShelf {
    const { engine, times, defaults: limits, memory, clock, log, lifetimeMs } = this.#parts;
    return new WarmShelf({
      image,
      size,
      times,
      clock,
      log,
      hold: () => memory.hold(),
      identify: (name, signal) => engine.check(name, signal),
      start: (runId, signal) =>
        engine.start({ runId, taskId: "", tenant: "", image, limits, lifetimeMs: times.maxAgeMs + lifetimeMs }, signal),
    });
  }

  async #tend(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await Promise.all([...this.#shelves.values()].map((shelf) => shelf.tend()));
      await this.#parts.clock.sleep(tendEveryMs, signal).catch(() => undefined);
    }
  }

  /** What waits is given up first: a container that was not started ahead begins when there is memory for it. */
  async #makeRoom(signal: AbortSignal): Promise<void> {
    while (this.#parts.memory.crowded) {
      const fullest = [...this.#shelves.values()].sort((a, b) => b.ready - a.ready);
      let gone: Promise<void> | undefined;
      for (const shelf of fullest) gone ??= shelf.shed();
      if (gone === undefined) return;
      await orAbort(gone, signal);
    }
  }

  #holds(warmId: string): boolean {
    return [...this.#shelves.values()].some((shelf) => shelf.holds(warmId));
  }

  #shelfFor(request: ContainerRequest): WarmShelf | undefined {
    const fits = shapeOf(request.limits) === this.#shape && request.lifetimeMs <= this.#parts.lifetimeMs;
    return fits ? this.#shelves.get(request.image) : undefined;
  }

  #named(container: FoundContainer): FoundContainer {
    const { runId, owner } = container;
    if (!warmLabel.test(runId)) return container;
    const run = this.#runs.get(runId);
    if (run !== undefined) return { ...container, runId: run };
    const left = instanceOf(owner) === instanceOf(this.#parts.owner) || this.#isCorpse(container);
    return left ? { ...container, expiresAt: new Date(0) } : container;
  }

  /** When its service dies a container that waits ends with it, and nobody else knows whose it was. */
  #isCorpse({ runId, exited }: FoundContainer): boolean {
    if (exited !== true) return false;
    const now = this.#parts.clock.monotonicMs();
    const since = this.#corpses.get(runId) ?? now;
    this.#corpses.set(runId, since);
    return now - since >= corpseMs;
  }
}

/** What of the limits goes into a container; time and kept output are watched from outside. */
function shapeOf(limits: Limits): string {
  const { wallMs: _wall, outputBytes: _output, compileMs: _compile, cpuTimeMs: _cpu, ...shape } = limits;
  return JSON.stringify(Object.entries(shape).sort());
}

function instanceOf(owner: string): string {
  return owner.slice(0, owner.lastIndexOf("/"));
}

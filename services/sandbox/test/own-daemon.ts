import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import Docker from "dockerode";

const run = promisify(execFile);

/** A Docker daemon of a test's own beside the host's, with its own data and socket, to be stopped and started at will. Needs root. */
export class OwnDaemon implements AsyncDisposable {
  readonly docker: Docker;
  readonly host: string;
  readonly #directory: string;
  #process: ChildProcess | undefined;

  private constructor(directory: string) {
    this.#directory = directory;
    const socketPath = join(directory, "docker.sock");
    this.host = `unix://${socketPath}`;
    this.docker = new Docker({ socketPath });
  }

  /** Starts one that has `image` of the host's daemon. */
  static async with(image: string): Promise<OwnDaemon> {
    const daemon = new OwnDaemon(await mkdtemp(join(tmpdir(), "own-daemon-")));
    try {
      await daemon.start();
      await run("sh", ["-c", `docker save "$1" | docker --host "$2" load`, "sh", image, daemon.host]);
      return daemon;
    } catch (error) {
      await daemon[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Resolves when it answers. With `liveRestore` its containers outlive it from now on. */
  async start(liveRestore = false): Promise<void> {
    const at = (name: string) => join(this.#directory, name);
    const places = ["--data-root", at("data"), "--exec-root", at("exec"), "--pidfile", at("pid"), "--host", this.host];
    const network = ["--bridge=none", "--iptables=false", "--ip-forward=false", "--ip-masq=false"];
    const options = [...places, ...network, "--shutdown-timeout=1", ...(liveRestore ? ["--live-restore"] : [])];
    // In a network of its own: without a bridge it would take away the one of the host's daemon.
    const child = spawn("unshare", ["--net", "dockerd", ...options], { stdio: ["ignore", "ignore", "pipe"] });
    this.#process = child;
    let log = "";
    child.stderr?.on("data", (chunk) => {
      log = (log + String(chunk)).slice(-2000);
    });
    child.on("error", (error) => {
      log += error.message;
    });
    while (child.exitCode === null && child.pid !== undefined) {
      const answers = await this.docker.ping().then(
        () => true,
        () => false,
      );
      if (answers) return;
      await sleep(50);
    }
    await sleep(0);
    throw new Error(`dockerd did not start: ${log}`);
  }

  /** Ends it and resolves when its process is gone. */
  async stop(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.pid === undefined) return;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    const mounts = (await readFile("/proc/self/mounts", "utf8")).split("\n").map((line) => line.split(" ")[1] ?? "");
    for (const mount of mounts.filter((path) => path.startsWith(this.#directory)).reverse()) {
      await run("umount", ["-l", mount]);
    }
    await rm(this.#directory, { recursive: true, force: true, maxRetries: 3 });
  }
}

import { readFile } from "node:fs/promises";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { DroverError } from "@drover/kernel";

/** How the API server is reached. */
export interface KubeAccess {
  /** `https://host:port`; `http://` for a proxy on this host. */
  readonly server: string;
  /** Read anew for every request, because tokens are rotated. A proxy does without where there is no such file. */
  readonly tokenFile: string;
  /** Certificates that the server's may come from; read anew likewise, and not looked at for a proxy. */
  readonly caFile: string;
}

/** What one request goes out with. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly ca: string | undefined;
  readonly agent: HttpAgent | HttpsAgent;
}

/** The credentials of now. FAILED_PRECONDITION (reason NO_CREDENTIALS) where a file cannot be read. */
export class KubeCredentials {
  readonly #access: KubeAccess;
  #agent: { readonly ca: string | undefined; readonly agent: HttpAgent | HttpsAgent } | undefined;

  constructor(access: KubeAccess) {
    this.#access = access;
  }

  async read(): Promise<Credentials> {
    const secure = this.#access.server.startsWith("https:");
    const ca = secure ? await readable("certificate authority", this.#access.caFile) : undefined;
    const reading = readable("token", this.#access.tokenFile);
    const token = (secure ? await reading : await reading.catch(() => undefined))?.trim();
    return { headers: token === undefined ? {} : { authorization: `Bearer ${token}` }, ca, agent: this.#agentFor(ca) };
  }

  /** Connections are kept, but not beyond the certificates that they were made with. */
  #agentFor(ca: string | undefined): HttpAgent | HttpsAgent {
    if (this.#agent === undefined || this.#agent.ca !== ca) {
      this.#agent?.agent.destroy();
      const agent = ca === undefined ? new HttpAgent({ keepAlive: true }) : new HttpsAgent({ keepAlive: true, ca });
      this.#agent = { ca, agent };
    }
    return this.#agent.agent;
  }
}

async function readable(what: string, path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const message = `The ${what} for the Kubernetes API server cannot be read.`;
    throw new DroverError("FAILED_PRECONDITION", message, { reason: "NO_CREDENTIALS", cause });
  }
}

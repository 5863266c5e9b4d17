import { readFile } from "node:fs/promises";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { DroverError } from "@drover/kernel";

/** How the API server is reached. */
export interface KubeAccess {
  /** `https://host:port`; `http://` for a proxy on this host. */
  readonly server: string;
  /** Read anew for every request, because tokens are rotated; empty for none. */
  readonly tokenFile: string;
  /** Certificates that the server's may come from; read anew likewise. Empty trusts what Node trusts. */
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
    const token = (await this.#file("token", this.#access.tokenFile))?.trim();
    const ca = await this.#file("certificate authority", this.#access.caFile);
    return { headers: token === undefined ? {} : { authorization: `Bearer ${token}` }, ca, agent: this.#agentFor(ca) };
  }

  /** Connections are kept, but not beyond the certificates that they were made with. */
  #agentFor(ca: string | undefined): HttpAgent | HttpsAgent {
    if (this.#agent === undefined || this.#agent.ca !== ca) {
      this.#agent?.agent.destroy();
      const secure = this.#access.server.startsWith("https:");
      const trust = ca === undefined ? {} : { ca };
      const agent = secure ? new HttpsAgent({ keepAlive: true, ...trust }) : new HttpAgent({ keepAlive: true });
      this.#agent = { ca, agent };
    }
    return this.#agent.agent;
  }

  async #file(what: string, path: string): Promise<string | undefined> {
    if (path === "") return undefined;
    try {
      return await readFile(path, "utf8");
    } catch (cause) {
      const message = `The ${what} for the Kubernetes API server cannot be read.`;
      throw new DroverError("FAILED_PRECONDITION", message, { reason: "NO_CREDENTIALS", cause });
    }
  }
}

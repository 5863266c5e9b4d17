import { setTimeout as sleep } from "node:timers/promises";
import { DroverError } from "@drover/kernel";
import type { AttachOptions } from "./attach.ts";
import type { KubeClient } from "./kube-client.ts";
import { aborted, refused } from "./kube-errors.ts";
import { containerName, podSelector } from "./pod-spec.ts";
import type { Pod } from "./pod-state.ts";
import type { PodStream } from "./pod-stream.ts";

const removeTimeoutMs = 30_000;
const pageSize = 500;
const watchSeconds = 60;
const pauseMs = 50;
const attachAttempts = 5;

/** The Pods of one namespace. */
export class Pods {
  readonly #client: KubeClient;
  readonly #path: string;

  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#path = `/api/v1/namespaces/${namespace}/pods`;
  }

  /** The server is asked to refuse fields that it does not know, instead of leaving them out. */
  async create(spec: unknown, signal: AbortSignal): Promise<void> {
    const path = `${this.#path}?fieldValidation=Strict`;
    const answer = await this.#client.call({ verb: "create", path, body: spec }, signal);
    if (answer.status !== 201) throw refused("start a Pod", answer);
  }

  async get(name: string, signal: AbortSignal): Promise<Pod | undefined> {
    const answer = await this.#client.call({ verb: "get", path: this.#pathOf(name) }, signal);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw refused("read a Pod", answer);
    return answer.body as Pod;
  }

  /** Every Pod of the service, read in pages; a list that grew too old between two of them begins anew. */
  async list(signal: AbortSignal, limit = pageSize): Promise<readonly Pod[]> {
    const found: Pod[] = [];
    for (let next = ""; ; ) {
      const query = new URLSearchParams({ labelSelector: podSelector, limit: String(limit), continue: next });
      const answer = await this.#client.call({ verb: "list", path: `${this.#path}?${query}` }, signal);
      if (answer.status === 410 && next !== "") {
        found.length = 0;
        next = "";
        continue;
      }
      if (answer.status !== 200) throw refused("list Pods", answer);
      const { items, metadata } = answer.body as { items: readonly Pod[]; metadata?: { continue?: string } };
      found.push(...items);
      next = metadata?.continue ?? "";
      if (next === "") return found;
    }
  }

  /** The version of a server that answers and lets Pods be listed. */
  async version(signal: AbortSignal): Promise<string> {
    const query = new URLSearchParams({ labelSelector: podSelector, limit: "1" });
    const answer = await this.#client.call({ verb: "list", path: `${this.#path}?${query}` }, signal);
    if (answer.status !== 200) throw refused("list Pods", answer);
    const { body } = await this.#client.call({ verb: "get", path: "/version" }, signal);
    return String((body as { gitVersion?: string }).gitVersion ?? "");
  }

  /** A node whose kubelet is not there yet makes the server fail; the streams were not opened then, so it is asked again. */
  async attach(name: string, options: AttachOptions, signal: AbortSignal): Promise<PodStream> {
    const query = `container=${containerName}&stdin=true&stdout=true&stderr=true&tty=false`;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#client.attach(`${this.#pathOf(name)}/attach?${query}`, options, signal);
      } catch (error) {
        if (DroverError.from(error).reason !== "ENGINE_FAILED" || attempt === attachAttempts) throw error;
        await pause(pauseMs * attempt, signal);
      }
    }
  }

  /**
   * Removes a Pod and proves that it is gone: its node says so before the API server forgets it. One that is gone already
   * is no error. UNAVAILABLE where it could not be proven in time, e.g. because the node does not answer.
   */
  async remove(name: string): Promise<void> {
    const signal = AbortSignal.timeout(removeTimeoutMs);
    const body = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 1, propagationPolicy: "Background" };
    const answer = await this.#client.call({ verb: "delete", path: this.#pathOf(name), body }, signal);
    if (![200, 202, 404, 409].includes(answer.status)) throw refused("remove a Pod", answer);
    await this.until(name, (pod) => (pod === undefined ? true : undefined), signal);
  }

  /**
   * What `decide` says of a Pod as soon as it says something; it is asked at every change, with undefined for a Pod that
   * the server does not know. A watch only wakes it: when one drops or its version is too old the Pod is read again.
   */
  async until<T>(name: string, decide: (pod: Pod | undefined) => T | undefined, signal: AbortSignal): Promise<T> {
    for (;;) {
      const pod = await this.get(name, signal);
      const decided = decide(pod);
      if (decided !== undefined) return decided;
      if (pod !== undefined) {
        const seen = await this.#watched(name, pod.metadata.resourceVersion ?? "", decide, signal);
        if (seen !== undefined) return seen;
      }
      await pause(pauseMs, signal);
    }
  }

  async #watched<T>(
    name: string,
    resourceVersion: string,
    decide: (pod: Pod) => T | undefined,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const query = new URLSearchParams({
      watch: "true",
      fieldSelector: `metadata.name=${name}`,
      resourceVersion,
      timeoutSeconds: String(watchSeconds),
    });
    try {
      const call = { verb: "watch", path: `${this.#path}?${query}` } as const;
      for await (const event of this.#client.lines(call, signal)) {
        const { type, object } = event as { type?: string; object?: Pod };
        if ((type !== "ADDED" && type !== "MODIFIED") || object === undefined) return undefined;
        const decided = decide(object);
        if (decided !== undefined) return decided;
      }
    } catch {
      // The watch dropped; reading the Pod again says how things are.
    }
    return undefined;
  }

  #pathOf(name: string): string {
    return `${this.#path}/${encodeURIComponent(name)}`;
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    throw aborted(signal);
  });
}

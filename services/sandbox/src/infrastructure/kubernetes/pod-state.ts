import { DroverError } from "@drover/kernel";

/** What of a Pod is looked at. */
export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
}

interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
}

interface ContainerStatus {
  readonly imageID?: string;
  readonly state?: {
    readonly waiting?: { readonly reason?: string };
    readonly running?: object;
    readonly terminated?: { readonly reason?: string; readonly exitCode?: number };
  };
}

/** Where a Pod stands. `why` is the cluster's own word, `detail` its sentence. */
export type PodState =
  | { readonly kind: "waiting" | "broken" | "over"; readonly why: string; readonly detail: string }
  | { readonly kind: "running"; readonly digest: string }
  | { readonly kind: "gone" };

const imageTrouble = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "ErrImageNeverPull",
  "InvalidImageName",
  "ImageInspectError",
]);
const startTrouble = new Set([
  "CreateContainerError",
  "CreateContainerConfigError",
  "RunContainerError",
  "StartError",
  "ContainerCannotRun",
]);
/** The scheduler found no node; it goes on looking. */
const unschedulable = "Unschedulable";
const outOfMemory = "OOMKilled";
const detailLength = 300;

/** Reads a Pod as the API server gives it; undefined is one that it does not know. */
export function stateOf(pod: Pod | undefined): PodState {
  if (pod === undefined) return { kind: "gone" };
  const { phase = "Pending", reason = "", message = "", conditions = [], containerStatuses } = pod.status ?? {};
  const { imageID = "", state } = containerStatuses?.[0] ?? {};
  const detail = message.slice(0, detailLength);
  const ended = state?.terminated;
  if (phase === "Failed" || phase === "Succeeded" || phase === "Unknown" || ended !== undefined) {
    const why = reason || ended?.reason || phase;
    if (startTrouble.has(why)) return { kind: "broken", why, detail };
    return { kind: "over", why, detail: detail || exitDetail(ended?.exitCode) };
  }
  if (pod.metadata.deletionTimestamp !== undefined) return { kind: "over", why: "Deleted", detail };
  if (state?.running !== undefined) return { kind: "running", digest: digestOf(imageID) };
  const why = state?.waiting?.reason ?? "";
  if (imageTrouble.has(why) || startTrouble.has(why)) return { kind: "broken", why, detail };
  const unplaced = conditions.find(({ type, status }) => type === "PodScheduled" && status === "False");
  if (unplaced?.reason === unschedulable) {
    return { kind: "waiting", why: unschedulable, detail: (unplaced.message ?? "").slice(0, detailLength) };
  }
  return { kind: "waiting", why: why || phase, detail };
}

/** Whether the kernel ended the container for its memory. */
export function isOutOfMemory(state: PodState): boolean {
  return state.kind === "over" && state.why === outOfMemory;
}

/**
 * Why a Pod will never run, or undefined while it still may. FAILED_PRECONDITION is a launch that fails again,
 * RESOURCE_EXHAUSTED (reason OUT_OF_MEMORY) one whose memory does not do, UNAVAILABLE the cluster's own trouble.
 */
export function startFault(state: PodState, image: string): DroverError | undefined {
  switch (state.kind) {
    case "gone":
      return podLost(state);
    case "broken":
      return imageTrouble.has(state.why)
        ? precondition("IMAGE_MISSING", `The image ${image} is missing: no node can pull it (${state.why}).`)
        : precondition("CONTAINER_REFUSED", `The node could not start the container (${state.why}).`);
    case "over":
      return isOutOfMemory(state)
        ? new DroverError("RESOURCE_EXHAUSTED", lostMessage(state), { reason: "OUT_OF_MEMORY" })
        : podLost(state);
    default:
      return undefined;
  }
}

/** What a Pod that did not run in time is told as. */
export function lateFault(state: PodState): DroverError {
  const { why, detail } = { why: "", detail: "", ...state };
  if (why === unschedulable) return precondition("UNSCHEDULABLE", `No node takes the Pod: ${detail || why}`);
  return new DroverError("UNAVAILABLE", `The Pod did not start in time (${why || state.kind}).`, {
    reason: "ENGINE_UNAVAILABLE",
    retryAfterMs: 5000,
  });
}

/** One sentence on how a Pod in use was lost. */
export function lostMessage(state: PodState): string {
  switch (state.kind) {
    case "gone":
      return "The Pod was removed by somebody else.";
    case "over":
      return overMessage(state);
    case "broken":
      return `The node ended the container (${state.why}).`;
    default:
      return "The connection to the Pod was lost.";
  }
}

function overMessage({ why, detail }: { readonly why: string; readonly detail: string }): string {
  if (why === outOfMemory) return "The container ran out of memory.";
  if (why === "Evicted") return `The Pod was evicted. ${detail}`.trim();
  if (why === "DeadlineExceeded") return "The Pod outlived its lifetime.";
  return `The Pod ended (${why}). ${detail}`.trim();
}

function podLost(state: PodState): DroverError {
  return new DroverError("UNAVAILABLE", lostMessage(state), { reason: "POD_LOST", retryAfterMs: 1000 });
}

function precondition(reason: string, message: string): DroverError {
  return new DroverError("FAILED_PRECONDITION", message, { reason });
}

function exitDetail(code: number | undefined): string {
  return code === undefined ? "" : `Process 1 exited with ${code}.`;
}

function digestOf(imageId: string): string {
  return /sha256:[0-9a-f]{64}/.exec(imageId)?.[0] ?? imageId;
}

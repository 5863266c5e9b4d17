import { expect, test } from "vitest";
import { lateFault, lostMessage, type Pod, startFault, stateOf } from "./pod-state.ts";

type Status = NonNullable<Pod["status"]>;
const pod = (status: Status, metadata: Partial<Pod["metadata"]> = {}): Pod => ({
  metadata: { name: "p", ...metadata },
  status,
});
const waiting = (reason: string): Status => ({
  phase: "Pending",
  containerStatuses: [{ state: { waiting: { reason } } }],
});
const ended = (reason: string, exitCode = 1): Status => ({
  phase: "Failed",
  containerStatuses: [{ state: { terminated: { reason, exitCode } } }],
});
const digest = `sha256:${"a".repeat(64)}`;
const unplaced: Status = {
  phase: "Pending",
  conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes are available." }],
};

test.each<[string, Pod, string, string]>([
  ["ErrImagePull", pod(waiting("ErrImagePull")), "FAILED_PRECONDITION", "IMAGE_MISSING"],
  ["ImagePullBackOff", pod(waiting("ImagePullBackOff")), "FAILED_PRECONDITION", "IMAGE_MISSING"],
  ["InvalidImageName", pod(waiting("InvalidImageName")), "FAILED_PRECONDITION", "IMAGE_MISSING"],
  ["config error", pod(waiting("CreateContainerConfigError")), "FAILED_PRECONDITION", "CONTAINER_REFUSED"],
  ["StartError", pod(ended("StartError", 128)), "FAILED_PRECONDITION", "CONTAINER_REFUSED"],
  ["OOMKilled", pod(ended("OOMKilled", 137)), "RESOURCE_EXHAUSTED", "OUT_OF_MEMORY"],
  ["an end of process 1", pod(ended("Error", 71)), "UNAVAILABLE", "POD_LOST"],
  ["eviction", pod({ phase: "Failed", reason: "Evicted", message: "low on memory" }), "UNAVAILABLE", "POD_LOST"],
  ["no room on the node", pod({ phase: "Failed", reason: "OutOfcpu" }), "UNAVAILABLE", "POD_LOST"],
  ["a dead node", pod({ phase: "Unknown", reason: "NodeLost" }), "UNAVAILABLE", "POD_LOST"],
  ["a deletion", pod(waiting("ContainerCreating"), { deletionTimestamp: "now" }), "UNAVAILABLE", "POD_LOST"],
])("a Pod that never runs is a typed failure: %s", (_name, seen, code, reason) => {
  expect(startFault(stateOf(seen), "i:1")).toMatchObject({ code, reason });
});

test("a Pod that may still run is none, and one that is gone is lost", () => {
  for (const status of [{ phase: "Pending" }, waiting("ContainerCreating"), unplaced])
    expect(startFault(stateOf(pod(status)), "i:1")).toBeUndefined();
  expect(startFault(stateOf(undefined), "i:1")).toMatchObject({ code: "UNAVAILABLE", reason: "POD_LOST" });
});

test("phase Running alone is not running: the container must be", () => {
  expect(stateOf(pod({ phase: "Running" }))).toMatchObject({ kind: "waiting" });
  const running = { phase: "Running", containerStatuses: [{ imageID: `r/i@${digest}`, state: { running: {} } }] };
  expect(stateOf(pod(running))).toEqual({ kind: "running", digest });
});

test("too late for the scheduler is a launch that fails, for a node it is the cluster's trouble", () => {
  expect(lateFault(stateOf(pod(unplaced)))).toMatchObject({
    code: "FAILED_PRECONDITION",
    reason: "UNSCHEDULABLE",
    message: "No node takes the Pod: 0/3 nodes are available.",
  });
  expect(lateFault(stateOf(pod(waiting("ContainerCreating"))))).toMatchObject({
    code: "UNAVAILABLE",
    message: "The Pod did not start in time (ContainerCreating).",
  });
});

test.each<[Pod | undefined, string]>([
  [undefined, "The Pod was removed by somebody else."],
  [pod({ phase: "Failed", reason: "Evicted", message: "low on disk" }), "The Pod was evicted. low on disk"],
  [pod({ phase: "Failed", reason: "DeadlineExceeded" }), "The Pod outlived its lifetime."],
  [pod(ended("OOMKilled")), "The container ran out of memory."],
  [pod(ended("Error", 70)), "The Pod ended (Error). Process 1 exited with 70."],
  [pod({ phase: "Running", containerStatuses: [{ state: { running: {} } }] }), "The connection to the Pod was lost."],
])("a lost Pod is told in a sentence: %j", (seen, message) => {
  expect(lostMessage(stateOf(seen))).toBe(message);
});

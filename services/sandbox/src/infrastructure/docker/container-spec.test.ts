import { expect, test } from "vitest";
import { defaultLimitPolicy } from "../../domain/limits.ts";
import { containerSpec } from "./container-spec.ts";

const request = {
  runId: "run-1",
  taskId: "task-1",
  tenant: "acme",
  image: "i:1",
  limits: defaultLimitPolicy.defaults,
  lifetimeMs: 1000,
};
const settings = { owner: "host:7702/boot", runtime: "", expiresAtMs: 42 };

test("every flag of the hardened container", () => {
  const mount = "rw,exec,nosuid,nodev,nr_inodes=16384,size=134217728";
  expect(containerSpec(request, settings)).toEqual({
    Image: "i:1",
    User: "65534:65534",
    WorkingDir: "/workspace",
    Tty: false,
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    NetworkDisabled: true,
    Labels: {
      "drover.service": "sandbox",
      "drover.run": "run-1",
      "drover.owner": "host:7702/boot",
      "drover.tenant": "acme",
      "drover.task": "task-1",
      "drover.expires": "42",
    },
    HostConfig: {
      AutoRemove: false,
      Init: false,
      Privileged: false,
      NetworkMode: "none",
      IpcMode: "private",
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges:true"],
      Memory: 536_870_912,
      MemorySwap: 536_870_912,
      NanoCpus: 1_000_000_000,
      PidsLimit: 100,
      Ulimits: [
        { Name: "nofile", Soft: 256, Hard: 256 },
        { Name: "core", Soft: 0, Hard: 0 },
        { Name: "fsize", Soft: 536_870_912, Hard: 536_870_912 },
      ],
      ShmSize: 16_777_216,
      Tmpfs: { "/tmp": `${mount},mode=1777`, "/workspace": `${mount},mode=0755,uid=65534,gid=65534` },
      LogConfig: { Type: "none", Config: {} },
      RestartPolicy: { Name: "no" },
    },
  });
});

test("with little memory the two tmpfs shrink, so that filling one is not the end of the container", () => {
  const small = containerSpec(
    { ...request, limits: { ...request.limits, memoryBytes: 64 << 20 } },
    { ...settings, runtime: "runsc" },
  );
  expect(small.HostConfig?.Tmpfs?.["/tmp"]).toContain(`size=${16 << 20},`);
  expect(small.HostConfig?.Tmpfs?.["/workspace"]).toContain(`size=${32 << 20},`);
  expect(small.HostConfig?.Runtime).toBe("runsc");
});

test("under gVisor the program's own limit is one that its kernel keeps", () => {
  const spec = containerSpec(request, { ...settings, runtime: "runsc" });
  expect(spec.HostConfig).toMatchObject({ Runtime: "runsc", PidsLimit: 8 * 100 + 256 });
  expect(spec.HostConfig?.Ulimits).toContainEqual({ Name: "nproc", Soft: 88, Hard: 88 });
});

test("under gVisor process 1 is root of that kernel with what it needs, elsewhere nothing is", () => {
  const spec = containerSpec(request, { ...settings, runtime: "runsc" });
  expect(spec).toMatchObject({
    User: "0:0",
    HostConfig: {
      CapDrop: ["ALL"],
      CapAdd: ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETPCAP", "SETUID"],
      SecurityOpt: ["no-new-privileges:true"],
    },
  });
  for (const runtime of ["", "runc", "crun", "kata"]) {
    const other = containerSpec(request, { ...settings, runtime });
    expect([other.User, other.HostConfig?.CapAdd]).toEqual(["65534:65534", undefined]);
  }
});

import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { onGvisor, type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest();
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  // An answer does not wait for the removal of its container.
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
});

const output = async (code: string) => (await sandbox.run("bash", code)).stdout.toString();

test("the engine really applies every limit of the hardened container", async () => {
  const inspected =
    Promise.withResolvers<Awaited<ReturnType<ReturnType<typeof sandbox.docker.getContainer>["inspect"]>>>();
  const onEvent = (kind: string) => {
    if (kind !== "started") return;
    sandbox
      .containers()
      .then(([id = ""]) => sandbox.docker.getContainer(id).inspect())
      .then(inspected.resolve, inspected.reject);
  };
  const { execution } = await sandbox.run("bash", "sleep 1", { taskId: "task-7", onEvent });
  const { Config, HostConfig, Mounts } = await inspected.promise;
  expect(HostConfig).toMatchObject({
    Memory: 512 << 20,
    MemorySwap: 512 << 20,
    NanoCpus: 1_000_000_000,
    // The threads of gVisor's kernel count here, and the program's limit is one of that kernel's own.
    PidsLimit: onGvisor() ? 8 * 100 + 256 : 100,
    NetworkMode: "none",
    IpcMode: "private",
    ReadonlyRootfs: true,
    Privileged: false,
    CapAdd: onGvisor() ? ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETPCAP", "SETUID"] : null,
    CapDrop: ["ALL"],
    SecurityOpt: ["no-new-privileges:true"],
    Init: false,
    AutoRemove: false,
    Binds: null,
    ShmSize: 16 << 20,
    LogConfig: { Type: "none", Config: {} },
    RestartPolicy: { Name: "no" },
  });
  expect(HostConfig.Ulimits).toContainEqual({ Name: "nofile", Soft: 256, Hard: 256 });
  expect(HostConfig.Ulimits).toContainEqual({ Name: "core", Soft: 0, Hard: 0 });
  expect(Object.keys(HostConfig.Tmpfs ?? {})).toEqual(["/tmp", "/workspace"]);
  expect(HostConfig.Tmpfs?.["/tmp"]).toContain(`size=${128 << 20}`);
  expect(Mounts).toEqual([]);
  expect(Config).toMatchObject({
    User: onGvisor() ? "0:0" : "65534:65534",
    Tty: false,
    OpenStdin: true,
    StdinOnce: true,
    NetworkDisabled: true,
  });
  expect(Config.Labels).toMatchObject({ "drover.run": execution.id, "drover.tenant": sandbox.tenant });
  expect(Number(Config.Labels["drover.expires"])).toBeGreaterThan(Date.now());
});

test("the program sees the same from inside", async () => {
  const status = await output(
    "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp|Uid):' /proc/self/status | tr '\\t' ' '; ulimit -n; ulimit -c",
  );
  // gVisor keeps no-new-privileges and has no line for it.
  const privileges = onGvisor() ? "" : "NoNewPrivs: 1\n";
  expect(status).toBe(
    `Uid: 65534 65534 65534 65534\nCapEff: 0000000000000000\nCapBnd: 0000000000000000\n${privileges}Seccomp: 2\n256\n0\n`,
  );
});

test("process 1 cannot be read, written to, traced or killed", async () => {
  const code = `
    attack() {
      for p in /proc/1 /proc/1/task/*; do
        for f in environ mem maps fd/0 fd/1 root/etc/shadow; do
          [ "$(timeout 1 head -c 1 $p/$f 2>/dev/null | wc -c)" -gt 0 ] && echo "read $f"
        done
        for fd in 0 1 2; do (printf '\\205\\0\\0\\0\\002{}' >$p/fd/$fd) 2>/dev/null && echo "wrote $fd"; done
      done
      for s in $(seq 1 64); do kill -$s 1 2>/dev/null; done
      kill -9 1 2>/dev/null; sleep 0.2
    }
    attack | sort -u
    export -f attack
    unshare -Ur bash -c 'attack | sort -u' 2>/dev/null
    echo alive`;
  // The map of process 1 is for everybody to read on gVisor; its memory is not.
  expect((await output(code)).replaceAll(onGvisor() ? "read maps\n" : "-", "")).toBe("alive\n");
  const trace = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, 1, 0, 0), os.strerror(ctypes.get_errno()))
try: open('/proc/1/mem', 'r+b')
except OSError as e: print(e.strerror)
print(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:3], len(os.listdir('/proc/self/fd')))`;
  const { stdout } = await sandbox.run("python", trace);
  expect(stdout.toString()).toBe("-1 Operation not permitted\nPermission denied\n[0, 1, 2] 4\n");
});

test("nothing outside /tmp, /workspace and /dev/shm can be written", async () => {
  const code = `
    for p in / /etc /usr /var /home /root /proc/sys/kernel /sys/fs/cgroup /sys /dev; do
      (touch $p/probe) 2>/dev/null && echo "wrote $p"
    done
    for p in /tmp /workspace /dev/shm; do touch $p/probe && echo "ok $p"; done`;
  expect(await output(code)).toBe("ok /tmp\nok /workspace\nok /dev/shm\n");
});

test("there is no network but the loopback", async () => {
  const code = `
import socket
for host, port in (("1.1.1.1", 53), ("169.254.169.254", 80), ("172.17.0.1", 2375)):
    try: socket.create_connection((host, port), 2); print("connected", host)
    except OSError as e: print("refused")
try: socket.getaddrinfo("example.com", 80); print("resolved")
except OSError: print("refused")
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); socket.create_connection(s.getsockname(), 2); print("loopback")`;
  const { stdout } = await sandbox.run("python", code);
  expect(stdout.toString()).toBe("refused\nrefused\nrefused\nrefused\nloopback\n");
});

/** The number is writev's where gVisor takes it for a call of its own ABI, as it does with all. */
const otherAbi = onGvisor() ? "EBADF" : "ENOSYS";

test("there are no sockets that a network namespace does not confine, no io_uring and no calls of another ABI", async () => {
  const code = `
import ctypes, errno, mmap, os, platform, socket
for family in (1, 2, 10, 16): socket.socket(family, socket.SOCK_DGRAM).close()
def refusal(family, kind):
    try: socket.socket(family, kind); return "open"
    except OSError as e: return errno.errorcode[e.errno]
print([refusal(family, kind) for family, kind in ((40, 1), (38, 5), (17, 3), (31, 3), (44, 3))])
libc = ctypes.CDLL(None, use_errno=True)
print([(libc.syscall(number, 8, 0), errno.errorcode[ctypes.get_errno()]) for number in (425, 426, 427)])
if platform.machine() == "x86_64":
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(bytes([0x53, 0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0x5b, 0xc3]))  # getpid of i386
    call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    print(errno.errorcode[-call()])
else: print("${otherAbi}")`;
  const { stdout, stderr } = await sandbox.run("python", code);
  const none = "(-1, 'ENOSYS')";
  const families = Array.from({ length: 5 }, () => "'EAFNOSUPPORT'").join(", ");
  expect(stderr.toString() + stdout.toString()).toBe(`[${families}]\n[${none}, ${none}, ${none}]\n${otherAbi}\n`);
});

test("there is no set-user-id program, no new namespace and no mount", async () => {
  const code = `
    find / -xdev -perm /6000 -type f 2>/dev/null
    cp /usr/bin/id /tmp/id && chmod 6755 /tmp/id && /tmp/id -u
    unshare -Ur true 2>/dev/null && echo unshared
    mount -t tmpfs none /tmp 2>/dev/null && echo mounted
    env | grep -iE 'key|token|secret|password|DATABASE|NATS'; echo end`;
  // A namespace of users is one of gVisor's kernel there.
  expect(await output(code)).toBe(onGvisor() ? "65534\nunshared\nend\n" : "65534\nend\n");
});

test.each([
  ["a parent folder", "../x"],
  ["an absolute path", "/etc/x"],
  ["a hidden parent", "a/../../x"],
  ["a NUL", "a\u0000b"],
  ["a backslash", "..\\x"],
  ["a newline", "a\nb"],
  ["nothing", ""],
])("a file whose path is %s is refused by name", async (_name, path) => {
  const run = sandbox.run("bash", "true", { files: [{ path, content: new Uint8Array() }] });
  await expect(run).rejects.toMatchObject({ code: "INVALID_ARGUMENT", violations: [{ field: "files[0].path" }] });
});

test("one file that is a folder of another is refused", async () => {
  const files = ["a", "a/b"].map((path) => ({ path, content: new Uint8Array() }));
  await expect(sandbox.run("bash", "true", { files })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("an unknown language is refused with the list of the known ones", async () => {
  await expect(sandbox.run("cobol", "x")).rejects.toThrow(/allowed one of .*python.*bash/);
});

test("bad limits, ids and variables are refused by name", async () => {
  await expect(sandbox.run("bash", "true", { limits: { wallMs: -1000 } })).rejects.toThrow(/limits.wall_time/);
  await expect(sandbox.run("bash", "true", { callId: "x" })).rejects.toThrow(/call_id/);
  await expect(sandbox.run("bash", "true", { environment: { "A-B": "x" } })).rejects.toThrow(/environment/);
  const clamped = await sandbox.run("bash", "true", { limits: { memoryBytes: 1 } });
  expect(clamped.execution.verdict).toBe(Verdict.EXITED);
  expect(clamped.execution.appliedLimits?.memoryBytes).toBe(BigInt(32 << 20));
});

/**
 * How far programs are kept from their host and from each other. `none`: not at all. `hardened`: a
 * container without capabilities, network and places to write, on the host's kernel. `userns`: the same
 * under users that are not the host's. `gvisor`: the same on a kernel of its own in user space. Each
 * holds all that the one before it does; gVisor's kernel is above `userns` whatever its users are.
 */
export type IsolationLevel = "none" | "hardened" | "userns" | "gvisor";

/** Limits of the container that the self-test runs in; both must bite. */
export const probeLimits = { memoryBytes: 256 * 1024 ** 2, processes: 64 } as const;

/**
 * The hostile program of the self-test, for bash: it tries what must not work and prints what it found as `fact=value`
 * lines. The network is tried where a cloud's metadata, a Docker host and the internet would be.
 */
export const probeProgram = `
status() { sed -n "s/^$1:[[:space:]]*//p" /proc/self/status; }
echo "uid=$(id -u)"
echo "capabilities=$(status CapEff)$(status CapBnd)"
echo "no_new_privileges=$(status NoNewPrivs)"
echo "seccomp=$(status Seccomp)"
for p in / /etc /usr /root /var /sys /proc/sys/kernel; do (: >"$p/drover-probe") 2>/dev/null && echo "wrote=$p"; done
for f in mem fd/0 fd/1; do (: </proc/1/$f) 2>/dev/null && echo "opened=/proc/1/$f"; done
[ "$(head -c 1 /proc/1/environ 2>/dev/null | wc -c)" -gt 0 ] && echo "opened=/proc/1/environ"
sed 's/^/uid_map=/' /proc/self/uid_map
for a in 1.1.1.1/53 169.254.169.254/80 172.17.0.1/2375; do
  timeout 1 bash -c ": <>/dev/tcp/$a" 2>/dev/null && echo "connected=$a" &
done; wait
for s in /var/run/docker.sock /run/containerd/containerd.sock /var/run/secrets/kubernetes.io; do [ -e "$s" ] && echo "host=$s"; done
(mount -t tmpfs none /tmp) 2>/dev/null && echo "gained=mount"
(unshare -Ur true) 2>/dev/null && echo "gained=user namespace"
case "$(dmesg 2>/dev/null)" in *gVisor*) echo "kernel=gvisor" ;; *) echo "kernel=other" ;; esac
`;

/** More of it where the processes of a container are limited: as many forks as that lets through. */
export const forkProgram = `
echo "forks=$(perl -e 'my $n = 0; for (1..200) { my $p = fork; last unless defined $p; if (!$p) { close STDOUT; sleep 9; exit } $n++ } print $n')"
`;

/** A program that takes more memory than {@link probeLimits} allow. */
export const memoryProgram = "head -c 600m /dev/zero | tail >/dev/null; echo survived";

/** What a self-test saw. */
export interface Probed {
  /** Output of {@link probeProgram}, and of {@link forkProgram} where it ran. */
  readonly output: string;
  /** Whether {@link memoryProgram} was ended for its memory. */
  readonly memoryHeld: boolean;
  /** True where the number of processes is limited by somebody else, e.g. a kubelet for all its Pods. */
  readonly processesElsewhere?: boolean;
  /** True where process 1 has the program's user: on gVisor that leaves it open, at the cost of the run's own report. */
  readonly processOneShared?: boolean;
}

/** What is missing to a level, in words, one entry each; empty where it is reached. */
export function shortOf(level: IsolationLevel, probed: Probed): string[] {
  if (level === "none") return [];
  const { output, memoryHeld, processesElsewhere = false, processOneShared = false } = probed;
  const facts = factsOf(output);
  const one = (name: string) => facts.get(name)?.[0] ?? "";
  const missing: string[] = [];
  const need = (holds: boolean, otherwise: string) => {
    if (!holds) missing.push(otherwise);
  };
  need(/^[1-9]\d*$/.test(one("uid")), `programs run as user ${one("uid") || "unknown"}`);
  need(/^0+$/.test(one("capabilities")), "programs have capabilities");
  for (const path of facts.get("wrote") ?? []) missing.push(`programs can write to ${path}`);
  for (const address of facts.get("connected") ?? []) missing.push(`programs reach the network (${address})`);
  const onGvisor = one("kernel") === "gvisor";
  const opened = onGvisor && processOneShared ? [] : (facts.get("opened") ?? []);
  for (const path of opened) missing.push(`programs can open ${path}`);
  for (const path of facts.get("host") ?? []) missing.push(`programs see ${path}`);
  const forks = Number(one("forks") || Number.NaN);
  need(processesElsewhere || (forks > 0 && forks < probeLimits.processes), "the limit of processes does not hold");
  need(memoryHeld, "the limit of memory does not hold");
  if (level === "gvisor") need(onGvisor, "programs do not run on gVisor's kernel");
  else if (!onGvisor) missing.push(...shortOfHostKernel(facts, one));
  if (level === "userns" && !onGvisor) missing.push(...shortOfUserns(facts.get("uid_map") ?? [], Number(one("uid"))));
  return missing;
}

/** On the host's kernel its own doors must be shut as well; gVisor answers for those itself. */
function shortOfHostKernel(facts: ReadonlyMap<string, readonly string[]>, one: (name: string) => string): string[] {
  const missing: string[] = [];
  for (const what of facts.get("gained") ?? []) missing.push(`programs can make a ${what}`);
  if (one("no_new_privileges") !== "1") missing.push("no-new-privileges is off");
  if (one("seccomp") !== "2") missing.push("no seccomp filter is on");
  return missing;
}

/**
 * Neither the program's user nor root may be the host's user of the same number. A line of
 * /proc/self/uid_map is a range: first number inside, first number outside, length.
 */
function shortOfUserns(lines: readonly string[], uid: number): string[] {
  const ranges = lines.map((line) => line.trim().split(/\s+/).map(Number));
  const hostsOf = (user: number) =>
    ranges.flatMap(([inside = 0, outside = 0, length = 0]) =>
      user >= inside && user < inside + length ? [outside + user - inside] : [],
    );
  if (hostsOf(uid).length === 0) return ["the users of the container are unknown"];
  return [0, uid].filter((user) => hostsOf(user).some((host) => host === user || host === 0)).map(ownUser);
}

function ownUser(user: number): string {
  return `user ${user} of the container is a user of the host itself`;
}

function factsOf(output: string): Map<string, string[]> {
  const facts = new Map<string, string[]>();
  for (const line of output.split("\n")) {
    const [, name = "", value = ""] = /^([a-z_]+)=(.*)$/.exec(line) ?? [];
    if (name !== "") facts.set(name, [...(facts.get(name) ?? []), value]);
  }
  return facts;
}

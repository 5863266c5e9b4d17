import type { Program } from "./program.ts";

/** Programs that look for a way out. What they print is what they found. */
export const probes: readonly Program[] = [
  {
    name: "the clock cannot be set, not even for a child",
    language: "python",
    code: `
import ctypes, time
libc = ctypes.CDLL(None, use_errno=True)
try: time.clock_settime(time.CLOCK_REALTIME, 0); print("set")
except OSError as e: print(e.errno)
print(libc.settimeofday(ctypes.create_string_buffer(16), None), ctypes.get_errno())
print(libc.unshare(0x80), ctypes.get_errno())`,
    stdout: "1\n-1 1\n-1 1\n",
    gvisor: { why: "unshare of a time namespace is taken there and does nothing", stdout: "1\n-1 1\n0 1\n" },
  },
  {
    name: "nothing of the host or the service is to be read in /proc and /sys",
    language: "bash",
    code: `
for f in /proc/1/environ /proc/1/maps /proc/1/mem /proc/kcore /proc/sched_debug /proc/timer_list /proc/keys /proc/kmsg /dev/kmsg /dev/mem /dev/sda; do
  [ -e $f ] && n=$(head -c 64 $f 2>/dev/null | wc -c) && [ $n -gt 0 ] && echo "read $f"
done
ls /sys/firmware 2>/dev/null
dmesg >/dev/null 2>&1 && echo dmesg
grep -aE 'DATABASE_URL|DROVER_|NATS_URL' /proc/*/environ 2>/dev/null
grep -E 'docker\\.sock|/home|/root' /proc/self/mountinfo
ls /var/run/docker.sock /run/docker.sock 2>/dev/null
env | cut -d= -f1 | sort | tr '\\n' ' '`,
    stdout: "HOME LANG PATH PWD SHLVL TMPDIR _ ",
    gvisor: {
      why: "the map of process 1 is for everybody to read there, its memory is not; dmesg is gVisor's own and invented",
      stdout: "read /proc/1/maps\ndmesg\nHOME LANG PATH PWD SHLVL TMPDIR _ ",
    },
  },
  {
    name: "calls that make namespaces, mounts, tracers and kernel objects are refused",
    language: "python",
    code: `
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
numbers = {
    "unshare": 272 if x86 else 97, "mount": 165 if x86 else 40, "pivot_root": 155 if x86 else 41, "bpf": 321 if x86 else 280,
    "userfaultfd": 323 if x86 else 282, "keyctl": 250 if x86 else 219, "add_key": 248 if x86 else 217,
    "perf_event_open": 298 if x86 else 241, "io_uring_setup": 425, "setns": 308 if x86 else 268, "init_module": 175 if x86 else 105,
    "kexec_load": 246 if x86 else 104, "open_by_handle_at": 304 if x86 else 265, "reboot": 169 if x86 else 142,
}
page = ctypes.create_string_buffer(4096)
for name, number in numbers.items():
    first = 0x10000000 if name in ("unshare", "setns") else page
    result = libc.syscall(number, first, page, page, 0x10000000, page)
    code = errno.errorcode.get(ctypes.get_errno(), "?")
    if result != -1 or code not in ("EPERM", "ENOSYS", "EACCES"): print(name, result, code)
class Args(ctypes.Structure): _fields_ = [("v", ctypes.c_uint64 * 11)]
args = Args(); args.v[0] = 0x10000000; args.v[4] = 17
result = libc.syscall(435, ctypes.byref(args), 88)
if result == 0: libc._exit(0)
print("clone3", result, errno.errorcode[ctypes.get_errno()] in ("EPERM", "ENOSYS"))
print("end")`,
    stdout: "clone3 -1 True\nend\n",
    gvisor: {
      why: "a namespace of users is one of gVisor's kernel, and calls it lacks are refused in other words",
      stdout:
        "unshare 0 ?\npivot_root -1 ENOENT\nperf_event_open -1 ENODEV\nsetns -1 ENOTSUP\nopen_by_handle_at -1 ENOTSUP\nclone3 -1 True\nend\n",
    },
  },
  {
    name: "the container's own password files are all there is to read",
    language: "bash",
    code: "cat /etc/shadow 2>&1 >/dev/null | grep -c denied; grep -c . /etc/passwd >/dev/null && id -u",
    stdout: "1\n65534\n",
  },
  {
    name: "sudo and su gain nothing",
    language: "bash",
    code: "for c in 'sudo -n id -u' 'su -c id' 'newgrp root'; do $c </dev/null >/dev/null 2>&1 && echo \"$c\"; done; id -u",
    stdout: "65534\n",
  },
  {
    name: "a server on the loopback talks to itself and to nobody else",
    language: "python",
    code: `
import socket
hosts = [("127.0.0.1", 2375), ("127.0.0.1", 5432), ("10.0.0.1", 80), ("169.254.169.254", 80), ("172.17.0.1", 22), ("fe80::1", 80)]
for host, port in hosts:
    try: socket.create_connection((host, port), 1); print("connected", host)
    except OSError: pass
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
client.sendall(b"own"); print(server.accept()[0].recv(3).decode())
print(sorted(name for _, name in socket.if_nameindex()))`,
    stdout: "own\n['lo']\n",
  },
];

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);
const mount = "rw,exec,nosuid,nodev,nr_inodes=16384,size=134217728";
const flags = [
  ["--rm", "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges:true", "--ipc=private"],
  ["--memory=512m", "--memory-swap=512m", "--cpus=1", "--pids-limit=100", "--shm-size=16m", "--log-driver=none"],
  ["--ulimit=nofile=256:256", "--ulimit=core=0:0", "--ulimit=fsize=536870912:536870912", "--user=65534:65534"],
  [`--tmpfs=/tmp:${mount},mode=1777`, `--tmpfs=/workspace:${mount},mode=0755,uid=65534,gid=65534`],
].flat();

/** `docker run --rm` of Python's hello on an image, with the flags that the service's containers have. */
export async function peerHello(image: string): Promise<void> {
  const command = ["run", ...flags, "--entrypoint=/usr/bin/python3", image, "-B", "-c", "print('hi')"];
  const { stdout } = await execute("docker", command);
  if (stdout !== "hi\n") throw new Error(`docker run answered ${JSON.stringify(stdout)}.`);
}

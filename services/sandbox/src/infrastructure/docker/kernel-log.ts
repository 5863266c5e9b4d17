import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Records have at most 8 KiB; a smaller buffer is refused. */
const recordBytes = 16 * 1024;

/**
 * Whether the log of this host's kernel says that it killed something of the container for memory. False where it does
 * not, and where it cannot be read: without the right to, or where the engine is on another host. The kernel leaves
 * lines out where it kills more than ten times in five seconds.
 */
export async function kernelLogsOutOfMemory(containerId: string, log = "/dev/kmsg"): Promise<boolean> {
  try {
    // What would wait for the next record is the end.
    await using file = await open(log, constants.O_RDONLY | constants.O_NONBLOCK);
    for await (const records of recordsOf(file)) {
      if (records.split("\n").some((line) => line.includes(";oom-kill:") && line.includes(containerId))) return true;
    }
    return false;
  } catch {
    return false;
  }
}

async function* recordsOf(file: FileHandle): AsyncGenerator<string, void, undefined> {
  const buffer = Buffer.alloc(recordBytes);
  for (;;) {
    try {
      const { bytesRead } = await file.read(buffer, 0, recordBytes, null);
      if (bytesRead === 0) return;
      yield buffer.toString("utf8", 0, bytesRead);
    } catch (error) {
      // EPIPE: records were overwritten before they were read; the next read goes on behind them.
      if (!(error instanceof Error && "code" in error && error.code === "EPIPE")) return;
    }
  }
}

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  type GetTaskRequest,
  GetTaskRequestSchema,
  type GetTaskResponse,
  GetTaskResponseSchema,
} from "@drover/proto/orchestrator/v1/task_service";
import { Client, credentials, Metadata } from "@grpc/grpc-js";

/** What one client process measured. */
export interface Measured {
  readonly seconds: number;
  readonly latenciesMs: readonly number[];
}

/** A plain grpc-js client for `gateway.ts`: the same call with one header, whoever answers. */
const [address = "", header = "", value = "", callers = "32", warmUp = "0", calls = "0"] = process.argv.slice(2);

const client = new Client(address, credentials.createInsecure());
const request = create(GetTaskRequestSchema, { taskId: "x".repeat(197) });
const metadata = new Metadata();
metadata.set(header, value);

function call(): Promise<GetTaskResponse | undefined> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      "/drover.orchestrator.v1.TaskService/GetTask",
      (message: GetTaskRequest) => Buffer.from(toBinary(GetTaskRequestSchema, message)),
      (bytes: Buffer) => fromBinary(GetTaskResponseSchema, bytes),
      request,
      metadata,
      { deadline: Date.now() + 10_000 },
      (error, answer) => (error === null ? resolve(answer) : reject(error)),
    );
  });
}

async function run(total: number): Promise<number[]> {
  const latencies: number[] = [];
  let left = total;
  const caller = async () => {
    while (left-- > 0) {
      const startedMs = performance.now();
      const answer = await call();
      if (answer?.task?.id !== request.taskId) throw new Error("The answer is not the one that was asked for.");
      latencies.push(performance.now() - startedMs);
    }
  };
  await Promise.all(Array.from({ length: Number(callers) }, caller));
  return latencies;
}

await run(Number(warmUp));
process.once("message", async () => {
  const startedMs = performance.now();
  const latenciesMs = await run(Number(calls));
  const measured: Measured = { seconds: (performance.now() - startedMs) / 1000, latenciesMs };
  process.send?.(measured, undefined, undefined, () => process.exit(0));
});
process.send?.("ready");

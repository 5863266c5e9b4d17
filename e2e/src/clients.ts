import { randomUUID } from "node:crypto";
import { type DescMethodUnary, type DescService, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { TaskState } from "@drover/proto/event/v1/task_event";
import type { Task } from "@drover/proto/orchestrator/v1/task";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { credentials, Client as GrpcClient, Metadata } from "@grpc/grpc-js";

/** Adds the API key to every call. */
export function withKey(apiKey: string): Interceptor {
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${apiKey}`);
    return next(request);
  };
}

/** A Connect client over HTTP/1.1, as a browser or a script would call. */
export function connectClient<S extends DescService>(service: S, url: string, apiKey: string): Client<S> {
  const interceptors = [withKey(apiKey)];
  return createClient(service, createConnectTransport({ baseUrl: url, httpVersion: "1.1", interceptors }));
}

/** A plain @grpc/grpc-js client that knows nothing of Drover's libraries. */
export function grpcClient(url: string): GrpcClient & Disposable {
  const client = new GrpcClient(url.replace("http://", ""), credentials.createInsecure());
  return Object.assign(client, { [Symbol.dispose]: () => client.close() });
}

/** One unary call with a plain @grpc/grpc-js client. Rejects with its ServiceError. */
export function grpcCall<M extends DescMethodUnary>(
  client: GrpcClient,
  method: M,
  request: Parameters<typeof toBinary<M["input"]>>[1],
  apiKey: string,
): Promise<ReturnType<typeof fromBinary<M["output"]>>> {
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${apiKey}`);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      `/${method.parent.typeName}/${method.name}`,
      (message: typeof request) => Buffer.from(toBinary(method.input, message)),
      (bytes: Buffer) => fromBinary<M["output"]>(method.output, bytes),
      request,
      metadata,
      { deadline: Date.now() + 15_000 },
      (error, response) => {
        if (error !== null || response === undefined) reject(error ?? new Error("no answer"));
        else resolve(response);
      },
    );
  });
}

const terminal: ReadonlySet<TaskState> = new Set([TaskState.SUCCEEDED, TaskState.FAILED, TaskState.CANCELLED]);

/** True for the states that a task does not leave by itself. */
export function isTerminal(state: TaskState | undefined): boolean {
  return state !== undefined && terminal.has(state);
}

/** Submits a prompt and returns the task. */
export async function submit(url: string, apiKey: string, prompt: string, workspaceId = ""): Promise<Task> {
  const client = connectClient(TaskService, url, apiKey);
  const { task } = await client.submitTask({ prompt, workspaceId, requestId: randomUUID() });
  if (task === undefined) throw new Error("SubmitTask answered without a task.");
  return task;
}

/** Polls until the task has ended and returns it; rejects after `timeoutMs`. */
export async function untilEnded(url: string, apiKey: string, taskId: string, timeoutMs = 60_000): Promise<Task> {
  const client = connectClient(TaskService, url, apiKey);
  const until = Date.now() + timeoutMs;
  for (;;) {
    // While a service is being restarted the call itself may fail; the next one counts.
    const task = await client.getTask({ taskId }).then(
      (answer) => answer.task,
      () => undefined,
    );
    if (task !== undefined && isTerminal(task.state)) return task;
    if (Date.now() > until) throw new Error(`Task ${taskId} is ${task?.state} after ${timeoutMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

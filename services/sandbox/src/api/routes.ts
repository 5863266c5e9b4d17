import { ErasureService } from "@drover/proto/common/v1/erasure_service";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { createErasureService, type Erase, type RpcRouter } from "@drover/rpc";
import type { SearchFiles } from "../application/search-files.ts";
import type { Workspaces } from "../application/workspaces.ts";
import { type ExecParts, execService } from "./exec-service.ts";
import { forwardRun } from "./forward-run.ts";
import { forwardSession } from "./forward-session.ts";
import type { ForwardParts } from "./pass-on.ts";
import { type ShellParts, shellService } from "./shell-service.ts";
import { workspaceService } from "./workspace-service.ts";

/** What the service's rpcs delegate to. */
export interface RouteParts extends ForwardParts {
  readonly exec: ExecParts & ShellParts;
  readonly files: Workspaces;
  readonly search: SearchFiles;
  readonly eraser: Erase;
}

/** Hosts the services; what concerns a run of another instance is passed on to it. */
export function hostSandbox(router: RpcRouter, { exec, files, search, eraser, ...forward }: RouteParts): void {
  const own = { ...execService(exec), ...shellService(exec) };
  router.service(ExecService, { ...own, ...forwardSession(own, forward), run: forwardRun(own.run, forward) });
  router.service(WorkspaceService, workspaceService(files, search));
  router.service(ErasureService, createErasureService(eraser));
}

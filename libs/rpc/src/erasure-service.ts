import type { ServiceImpl } from "@connectrpc/connect";
import { type FieldViolation, invalidFields } from "@drover/kernel";
import type { EraseRequest, ErasureService } from "@drover/proto/common/v1/erasure_service";
import { callerOf } from "./caller.ts";

/** What is to be removed, in one tenant. */
export interface ErasedSubject {
  readonly taskIds: readonly string[];
  readonly conversationIds: readonly string[];
  readonly workspaceIds: readonly string[];
  readonly traceIds: readonly string[];
  /** Somebody whose own objects go; empty for nobody. */
  readonly subject: string;
  /** Everything; the rest is not looked at. */
  readonly wholeTenant: boolean;
}

/** Removes a part of what a service keeps of a subject; `more` is true where it must be called again. */
export type Erase = (
  tenant: string,
  subject: ErasedSubject,
) => Promise<{ readonly removed: number; readonly more: boolean }>;

/** Most ids of one kind in a call. */
const mostIds = 1_000;
const mostCharacters = 256;

/** ErasureService over what a service does for it. */
export function createErasureService(erase: Erase): ServiceImpl<typeof ErasureService> {
  return {
    async erase(request, context) {
      const faults = faultsOf(request);
      if (faults.length > 0) throw invalidFields(faults);
      const { removed, more } = await erase(callerOf(context).tenant, request);
      return { removed: BigInt(removed), more };
    },
  };
}

function faultsOf(request: EraseRequest): FieldViolation[] {
  const lists = [
    ["task_ids", request.taskIds],
    ["conversation_ids", request.conversationIds],
    ["workspace_ids", request.workspaceIds],
    ["trace_ids", request.traceIds],
  ] as const;
  const faults: FieldViolation[] = [];
  for (const [field, ids] of lists) {
    if (ids.length > mostIds) faults.push({ field, found: `${ids.length} ids`, allowed: `at most ${mostIds}` });
    if (ids.some((id) => id === "" || id.length > mostCharacters)) {
      faults.push({ field, found: "an id that is none", allowed: `1 to ${mostCharacters} characters each` });
    }
  }
  if (request.subject.length > mostCharacters) {
    const found = `${request.subject.length} characters`;
    faults.push({ field: "subject", found, allowed: `at most ${mostCharacters} characters` });
  }
  return faults;
}

import type { ServiceImpl } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import type { EraseRequest, ErasureService } from "@drover/proto/common/v1/erasure_service";
import { callerOf } from "@drover/rpc";

/** What one call asked to be removed, and in whose name. */
interface AskedErasure extends Omit<EraseRequest, "$typeName"> {
  readonly service: string;
  readonly tenant: string;
  readonly by: string;
}

/** The ErasureService of every fake peer; it remembers what it was asked. */
export class FakeErasures {
  readonly asked: AskedErasure[] = [];
  /** Services that answer UNAVAILABLE. */
  readonly down = new Set<string>();
  /** How many objects a service still keeps; a call removes two of them. */
  readonly kept = new Map<string, number>();

  service(name: string): ServiceImpl<typeof ErasureService> {
    return {
      erase: ({ $typeName: _, ...request }, context) => {
        const { tenant, subject: by } = callerOf(context);
        this.asked.push({ ...request, service: name, tenant, by });
        if (this.down.has(name)) throw new DroverError("UNAVAILABLE", `The service ${name} is away.`);
        const kept = this.kept.get(name) ?? 0;
        const removed = Math.min(2, kept);
        this.kept.set(name, kept - removed);
        return { removed: BigInt(removed), more: kept > removed };
      },
    };
  }
}
